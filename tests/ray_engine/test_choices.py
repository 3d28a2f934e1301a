"""Choices on Ray: the code begins once, on the first device that can be had, and the record says why on that one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from nbaccel.util.placement_group import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from nbaccel.views.snapshot import ActorRow, TaskRow
from tests.rig import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]
pytest.importorskip("ray")


@nbaccel.remote(num_cpus=0)
class Holder:
    """Holds devices."""

    def there(self) -> None: ...


@pytest.fixture(scope="module")
def joined() -> Iterator[None]:
    """A Ray with two GPUs, by the books, where what can never be met is an error."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    nbaccel.init(engine="ray", num_cpus=4, num_gpus=2, resources={"blue": 1}, infeasible="raise")
    ref = Holder.remote().there.remote()
    nbaccel.get(ref)
    nbaccel.engine.current().watch(lambda snapshot: None, metrics=False)  # what ends while somebody watches is known
    nbaccel.snapshot()  # and a thread begins to watch: from here on it does
    yield
    nbaccel.shutdown()


@contextmanager
def held(**options: Any) -> Iterator[Any]:
    holder = Holder.options(**options).remote()
    nbaccel.get(holder.there.remote())
    try:
        wait_until(lambda: nbaccel.probe(**options).verdict.name == "BUSY", "Ray to tell that it is held")
        yield holder
    finally:
        nbaccel.kill(holder)
        wait_until(lambda: nbaccel.available_resources().get("GPU") == 2)


def row_of(ref: Any) -> TaskRow:
    """The row of a task once its process has reported."""
    wanted = ref.task_id().hex()
    rows = wait_until(lambda: [row for row in nbaccel.snapshot().tasks if row.task_id == wanted and row.pid])
    return rows[0]  # type: ignore[no-any-return]


def choice_of(actor: Any) -> ActorRow:
    (row,) = [row for row in nbaccel.snapshot().actors if row.actor_id == actor._actor_id.hex()]
    return row


# For what is free: Ray may have to start a process first, and the machine may be slow.
PATIENTLY = {"fallback_after_s": 200}


@nbaccel.remote(num_gpus=1, fallback="cpu", fallback_after_s=0.2)
def where(marks: str, *others: int, scale: int = 1) -> tuple[bool, list[str], int]:
    with open(marks, "a") as file:
        file.write("x")
    context = nbaccel.get_runtime_context()
    return context.fallback_taken, context.get_accelerator_ids()["GPU"], scale * sum(others)


def test_what_is_free_is_taken(joined: None, tmp_path: Path) -> None:
    ref = where.options(**PATIENTLY).remote(str(tmp_path / "marks"), nbaccel.put(20), 1, scale=nbaccel.put(2))
    fell, ids, total = nbaccel.get(ref)
    assert (fell, len(ids), total) == (False, 1, 42)
    assert (tmp_path / "marks").read_text() == "x"
    row = row_of(ref)
    assert (row.name, row.choice, row.demand, row.device_ids) == ("where", "", {"CPU": 1, "GPU": 1}, {"GPU": ids})


def test_what_is_busy_for_too_long_is_answered_by_the_next_choice(joined: None, tmp_path: Path) -> None:
    with held(num_gpus=2):
        ref = where.remote(str(tmp_path / "marks"), 3)
        assert nbaccel.get(ref) == (True, [], 3)
        row = row_of(ref)
    assert (tmp_path / "marks").read_text() == "x"
    assert (row.choice, row.demand) == ("cpu", {"CPU": 1})
    assert row.choice_why.startswith("cpu was taken after ")
    assert row.choice_why.endswith(" s, because both GPUs are busy")


def test_the_first_that_comes_free_runs_and_no_other(joined: None, tmp_path: Path) -> None:
    marks = str(tmp_path / "marks")
    with held(resources={"blue": 1}):
        with held(num_gpus=2):
            ref = where.options(fallback=[{"resources": {"blue": 1}}]).remote(marks)
            assert nbaccel.wait([ref], timeout=1.0) == ([], [ref])
            assert not os.path.exists(marks)
        fell, ids, _ = nbaccel.get(ref)
        assert (fell, len(ids)) == (False, 1)
    assert Path(marks).read_text() == "x"


