"""The device if there is one, something else if not: what the local engine says of it, and memory of devices."""

from __future__ import annotations

import os

import pytest

import nbaccel
from tests.census import Place
from tests.never_hang.clusters import held, wait_until_free


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


def test_a_fallback_that_is_remote_itself_or_nothing_to_call_is_refused() -> None:
    remote = nbaccel.remote(lambda: 1)
    actor_class = nbaccel.remote(type("Model", (), {}))
    for wrong in (remote, actor_class, 3):
        with pytest.raises(TypeError, match="takes a plain function, but got"):
            remote.fallback(wrong)
        with pytest.raises(TypeError, match="fallback takes a plain class, but got"):
            actor_class.fallback(wrong)
