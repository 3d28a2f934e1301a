"""The device if there is one, something else if not: at once, after a while, or after an error; tasks and actors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel.views.snapshot import TaskRow
from tests.census import Place
from tests.never_hang.clusters import held, wait_until_free


class OutOfMemory(RuntimeError):
    """What a device's own code raises."""


def row_of(ref: Any) -> TaskRow:
    (row,) = [row for row in nbaccel.snapshot().tasks if row.task_id == ref.task_id().hex()]
    return row


@nbaccel.remote(num_gpus=3, fallback="cpu")
def mul_two(values: list[float]) -> tuple[str, list[float]]:
    return "device", [2 * value for value in values]


@mul_two.fallback
def mul_two_np(values: list[float]) -> tuple[str, list[float]]:
    return "cpu", [value + value for value in values]


def test_another_function_runs_for_the_fallback(two_a100: Place) -> None:
    assert nbaccel.get(mul_two.remote([1.0, 2.0])) == ("cpu", [2.0, 4.0])
    assert nbaccel.get(mul_two.options(num_gpus=1).remote([1.0])) == ("device", [2.0])


def test_choices_are_tried_in_order(two_a100: Place) -> None:
    choices = [{"resources": {"NPU": 1}}, {"num_gpus": 0.5}, {"num_cpus": 4}]

    @nbaccel.remote(num_gpus=3, fallback=choices)
    def where() -> tuple[str, dict[str, float]]:
        context = nbaccel.get_runtime_context()
        return context.fallback_choice, context.get_assigned_resources()

    ref = where.remote()
    assert nbaccel.get(ref) == ("{'num_gpus': 0.5}", {"CPU": 1.0, "GPU": 0.5})
    assert row_of(ref).choice_why == "{'num_gpus': 0.5} was taken, because this machine has 2 GPUs (A100), not 3"


def test_a_fallback_without_a_time_waits_for_what_is_only_busy(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=2, fallback="cpu")
    def where() -> bool:
        return nbaccel.get_runtime_context().fallback_taken

    with held(1):
        ref = where.remote()
        assert nbaccel.wait([ref], timeout=0.1) == ([], [ref])
        assert nbaccel.explain(ref).ever
    assert nbaccel.get(ref) is False


@nbaccel.remote(num_gpus=3, fallback=[{"num_cpus": 0}])
class Model:
    """Lives on a device, or not."""

    def kind(self) -> tuple[str, bool, dict[str, list[str]]]:
        context = nbaccel.get_runtime_context()
        return "device", context.fallback_taken, {"GPU": context.get_accelerator_ids()["GPU"]}


@Model.fallback
class ModelOnCpu:
    """Made in its place."""

    def kind(self) -> tuple[str, bool, dict[str, list[str]]]:
        return "cpu", nbaccel.get_runtime_context().fallback_taken, {}


def test_an_actor_falls_back_to_another_class(two_a100: Place) -> None:
    model = Model.remote()
    assert nbaccel.get(model.kind.remote()) == ("cpu", True, {})
    (row,) = [row for row in nbaccel.snapshot().actors if row.actor_id == model._actor_id.hex()]
    assert (row.state, row.choice, row.demand) == ("ALIVE", "{'num_cpus': 0}", {})
    assert row.choice_why == "{'num_cpus': 0} was taken, because this machine has 2 GPUs (A100), not 3"
    nbaccel.kill(model)
    on_device = Model.options(num_gpus=1).remote()
    assert nbaccel.get(on_device.kind.remote()) == ("device", False, {"GPU": ["0"]})
    nbaccel.kill(on_device)


@nbaccel.remote(num_gpus=1, fallback="cpu", fallback_on=OutOfMemory, max_retries=0)
def grow(marks: str) -> tuple[bool, list[int]]:
    with open(marks, "a") as file:
        file.write("x")
    if nbaccel.get_gpu_ids():
        raise OutOfMemory("tried to allocate 80 GiB")
    return nbaccel.get_runtime_context().fallback_taken, nbaccel.get_gpu_ids()


