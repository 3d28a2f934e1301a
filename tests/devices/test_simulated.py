"""Devices that are only there for practice: the path of real ones, marked wherever they are shown."""

from __future__ import annotations

import json

import pytest

import nbaccel
from nbaccel.notebook import views
from tests.accelerators.fake_nvml import Gpu
from tests.devices.conftest import Lab, look


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("nvidia:4xA100", {"num_gpus": 2}, {"CUDA_VISIBLE_DEVICES": "0,1"}),
        ("amd:2xMI300X", {"num_gpus": 1}, {"ROCR_VISIBLE_DEVICES": "0"}),
        ("intel:2xMax-1550", {"num_gpus": 2}, {"ONEAPI_DEVICE_SELECTOR": "level_zero:0,1"}),
        ("neuron:4", {"resources": {"neuron_cores": 3}}, {"NEURON_RT_VISIBLE_CORES": "0,1,2"}),
        ("tpu:4", {"resources": {"TPU": 2}}, {"TPU_VISIBLE_CHIPS": "0,1", "TPU_CHIPS_PER_HOST_BOUNDS": "1,2,1"}),
        ("gaudi:8xGaudi3", {"resources": {"HPU": 1}}, {"HABANA_VISIBLE_MODULES": "0"}),
        ("ascend:2x910B", {"resources": {"NPU": 0.5}}, {"ASCEND_RT_VISIBLE_DEVICES": "0"}),
        ("nvidia:2xA100:1g.5gb", {"num_gpus": 1}, {"CUDA_VISIBLE_DEVICES": "MIG-51a00000-0000-4000-8000-000000000000"}),
        ("nvidia:1xA100,nvidia:1xT4", {"num_gpus": 1, "accelerator_type": "T4"},
         {"CUDA_VISIBLE_DEVICES": "GPU-51a00000-0000-4000-8000-000000000001"}),
    ],
)  # fmt: skip
def test_a_task_gets_what_it_would_on_such_a_machine(
    lab: Lab, text: str, options: dict[str, object], expected: dict[str, str]
) -> None:
    nbaccel.init(num_cpus=1, simulate=text)
    seen = nbaccel.get(look.options(**options).remote(*expected))
    assert {name: seen[name] for name in expected} == expected
    assert {row.kind for row in lab.snapshot().devices} == {"simulated"}


def test_they_are_marked_wherever_they_are_shown(lab: Lab) -> None:
    lab.set(NBACCEL_SIMULATE="amd:1xMI300X,tpu:4")
    nbaccel.init(num_cpus=1)
    view = views.devices()
    assert view.text.count("(simulated)") == 5
    assert view.html.count("(simulated)") == 5
    assert lab.place.command("devices", **lab.environ).stdout.count("(simulated)") == 5
    assert lab.place.command("status", **lab.environ).stdout.count("(simulated)") == 5
    rows = json.loads(lab.place.command("devices", "--json", **lab.environ).stdout)
    assert {row["kind"] for row in rows} == {"simulated"}
    assert "(simulated)" in lab.place.command("doctor", **lab.environ).stdout


def test_more_than_are_simulated_are_logical_and_marked_so(lab: Lab) -> None:
    nbaccel.init(num_cpus=1, num_gpus=3, simulate="nvidia:1xA100")
    assert [row.kind for row in lab.snapshot().devices] == ["simulated", "logical", "logical"]
    assert views.devices().text.count("logical") == 2


def test_real_devices_are_not_asked(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has("crash|nvmlInit", Gpu("GPU-a"))
    nbaccel.init(num_cpus=1, simulate="nvidia:1xT4")
    assert [row.type for row in nvidia_lab.snapshot().devices] == ["T4"]
    assert nvidia_lab.helper("prober") == []


def test_a_visible_variable_restricts_them_as_it_would_real_ones(lab: Lab) -> None:
    lab.set(CUDA_VISIBLE_DEVICES="1,3")
    nbaccel.init(num_cpus=1, simulate="nvidia:4xA100")
    assert nbaccel.get(look.options(num_gpus=2).remote())["ids"] == {"GPU": ["1", "3"]}


def test_what_cannot_be_read_is_refused_with_the_grammar(lab: Lab) -> None:
    with pytest.raises(ValueError, match=r"simulate='4 GPUs' cannot be read at '4 GPUs'\. Write vendor:count"):
        nbaccel.init(num_cpus=1, simulate="4 GPUs")


def test_a_shared_head_can_be_simulated(lab: Lab) -> None:
    started = lab.place.command("start", "--head", "--num-cpus", "1", "--simulate", "tpu:8", **lab.environ)
    assert started.returncode == 0, started.stderr
    try:
        nbaccel.init(address="auto")
        assert nbaccel.cluster_resources()["TPU"] == 8
    finally:
        nbaccel.shutdown()
        lab.place.command("stop", "--all", **lab.environ)
