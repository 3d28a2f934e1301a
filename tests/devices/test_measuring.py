"""Metrics of real devices: only while somebody looks, None with a reason where a vendor does not tell."""

from __future__ import annotations

import time

import pytest

import nbaccel
from nbaccel.views.snapshot import DeviceMetrics, Snapshot
from tests.accelerators.fake_nvml import Gpu
from tests.accelerators.machines import add_amd, add_ascend, add_gaudi, add_neuron, add_tpu
from tests.devices.conftest import Lab
from tests.rig import wait_until

GIB = 1 << 30


def metrics(lab: Lab) -> DeviceMetrics:
    found = lab.row("0").metrics
    assert found is not None
    return found


def test_one_look_sees_memory_load_heat_power_and_users(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a", used=5 * GIB, util=83), "process|GPU-a|4711|1073741824")
    nbaccel.init(num_cpus=1)
    seen = metrics(nvidia_lab)
    assert (seen.memory_used_bytes, seen.memory_total_bytes, seen.utilisation_percent) == (5 * GIB, 40 * GIB, 83.0)
    assert (seen.temperature_celsius, seen.power_watts, seen.processes) == (51.0, 123.0, [(4711, GIB)])
    assert seen.reasons == {}


def test_what_a_vendor_does_not_tell_is_none_with_a_reason(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), "fail|nvmlDeviceGetPowerUsage|3")
    nbaccel.init(num_cpus=1)
    assert metrics(nvidia_lab).power_watts is None
    assert "NVML" in metrics(nvidia_lab).reasons["power_watts"]


@pytest.mark.parametrize("furnish", [add_amd, add_neuron, add_tpu, add_gaudi, add_ascend])
def test_every_field_of_every_family_has_a_value_or_a_reason(lab: Lab, furnish: object) -> None:
    lab.set(TPU_ACCELERATOR_TYPE="v4-8")
    furnish(lab.machine)  # type: ignore[operator]
    nbaccel.init(num_cpus=1)
    seen = metrics(lab)
    values = ("utilisation_percent", "memory_used_bytes", "memory_total_bytes", "temperature_celsius", "power_watts")
    assert all((getattr(seen, name) is None) == bool(seen.reasons.get(name)) for name in values)


def test_nothing_is_measured_while_nobody_looks(nvidia_lab: Lab) -> None:
    """What a look would show later has been measured at the look, not before."""
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=1)
    with nvidia_lab.watching() as snapshots:
        wait_until(lambda: len({_sampled_at(snapshot) for snapshot in snapshots}) > 2, "two samples")
    last = snapshots[-1].devices[0].metrics
    assert last is not None and last.sampled_at is not None
    wait_until(lambda: time.time() > last.sampled_at + 2.5, "two more seconds")  # type: ignore[operator]

    def is_measured_at_the_look() -> bool:
        asked_at = time.time()
        return (metrics(nvidia_lab).sampled_at or 0) >= asked_at

    # The head may hear of the view's end late, and a look may find a sample of the last second; but not for ever.
    wait_until(is_measured_at_the_look, "a look at which it is measured")


def _sampled_at(snapshot: Snapshot) -> float | None:
    found = snapshot.devices[0].metrics
    return found.sampled_at if found is not None else None


def test_a_driver_that_hangs_while_it_is_watched_makes_its_metrics_unknown(nvidia_lab: Lab) -> None:
    nvidia_lab.set(NBACCEL_DETECTION_TIMEOUT_S="30")  # a task on its card waits for two looks
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=1)
    with nvidia_lab.watching() as snapshots:
        wait_until(lambda: snapshots and snapshots[-1].devices[0].metrics, "the first sample")
        nvidia_lab.nvml.has("hang|nvmlDeviceGetUtilizationRates", Gpu("GPU-a"))
        wait_until(lambda: snapshots[-1].devices[0].metrics.memory_used_bytes is None, "the silence to be noticed")
        assert "have not answered for 5 s" in snapshots[-1].devices[0].metrics.reasons["memory_used_bytes"]
        assert nbaccel.get(nbaccel.remote(num_gpus=1)(lambda: 7).remote()) == 7, "work goes on"


def test_a_prober_that_dies_of_measuring_is_left_alone(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=1)
    with nvidia_lab.watching() as snapshots:
        wait_until(lambda: snapshots and snapshots[-1].devices[0].metrics, "the first sample")
        nvidia_lab.nvml.has("crash|nvmlDeviceGetUtilizationRates", Gpu("GPU-a"))
        wait_until(lambda: any(alert.kind == "prober" for alert in snapshots[-1].alerts), "the alert")
        assert "has died 3 times" in snapshots[-1].devices[0].metrics.reasons["memory_used_bytes"]


def test_devices_that_are_not_there_have_no_metrics(lab: Lab) -> None:
    nbaccel.init(num_cpus=1, simulate="nvidia:1xA100")
    assert lab.row("0").metrics is None
    assert lab.row("0").kind == "simulated"