def test_an_error_of_the_device_is_answered_by_the_fallback(two_a100: Place, tmp_path: Path) -> None:
    ref = grow.remote(str(tmp_path / "marks"))
    assert nbaccel.get(ref) == (True, [])
    row = row_of(ref)
    assert (row.choice, row.attempt, row.state) == ("cpu", 1, "FINISHED")
    assert row.choice_why == ("cpu was taken, because the choice before raised OutOfMemory: tried to allocate 80 GiB")
    assert (tmp_path / "marks").read_text() == "xx"


def test_another_error_is_the_users(two_a100: Place, tmp_path: Path) -> None:
    with pytest.raises(OutOfMemory):
        nbaccel.get(grow.options(fallback_on=ValueError).remote(str(tmp_path / "marks")))
    with pytest.raises(OutOfMemory):
        nbaccel.get(grow.options(fallback=None).remote(str(tmp_path / "marks")))
    assert (tmp_path / "marks").read_text() == "xx"


def test_when_the_last_choice_fails_its_error_is_the_result(two_a100: Place, tmp_path: Path) -> None:
    @nbaccel.remote(num_gpus=1, fallback=[{"num_gpus": 0.5}], fallback_on=(OutOfMemory,))
    def always() -> None:
        raise OutOfMemory(nbaccel.get_runtime_context().fallback_choice)

    with pytest.raises(OutOfMemory, match=r"'num_gpus': 0\.5"):
        nbaccel.get(always.remote())


def test_an_actor_whose_constructor_fails_on_the_device_is_made_without_it(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=1, fallback="cpu", fallback_on=(OutOfMemory,))
    class Picky:
        def __init__(self) -> None:
            self.pid = os.getpid()
            if nbaccel.get_gpu_ids():
                raise OutOfMemory(str(self.pid))

        def seen(self) -> tuple[int, bool]:
            return self.pid, nbaccel.get_runtime_context().fallback_taken

    picky = Picky.remote()
    pid, fell = nbaccel.get(picky.seen.remote())
    assert fell
    (row,) = [row for row in nbaccel.snapshot().tasks if row.name == "Picky.__init__"]
    assert row.choice == "cpu"
    assert row.choice_why.startswith("cpu was taken, because the choice before raised OutOfMemory: ")
    assert not row.choice_why.endswith(str(pid))
    assert nbaccel.probe(num_gpus=2, timeout_s=20)
    nbaccel.kill(picky)


def test_a_stream_that_has_begun_is_not_begun_again(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=1, fallback="cpu", fallback_on=(OutOfMemory,))
    def stream() -> Any:
        yield 1
        raise OutOfMemory("in the middle")

    items = stream.remote()
    assert nbaccel.get(next(items)) == 1
    with pytest.raises(OutOfMemory):
        nbaccel.get(next(items))


def test_memory_of_a_device_is_booked_and_its_id_is_given(two_a100: Place) -> None:
    @nbaccel.remote(gpu_memory="10GiB", num_cpus=0)
    class Small:
        def ids(self) -> tuple[list[str], str]:
            return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"], os.environ["CUDA_VISIBLE_DEVICES"]

    wait_until_free()
    small = [Small.remote() for _ in range(5)]
    ids = [ids for ids, _ in nbaccel.get([actor.ids.remote() for actor in small])]
    assert sorted(ids) == [["0"], ["0"], ["0"], ["0"], ["1"]]
    assert nbaccel.available_resources()["GPU"] == 0.75
    for actor in small:
        nbaccel.kill(actor)


def test_another_function_is_enough_to_fall_back(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=3)
    def on_device() -> str:
        return "device"

    @on_device.fallback
    def on_cpu() -> str:
        return "cpu"

    assert nbaccel.get(on_device.remote()) == "cpu"


def test_a_fallback_that_is_remote_itself_or_nothing_to_call_is_refused() -> None:
    remote = nbaccel.remote(lambda: 1)
    actor_class = nbaccel.remote(type("Model", (), {}))
    for wrong in (remote, actor_class, 3):
        with pytest.raises(TypeError, match="takes a plain function, but got"):
            remote.fallback(wrong)
        with pytest.raises(TypeError, match="fallback takes a plain class, but got"):
            actor_class.fallback(wrong)