def test_a_choice_that_waits_is_cancelled_with_its_attempts(joined: None, tmp_path: Path) -> None:
    with held(num_gpus=2):
        ref = where.options(fallback_after_s=60).remote(str(tmp_path / "marks"))
        assert nbaccel.wait([ref], timeout=0.5) == ([], [ref])
        nbaccel.cancel(ref)
        with pytest.raises(exceptions.TaskCancelledError):
            nbaccel.get(ref)
    ref = where.options(**PATIENTLY).remote(str(tmp_path / "others"))
    fell, _, _ = nbaccel.get(ref)
    assert (fell, row_of(ref).choice_why) == (False, "")
    assert not (tmp_path / "marks").exists()


def test_another_function_runs_and_returns_several_values(joined: None) -> None:
    @nbaccel.remote(num_gpus=1, num_returns=2, fallback="cpu", fallback_after_s=0)
    def on_device(values: list[float]) -> tuple[str, float]:
        return "device", sum(values)

    @on_device.fallback
    def on_cpu(values: list[float]) -> tuple[str, float]:
        return "cpu", sum(values)

    with held(num_gpus=2):
        assert nbaccel.get(on_device.remote([1.0, 2.0])) == ["cpu", 3.0]


def test_a_worker_that_dies_under_a_supervisor_is_told_as_any_other(joined: None) -> None:
    @nbaccel.remote(num_gpus=1, fallback="cpu", fallback_after_s=30, max_retries=0)
    def dies() -> None:
        os._exit(3)

    with pytest.raises(exceptions.WorkerCrashedError):
        nbaccel.get(dies.remote())


@nbaccel.remote(num_gpus=1, fallback="cpu", fallback_after_s=0.2)
class Model:
    """Lives on a device, or not."""

    def __init__(self, marks: str) -> None:
        with open(marks, "a") as file:
            file.write("x")

    def kind(self) -> tuple[bool, list[str]]:
        context = nbaccel.get_runtime_context()
        return context.fallback_taken, context.get_accelerator_ids()["GPU"]


def test_an_actor_takes_what_is_free_and_else_the_next_choice(joined: None, tmp_path: Path) -> None:
    model = Model.options(**PATIENTLY).remote(str(tmp_path / "free"))
    fell, ids = nbaccel.get(model.kind.remote())
    assert (fell, len(ids), choice_of(model).choice_why) == (False, 1, "")
    nbaccel.kill(model)
    wait_until(lambda: nbaccel.available_resources().get("GPU") == 2)
    with held(num_gpus=2):
        model = Model.remote(str(tmp_path / "busy"))
        assert nbaccel.get(model.kind.remote()) == (True, [])
        row = wait_until(lambda: found if (found := choice_of(model)).choice else None)
        assert row.choice == "cpu"
        assert row.choice_why.startswith("cpu was taken after ")
        nbaccel.kill(model)
    assert (tmp_path / "busy").read_text() == "x"


def test_a_handle_that_is_not_settled_can_be_passed_on(joined: None, tmp_path: Path) -> None:
    @nbaccel.remote
    def ask(model: Any) -> Any:
        return nbaccel.get(model.kind.remote())

    model = Model.options(**PATIENTLY).remote(str(tmp_path / "marks"))
    fell, ids = nbaccel.get(ask.remote(model))
    assert (fell, len(ids)) == (False, 1)
    nbaccel.kill(model)


def test_an_actor_that_waits_for_a_choice_is_explained_shown_and_ended_without_waiting(
    joined: None, tmp_path: Path
) -> None:
    with held(num_gpus=2):
        model = Model.options(fallback_after_s=3600, fallback_on=(MemoryError,)).remote(str(tmp_path / "marks"))
        assert repr(model) == "Actor(Model, not placed yet)"
        explained = wait_until(lambda: found if (found := nbaccel.explain(model)).holders else None)
        assert "Model waits for" in explained.sentence
        assert {holder.name for holder in explained.holders} == {"Holder"}
        assert any(row.name == "Model.__init__" for row in nbaccel.snapshot().tasks)
        nbaccel.kill(model)
        with pytest.raises(exceptions.ActorDiedError, match="before any of its choices was free"):
            nbaccel.get(model.kind.remote())
    assert not (tmp_path / "marks").exists()


