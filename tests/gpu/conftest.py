"""Real NVIDIA GPUs for the tests of this folder, or the reason why they are skipped."""

from __future__ import annotations

import pytest

from nbaccel.accelerators import Device, RealMachine, detect


@pytest.fixture(scope="session")
def gpus() -> list[Device]:
    """The NVIDIA GPUs of this machine that a node would offer."""
    finding = detect(RealMachine()).finding("nvidia")
    offered = [device for device in finding.devices if device.offered]
    if not offered:
        pytest.skip(f"no NVIDIA GPU to test on: {finding.reason or finding.restricted_by}")
    return offered
