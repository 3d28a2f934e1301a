"""The contract of growing on Ray's own autoscaler: nodes come when work or a request needs them, and leave when idle.

One cluster serves all tests. Its head is started as `nbaccel start --head --engine=ray` does it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("ray")

from tests.autoscaler.programs import ACTORS, REQUEST, WITHDRAW
from tests.autoscaler.scaling_ray import ScalingRay, Watcher, scaling_ray
from tests.autoscaler.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.ray, pytest.mark.timeout(600)]

DEADLINE_S = 120.0  # a node of Ray's takes 5 s to come, and on a busy machine many times that
TWO_GPUS = [("GPU", 2.0)]
HOLDS = """
import sys
import nbaccel
from nbaccel import autoscaler

nbaccel.init(log_to_driver=False)
with autoscaler.held(num_gpus={gpus}):
    print("holds", flush=True)
    sys.stdin.readline()
print("withdrawn", flush=True)
sys.stdin.readline()
"""
SPREAD = """
import nbaccel as ray

ray.init(log_to_driver=False)
group = ray.util.placement_group([{"GPU": 1}] * 2, strategy="STRICT_SPREAD")
ray.get(group.ready(), timeout=120)
print("on", len(set(ray.util.placement_group_table(group)["bundles_to_node_id"].values())), "nodes")
"""
KEEPS = """
import time
import numpy
import nbaccel as ray
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init(log_to_driver=False)
group = ray.util.placement_group([{"GPU": 1}] * 2, strategy="STRICT_SPREAD")
ray.get(group.ready(), timeout=300)

@ray.remote(num_cpus=0, num_gpus=1, num_returns=2)
def make():
    return ray.get_runtime_context().get_node_id(), numpy.ones(1 << 20)

where, large = make.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, 0)).remote()
where = ray.get(where)
ray.wait([large], fetch_local=False)
ray.util.remove_placement_group(group)

def left(most):
    while len(here := [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Resources"].get("GPU")]) > most:
        time.sleep(0.1)
    return here

print("keeper" if left(1) == [where] else "other", flush=True)
del large
print("none" if left(0) == [] else "some", flush=True)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ScalingRay]:
    with scaling_ray() as started:
        yield started


@pytest.fixture(scope="module")
def watcher(cluster: ScalingRay) -> Iterator[Watcher]:
    watcher = Watcher(cluster)
    yield watcher
    watcher.end()


@pytest.fixture
def empty(watcher: Watcher) -> Watcher:
    """The cluster before anybody asks for anything."""
    until(lambda: watcher.ask("(requests(), len(here()))") == ([], 0), "the nodes of the test before leave", DEADLINE_S)
    return watcher


def read(program: object, word: str) -> None:
    line = program.stdout.readline()  # type: ignore[attr-defined]
    assert line == f"{word}\n"


def test_two_actors_wait_for_two_nodes_which_leave_after_their_program(cluster: ScalingRay, empty: Watcher) -> None:
    probed = empty.ask("str(nbaccel.probe(num_gpus=1))")
    assert "the cluster's autoscaler could add a node of the kind gpu, of which it may start 2" in probed
    assert "cannot start here" in empty.ask("str(nbaccel.probe(num_gpus=4))")
    with cluster.start(ACTORS) as program:  # its nodes leave some seconds after it
        until(lambda: empty.ask("len(here())") == 2, "the nodes of both come", DEADLINE_S)
        assert "I live in a pod with GPU access." in program.communicate(timeout=DEADLINE_S)[0]
    until(lambda: empty.ask("len(here())") == 0, "the idle nodes leave", DEADLINE_S)


def test_a_request_outlives_its_program_until_another_withdraws_it(cluster: ScalingRay, empty: Watcher) -> None:
    cluster.run(REQUEST)
    assert empty.ask("requests()") == [("request", TWO_GPUS, "")]
    until(lambda: empty.ask("len(here())") == 2, "the requested nodes come", DEADLINE_S)
    kinds = empty.ask("[(row.name, row.here, row.max, row.idle_s) for row in autoscaler.status().node_types]")
    assert kinds == [("gpu", 2, 2, 6.0)]
    cluster.run(WITHDRAW)
    assert empty.ask("requests()") == []
    until(lambda: empty.ask("len(here())") == 0, "the nodes leave", DEADLINE_S)


def test_a_request_is_made_and_withdrawn_through_ray_client(cluster: ScalingRay, empty: Watcher) -> None:
    pytest.importorskip("grpc", reason="Ray Client needs grpcio: pip install 'ray[client]'")
    cluster.run(REQUEST, through_client=True)
    assert empty.ask("requests()") == [("request", TWO_GPUS, "")]
    cluster.run(WITHDRAW, through_client=True)
    assert empty.ask("requests()") == []


def test_what_two_notebooks_hold_is_summed_and_ends_with_the_block_and_with_a_killed_kernel(
    cluster: ScalingRay, empty: Watcher
) -> None:
    left, right = (cluster.start(HOLDS.format(gpus=1), name) for name in ("left.py", "right.py"))
    read(left, "holds")
    read(right, "holds")
    ours = [("held", [("GPU", 1.0)], "left.py"), ("held", [("GPU", 1.0)], "right.py")]
    assert empty.ask("requests()") == ours
    until(lambda: empty.ask("len(here())") == 2, "room for both comes", DEADLINE_S)
    # A program that knows Ray only replaces the request: it is kept, and what is held is added again.
    empty.ask("__import__('ray').autoscaler.sdk.request_resources(num_cpus=1)")
    until(lambda: empty.ask("requests()") == [*ours, ("request", [("CPU", 1.0)], "")], "the program's request counts")
    assert empty.ask("len(here())") == 2
    left.kill()
    left.communicate()
    until(lambda: empty.ask("[row[2] for row in requests()]") == ["right.py", ""], "the killed one's is withdrawn")
    assert right.communicate("\n\n", timeout=DEADLINE_S)[0] == "withdrawn\n"
    alone = [("request", [("CPU", 1.0)], "")]
    until(lambda: empty.ask("requests()") == alone, "the other one's is withdrawn, too")  # known as of a second ago
    empty.ask("autoscaler.sdk.request_resources(bundles=[])")
    until(lambda: empty.ask("len(here())") == 0, "the nodes leave", DEADLINE_S)


def test_what_is_too_much_is_told_and_takes_nothing_from_the_rest(cluster: ScalingRay, empty: Watcher) -> None:
    """Ray meets a request as a whole or not at all."""
    empty.ask("(hold := autoscaler.held(num_gpus=3)).__enter__() and None")
    other = cluster.start(HOLDS.format(gpus=2), "other.py")
    read(other, "holds")
    until(lambda: empty.ask("autoscaler.status().infeasible") == [{"GPU": 1.0}] * 3, "it is told", DEADLINE_S)
    until(lambda: empty.ask("len(here())") == 2, "the other one's nodes come", DEADLINE_S)
    other.communicate("\n\n", timeout=DEADLINE_S)
    empty.ask("hold.__exit__(None, None, None)")
    assert empty.ask("requests()") == []


def test_a_group_that_is_strictly_spread_counts_as_two_nodes(cluster: ScalingRay, empty: Watcher) -> None:
    assert "on 2 nodes" in cluster.run(SPREAD)


def test_a_node_with_the_only_copy_of_an_object_leaves_after_the_object(cluster: ScalingRay, empty: Watcher) -> None:
    with cluster.start(KEEPS) as program:
        read(program, "keeper")
        read(program, "none")
