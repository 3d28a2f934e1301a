"""Names of accelerator types, as programs import them from `nbaccel.util.accelerators`."""

from __future__ import annotations

import importlib

import pytest

from nbaccel.accelerators import amd, ascend, intel, nvidia, tpu
from nbaccel.util import accelerators as names

CONSTANTS = {name: value for name, value in vars(names).items() if name.isidentifier() and name[0].isupper()}


def test_every_name_of_rays_is_here_with_the_same_text() -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    theirs = importlib.import_module("ray.util.accelerators.accelerators")
    wanted = {name: value for name, value in vars(theirs).items() if name.isupper() or name.startswith("AMD_")}
    assert {name: CONSTANTS.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("found", "constant"),
    [
        (nvidia.type_of("Tesla V100-SXM2-16GB"), names.NVIDIA_TESLA_V100),
        (nvidia.type_of("NVIDIA A100-SXM4-80GB"), names.NVIDIA_A100),
        (amd.TYPES["0x74a1"], names.AMD_INSTINCT_MI300x),
        (intel.type_of("Intel(R) Data Center GPU Max 1550"), names.INTEL_MAX_1550),
        (tpu.type_of("v5litepod-8"), names.GOOGLE_TPU_V5LITEPOD),
        (ascend.type_of("910B4"), names.HUAWEI_NPU_910B4),
    ],
)
def test_detected_types_are_the_texts_of_the_constants(found: str, constant: str) -> None:
    assert found == constant


def test_every_amd_type_has_a_constant() -> None:
    assert set(amd.TYPES.values()) <= set(CONSTANTS.values())