def test_an_error_instead_of_waiting_for_ever_where_it_is_wanted(joined: None) -> None:
    @nbaccel.remote(num_gpus=3)
    def three() -> None: ...

    with pytest.raises(exceptions.TaskUnschedulableError, match="three asks for 1 CPU and 3 GPUs, but cannot be pla"):
        nbaccel.get(three.remote())

    @nbaccel.remote(num_gpus=3)
    class Three:
        def ping(self) -> None: ...

    with pytest.raises(exceptions.ActorUnschedulableError, match="Three asks for 1 CPU and 3 GPUs"):
        nbaccel.get(Three.remote().ping.remote())
    assert nbaccel.get(three.options(num_gpus=1).remote()) is None
    assert nbaccel.get(three.options(fallback="cpu").remote()) is None


def test_a_group_that_can_never_be_placed_is_an_error_where_it_is_wanted(joined: None) -> None:
    group = placement_group([{"CPU": 1}, {"GPU": 3}])
    words = "cannot be placed here: this cluster has 2 GPUs, not 3"
    with pytest.raises(exceptions.TaskUnschedulableError, match=words):
        nbaccel.get(group.ready())
    with pytest.raises(exceptions.TaskUnschedulableError, match=words):
        group.wait(60)
    inside = nbaccel.remote(num_cpus=1, scheduling_strategy=PlacementGroupSchedulingStrategy(group))(lambda: None)
    with pytest.raises(exceptions.TaskUnschedulableError, match=words):
        nbaccel.get(inside.remote())
    with node_groups(("a100 pool", {"CPU": 8, "GPU": 4}, 3)):
        assert not group.wait(0.1)
        addable = placement_group([{"GPU": 4}])
        assert "could add a node of the kind a100 pool" in nbaccel.explain(addable).sentence
        assert not addable.wait(0.1)
    for each in (group, addable):
        remove_placement_group(each)
    assert placement_group([{"CPU": 1}]).wait(60)


def test_a_probe_says_what_the_autoscaler_could_add(joined: None) -> None:
    assert nbaccel.probe(num_gpus=4).verdict.name == "NEVER"
    with node_groups(("a100 pool", {"CPU": 8, "GPU": 4}, 3)):
        probe = nbaccel.probe(num_gpus=4)
        assert probe.verdict.name == "ADDABLE"
        assert "could add a node of the kind a100 pool, of which it may start 3" in probe.sentence
        assert nbaccel.probe(num_gpus=8).verdict.name == "NEVER"


@contextmanager
def node_groups(*groups: tuple[str, dict[str, float], int]) -> Iterator[None]:
    """As an autoscaler tells Ray what it may start."""
    from ray import _raylet
    from ray._private.worker import global_worker
    from ray.core.generated.autoscaler_pb2 import ClusterConfig

    config = ClusterConfig()
    for name, resources, most in groups:
        config.node_group_configs.add(name=name, resources=resources, max_count=most)
    place = (_raylet.GCS_AUTOSCALER_CLUSTER_CONFIG_KEY.encode(), _raylet.GCS_AUTOSCALER_STATE_NAMESPACE.encode())
    global_worker.gcs_client.internal_kv_put(place[0], config.SerializeToString(), True, place[1])
    try:
        yield
    finally:
        global_worker.gcs_client.internal_kv_del(place[0], False, place[1])


def test_what_can_never_run_says_so_in_every_view(joined: None) -> None:
    ref = where.options(num_gpus=5, fallback=None).remote("")
    with pytest.raises(exceptions.TaskUnschedulableError):
        nbaccel.get(ref)
    row = row_of(ref)
    assert (row.state, row.name) == ("FAILED", "where")
    assert "asks for" in row.why and "5 GPUs" in row.why
