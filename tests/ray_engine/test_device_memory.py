"""gpu_memory= on Ray: bytes of the nodes' devices as Ray's fractions, against a Ray whose driver is a compiled NVML."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.accelerators.fake_nvml import FakeNvml, Gpu

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(400)]
pytest.importorskip("ray")
ROOT = Path(__file__).parent.parent.parent

PROGRAM = """
import time
import nbaccel

nbaccel.init(engine="ray", num_cpus=2, log_to_driver=False)

@nbaccel.remote(gpu_memory="10GiB")
class Small:
    def ids(self):
        return nbaccel.get_gpu_ids()

small = [Small.options(num_cpus=0).remote() for _ in range(4)]
print(sorted(id for ids in nbaccel.get([actor.ids.remote() for actor in small]) for id in ids))
while nbaccel.available_resources().get("GPU") != 1.0:  # Ray tells it a moment later
    time.sleep(0.05)
probe = nbaccel.probe(gpu_memory="15GiB")
print(probe.verdict.name, probe.sentence)
print(nbaccel.probe(gpu_memory="80GiB").sentence)
try:
    Small.options(gpu_memory="80GiB").remote()
except ValueError as error:
    print(error)

@nbaccel.remote(gpu_memory="80GiB", fallback="cpu")
def where():
    return nbaccel.get_runtime_context().fallback_taken

print(nbaccel.get(where.remote()))
nbaccel.shutdown()
"""


def test_memory_of_devices_is_booked_as_fractions_of_them(nvml: FakeNvml) -> None:
    nvml.has(Gpu("GPU-a", bus="00000000:01:00.0"), Gpu("GPU-b", bus="00000000:02:00.0"))
    said = run(nvml)
    assert said[0] == "[0, 0, 0, 0]"
    assert said[1].startswith("NOW ")
    assert "no GPU here has 80 GiB of memory (the largest has 40 GiB)" in said[2]
    assert said[3] == "no GPU here has 80 GiB of memory (the largest has 40 GiB); Ray cannot be asked to wait for one."
    assert said[4] == "True"


def run(nvml: FakeNvml) -> list[str]:
    environ = {**os.environ, **nvml.environment(), "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT)}
    environ.pop("CUDA_VISIBLE_DEVICES", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environ, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
