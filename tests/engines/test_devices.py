"""Devices: assigned, packed, shared, given back, in fresh processes, on every engine."""

from __future__ import annotations

import os

import pytest

import nbaccel
from tests.rig import wait_until


def _ids(family="GPU"):
    return nbaccel.get_runtime_context().get_accelerator_ids()[family]


@nbaccel.remote(num_gpus=1)
def gpu():
    return _ids(), os.environ.get("CUDA_VISIBLE_DEVICES"), nbaccel.get_gpu_ids(), os.getpid()


@nbaccel.remote(num_gpus=0.5, num_cpus=0)
class Half:
    def ids(self):
        return _ids()


def test_a_gpu_task_gets_ids_as_strings_and_the_variable(nb):
    ids, variable, numbers, _pid = nb.get(gpu.remote())
    assert ids == [variable] == [str(numbers[0])]
    assert ids[0] in ("0", "1")


def test_a_driver_has_no_devices(nb):
    assert nb.get_gpu_ids() == []
    assert nb.get_runtime_context().get_accelerator_ids()["GPU"] == []


def test_fractions_are_packed_before_the_next_device_is_opened(nb):
    halves = [Half.remote() for _ in range(4)]
    ids = nb.get([half.ids.remote() for half in halves])
    assert sorted(ids) == [["0"], ["0"], ["1"], ["1"]]
    for half in halves:
        nb.kill(half)


def test_an_actor_keeps_its_devices_and_gives_them_back(nb):
    both = Half.options(num_gpus=2).remote()
    assert nb.get(both.ids.remote()) == ["0", "1"]
    assert nb.available_resources().get("GPU", 0) == 0 or wait_until(lambda: not nb.available_resources().get("GPU"))
    nb.kill(both)
    wait_until(lambda: nb.available_resources().get("GPU") == 2)


def test_each_accelerator_task_runs_in_a_fresh_process(nb):
    first, second = nb.get(gpu.remote())[3], nb.get(gpu.remote())[3]
    assert first != second


def test_a_task_that_asks_by_options_or_another_family_is_fresh_too(nb):
    @nb.remote
    def plain():
        fresh = "_NBACCEL_SEEN" not in os.environ
        os.environ["_NBACCEL_SEEN"] = "1"
        return fresh

    assert nb.get([plain.options(num_gpus=1).remote() for _ in range(2)]) == [True, True]
    assert nb.get([plain.options(resources={"TPU": 1}).remote() for _ in range(2)]) == [True, True]


def test_max_calls_0_keeps_the_process(nb):
    @nb.remote(num_gpus=1, max_calls=0)
    def kept():
        return os.getpid()

    pids = [nb.get(kept.remote()) for _ in range(4)]
    assert len(set(pids)) < 4


def test_tpu_chips_are_assigned(nb):
    @nb.remote(resources={"TPU": 2})
    def chips():
        return _ids("TPU"), os.environ.get("TPU_VISIBLE_CHIPS")

    ids, variable = nb.get(chips.remote())
    assert len(ids) == 2 and variable == ",".join(ids)


def test_a_cpu_task_keeps_its_environment(nb):
    @nb.remote
    def variable():
        return os.environ.get("CUDA_VISIBLE_DEVICES", "untouched")

    assert nb.get(variable.remote()) == os.environ.get("CUDA_VISIBLE_DEVICES", "untouched")


def test_assigned_resources_are_told(nb):
    @nb.remote(num_gpus=0.5, num_cpus=2)
    def mine():
        return nbaccel.get_runtime_context().get_assigned_resources()

    assert nb.get(mine.remote()) == {"CPU": 2.0, "GPU": 0.5}


def test_the_cluster_counts_its_resources(nb):
    assert nb.cluster_resources()["CPU"] == 4
    assert nb.cluster_resources()["GPU"] == 2
    assert nb.cluster_resources()["TPU"] == 4
    (node,) = nb.nodes()
    assert node["Alive"] and node["Resources"]["GPU"] == 2
    assert len(node["NodeID"]) == 56


@pytest.mark.parametrize(("own", "ids"), [("3", ["3"]), ("5,7", None), ("GPU-abc", ["GPU-abc"]), ("", [])])
def test_a_task_is_told_the_devices_that_its_runtime_env_names(nb, own, ids):
    @nb.remote(num_gpus=1)
    def held():
        return nb.get_runtime_context().get_accelerator_ids()["GPU"]

    told = nb.get(held.options(runtime_env={"env_vars": {"CUDA_VISIBLE_DEVICES": own}}).remote())
    assert told == ids if ids is not None else told in (["5"], ["7"])


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="here GPUs are real")
def test_cuda_code_on_a_gpu_that_is_only_counted_is_told_so(nb):
    @nb.remote(num_gpus=1)
    def cuda():
        raise AssertionError("Torch not compiled with CUDA enabled")

    with pytest.raises(AssertionError) as raised:
        nb.get(cuda.remote())
    assert "The GPU of this task is only counted" in "".join(raised.value.__notes__)
