"""Machines that only seem to have accelerators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbaccel.accelerators import Detection, DeviceKind, RealMachine, detect, resolve_resources
from nbaccel.accelerators.simulate import MODELS, MOST_SIMULATED


def simulated(text: str) -> Detection:
    return detect(RealMachine("/nonexistent", {}), simulate=text)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("nvidia:4xA100", ["A100"] * 4),
        ("amd:2xMI300X", ["AMD-Instinct-MI300X-OAM"] * 2),
        ("intel:2xMax-1550", ["Intel-GPU-Max-1550"] * 2),
        ("nvidia:1xA100,nvidia:1xT4", ["A100", "T4"]),
        ("tpu:4", ["TPU-V4"] * 4),
        ("tpu:1xv5p", ["TPU-V5P"]),
        ("neuron:2", ["aws-neuron-core"] * 2),
        ("gaudi:1xGAUDI3", ["Intel-GAUDI3"]),
        ("ascend:1x910B4", ["Ascend910B4"]),
        (" NVIDIA:1xa100 , tpu:1 ", ["A100", "TPU-V4"]),
        ("cuda:1,rocm:1", ["A100", "AMD-Instinct-MI300X-OAM"]),
        ("nvidia:1xRTX-5090", ["GeForce-RTX-5090"]),
    ],
)
def test_groups_give_devices_typed_as_real_ones(text: str, kinds: list[str]) -> None:
    devices = simulated(text).devices
    assert [one.type for one in devices] == kinds
    assert {one.kind for one in devices} == {DeviceKind.SIMULATED}


def test_an_unknown_model_is_taken_by_its_name_with_unknown_memory() -> None:
    (device,) = simulated("nvidia:1xX9000").devices
    assert (device.name, device.type, device.memory_bytes) == ("NVIDIA X9000", "X9000", None)


def test_mig_instances_of_one_card_are_simulated_too() -> None:
    first, second = simulated("nvidia:2xA100:1g.5gb").devices
    assert (first.profile, first.parent, first.type) == ("1g.5gb", second.parent, "A100")
    assert first.id != second.id


def test_mixed_simulated_cards_are_passed_by_uuid_like_real_ones() -> None:
    node = resolve_resources(simulated("nvidia:1xA100,nvidia:1xT4"), num_gpus=None, resources=None, environ={})
    assert all(one.visible_value.startswith("GPU-") for one in node.devices["GPU"])


def test_real_devices_are_not_asked_and_that_is_the_reason_of_the_others() -> None:
    finding = simulated("amd:2xMI300X").finding("nvidia")
    assert "this machine is simulated (amd:2xMI300X)" in finding.reason
    assert not finding.asked


def test_a_machine_without_any_device_can_be_simulated_too() -> None:
    detection = simulated("none")
    assert (detection.devices, detection.gpu_vendor, detection.simulated) == ([], None, "none")


@pytest.mark.parametrize(
    "text",
    ["nvidia", "nvidia:", "nvidia:0", "nvidia:xA100", "4xA100", "nvidia:4xA100,", "nvidia:-1", "tpu:1:1g.5gb", "a b:1"],
)
def test_what_cannot_be_read_is_answered_with_the_grammar_and_examples(text: str) -> None:
    with pytest.raises(ValueError) as refusal:
        simulated(text)
    assert repr(text) in str(refusal.value)
    assert '"nvidia:4xA100"' in str(refusal.value)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("nvidai:4xA100", "nvidia:4xA100"),
        ("Nvidiaa:4", "nvidia:4"),
        ("nvidia4", "nvidia:4"),
        ("nvidia", "nvidia:1"),
        ("tpu:4,nvida:2xT4", "nvidia:2xT4"),
        ("4xA100", "nvidia:4xA100"),
        ("h100:2", "nvidia:2xH100"),
        ("MI300X", "amd:1xMI300X"),
        ("nvidia:4xA1O0", "nvidia:4xA100"),
        ("nvidia:2xl4O5", ""),  # any model may be simulated
    ],
)
def test_what_is_meant_is_offered_where_it_is_near_and_it_is_accepted(typed: str, meant: str) -> None:
    if not meant:
        assert simulated(typed).devices
        return
    with pytest.raises(ValueError, match=f"Did you mean '{meant}'\\?") as refusal:
        simulated(typed)
    assert str(refusal.value).count("neuron, tpu") == 1
    assert simulated(meant).devices


@pytest.mark.parametrize("typed", ["gpu:4", "banana:2", "nvidia:0", "nvidia:4xA100:1g.5g"])
def test_nothing_is_offered_where_nothing_is_near(typed: str) -> None:
    with pytest.raises(ValueError, match="Write vendor:count") as refusal:
        simulated(typed)
    assert "Did you mean" not in str(refusal.value)


def test_an_unknown_maker_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"No accelerator vendor is called 'banana'.*Vendors: nvidia, amd, intel"):
        simulated("banana:2")


def test_there_is_a_limit() -> None:
    with pytest.raises(ValueError, match=f"{MOST_SIMULATED} devices of Google TPU are the most"):
        simulated(f"tpu:{MOST_SIMULATED},tpu:1")


@pytest.mark.parametrize(("vendor", "model"), [(vendor, model) for vendor in MODELS for model in MODELS[vendor]])
def test_every_known_model_has_a_type(vendor: str, model: str) -> None:
    (device,) = simulated(f"{vendor}:1x{model}" if model else f"{vendor}:1").devices
    assert device.type
    assert device.memory_bytes


@given(st.text(max_size=30))
def test_any_text_gives_devices_or_a_sentence(text: str) -> None:
    if not text:
        return
    try:
        assert simulated(text).devices or text.strip().lower() == "none"
    except ValueError as refusal:
        assert "Write vendor:count" in str(refusal) or "are the most there can be" in str(refusal)
