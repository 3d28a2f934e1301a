"""What can never be met here: told at once, waited for as Ray does, or an error where the user wants one."""

from __future__ import annotations

import re
import time

import pytest

import nbaccel
from nbaccel.exceptions import (
    ActorUnschedulableError,
    GetTimeoutError,
    TaskPlacementGroupRemoved,
    TaskUnschedulableError,
)
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from tests.census import Place

# Example 11-3 of the book, with its four minutes made short.
PROBE_BY_HAND = """\
import sys, time
import nbaccel as ray
ray.init(num_gpus=0, num_cpus=2)

# Function that requests a GPU
@ray.remote(num_gpus=1)
def do_i_have_gpus():
    return True

# Give it at most a while to see if we can get a GPU
futures = [do_i_have_gpus.remote()]
began = time.monotonic()
ready_futures, rest_futures = ray.wait(futures, timeout=1.5)
waited = time.monotonic() - began

resources = {"num_cpus": 1}
# If we have a ready future, we have a GPU node in our cluster
if ready_futures:
    resources["num_gpus"] =1

# "splat" the resources
@ray.remote(** resources)
def optional_gpu_task():
    return ray.get_gpu_ids()

print(ray.get(optional_gpu_task.remote()), waited >= 1.5)
"""


def test_the_books_probe_runs_as_it_stands_and_one_line_says_why_there_is_no_gpu(place: Place) -> None:
    done = place.run(PROBE_BY_HAND, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[] True\n"
    lines = [line for line in done.stderr.splitlines() if "do_i_have_gpus" in line]
    assert lines == [
        "nbaccel: do_i_have_gpus asks for 1 CPU and 1 GPU, but there is no GPU on this machine. "
        "It waits in case a node joins. Ask for less, give a fallback such as fallback='cpu', or cancel "
        "it."
    ]


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_an_error_instead_of_waiting_for_ever_where_it_is_wanted(own_head: Place, engine: str) -> None:
    nbaccel.init(engine=engine, num_cpus=2, num_gpus=1, infeasible="raise")

    @nbaccel.remote(num_gpus=2)
    def two() -> None: ...

    with pytest.raises(TaskUnschedulableError, match="two asks for 1 CPU and 2 GPUs, but cannot be placed") as error:
        nbaccel.get(two.remote())
    assert "this machine has 1 GPU, not 2" in str(error.value)

    @nbaccel.remote(num_gpus=2)
    class Two:
        def ping(self) -> None: ...

    with pytest.raises(ActorUnschedulableError, match="this machine has 1 GPU, not 2"):
        nbaccel.get(Two.remote().ping.remote())
    assert nbaccel.get(two.options(num_gpus=1).remote()) is None
    assert nbaccel.get(two.options(fallback="cpu").remote()) is None


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_a_placement_group_that_can_never_be_placed_is_an_error_where_it_is_wanted(
    own_head: Place, engine: str
) -> None:
    nbaccel.init(engine=engine, num_cpus=2, num_gpus=1, infeasible="raise")
    group = placement_group([{"CPU": 1}, {"GPU": 2}])
    with pytest.raises(TaskUnschedulableError, match="cannot be placed here: this machine has 1 GPU, not 2"):
        nbaccel.get(group.ready())
    with pytest.raises(TaskUnschedulableError, match="cannot be placed here"):
        group.wait(60)
    inside = nbaccel.remote(scheduling_strategy=PlacementGroupSchedulingStrategy(group))(lambda: None)
    with pytest.raises(TaskUnschedulableError, match="cannot be placed here"):
        nbaccel.get(inside.remote())
    remove_placement_group(group)
    with pytest.raises(TaskPlacementGroupRemoved):
        nbaccel.get(group.ready())
    assert placement_group([{"CPU": 1}, {"GPU": 1}]).wait(60)


def test_a_probe_with_patience_does_not_wait_for_what_never_comes(own_head: Place) -> None:
    nbaccel.init(num_cpus=1, num_gpus=0, infeasible="raise")
    assert not nbaccel.probe(timeout_s=240)


def test_by_default_it_waits_because_a_node_may_join(place: Place) -> None:
    done = place.run(
        "from nbaccel.cluster_utils import Cluster\nimport nbaccel as ray\n"
        "cluster = Cluster(initialize_head=True, head_node_args={'num_cpus': 1, 'num_gpus': 0}, connect=True)\n"
        "@ray.remote(num_gpus=1)\ndef f(): return 'there it is'\nref = f.remote()\n"
        "print(ray.explain(ref).ever)\ncluster.add_node(num_cpus=1, num_gpus=1)\nprint(ray.get(ref, timeout=90))\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["False", "there it is"]
    assert done.stderr.count("in case a node joins") == 1


def test_a_deadlock_by_resources_is_told(place: Place) -> None:
    program = place.start(
        "import nbaccel as ray\nray.init(num_cpus=1, num_gpus=1)\n"
        "@ray.remote(num_gpus=1)\ndef child(): ...\n"
        "@ray.remote(num_gpus=1)\ndef parent(): ray.get(child.remote())\n"
        "ray.get(parent.remote())\n"
    )
    assert program.stderr is not None
    line = ""
    while "does not give it back by itself" not in line:
        line = program.stderr.readline()
        assert line, "the program ended"
    assert re.search(r"child waits for 1 CPU and 1 GPU, but all of it is held .*: parent on GPU 0", line)
    program.kill()
    program.communicate()


def test_wait_keeps_its_time_though_the_request_can_never_be_met(own_head: Place) -> None:
    nbaccel.init(num_cpus=1, num_gpus=0)
    ref = nbaccel.remote(num_gpus=1)(lambda: None).remote()
    began = time.monotonic()
    assert nbaccel.wait([ref], timeout=0.3) == ([], [ref])
    assert time.monotonic() - began >= 0.3
    with pytest.raises(nbaccel.exceptions.GetTimeoutError):
        nbaccel.get(ref, timeout=0)


@pytest.mark.parametrize("engine", ["local", "debug"])
def test_no_task_gets_more_memory_than_init_says_there_is(own_head: Place, engine: str) -> None:
    @nbaccel.remote
    def echo(value: int) -> int:
        return value

    nbaccel.init(engine=engine, num_cpus=1, _memory=10**9)
    assert nbaccel.cluster_resources()["memory"] == 10**9
    assert nbaccel.get(echo.options(memory=10**9).remote(1)) == 1
    more = echo.options(memory=2 * 10**9).remote(1)
    with pytest.raises(GetTimeoutError):
        nbaccel.get(more, timeout=0.1)
    assert "memory" in nbaccel.explain(more).sentence
