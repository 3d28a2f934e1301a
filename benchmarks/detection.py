"""How long finding devices takes: on a machine without any, with eight NVIDIA GPUs, and with every other family.

    python benchmarks/detection.py
    python benchmarks/detection.py --repeat 21 --json detection.json

Each figure is the median over fresh processes: the time that passed, and the CPU time of the asking process, which
other work on the machine changes little. The GPUs are those of a small NVML that the system's C compiler builds from
the tests' source; the real bindings (nvidia-ml-py) ask it, and importing them counts. The other families are trees of
files and small tools. `init()` is a program's whole first call, with its head, on both kinds of machine in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from tests.accelerators.fake_nvml import FakeNvml, Gpu, build  # noqa: E402
from tests.accelerators.machines import MadeMachine, add_amd, add_ascend, add_gaudi, add_intel, add_neuron, add_tpu  # noqa: E402

GPUS = 8
GOALS_MS = {"nothing": 20.0, "eight GPUs": 50.0}

DETECT = """
import time
from nbaccel import accelerators
machine = accelerators.RealMachine()
began, used = time.perf_counter(), time.process_time()
found = accelerators.detect(machine)
print(time.perf_counter() - began, time.process_time() - used, len(found.devices))
"""
INIT = """
import time
began, used = time.perf_counter(), time.process_time()
import nbaccel
nbaccel.init(num_cpus=1)
print(time.perf_counter() - began, time.process_time() - used, len(nbaccel.snapshot().devices))
"""


def furnished(folder: Path) -> dict[str, tuple[dict[str, str], int]]:
    """Machines by name: the environment of programs on them, and how many devices they have."""
    places = {name: folder / name.replace(" ", "-") for name in ("nothing", "eight GPUs", "other families")}
    for place in places.values():
        place.mkdir()
    MadeMachine(places["nothing"])
    library = build(folder)
    if library is None:
        raise SystemExit("There is no C compiler (cc, gcc or clang) to build the NVML of this benchmark with.")
    nvml = FakeNvml(library, places["eight GPUs"])
    nvml.has(*(Gpu(f"GPU-{number}", bus=f"00000000:{number:02x}:00.0") for number in range(GPUS)))
    others = MadeMachine(places["other families"])
    for add in (add_amd, add_intel, add_neuron, add_tpu, add_gaudi, add_ascend):
        add(others)
    environ = {name: value for name, value in os.environ.items() if not name.endswith("VISIBLE_DEVICES")}
    found = {}
    for name, count in {"nothing": 0, "eight GPUs": GPUS, "other families": 16}.items():
        extra = nvml.environment() if name == "eight GPUs" else {"PATH": f"{others.bin}:{environ['PATH']}"}
        root = {"NBACCEL_MACHINE_ROOT": str(places[name] / "root"), "TPU_ACCELERATOR_TYPE": "v4-8"}
        found[name] = {**environ, **extra, **root, "NBACCEL_LEASE_DIR": str(folder / "leases")}, count
    return found


def measured_ms(program: str, environ: dict[str, str], count: int) -> tuple[float, float]:
    """One run in a process of its own; the devices that it found are counted."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, cpu_seconds, devices = done.stdout.split()
    if int(devices) != count:
        raise SystemExit(f"{devices} devices were found instead of {count}.")
    return float(seconds) * 1000, float(cpu_seconds) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=7, help="runs of each figure (default: 7)")
    parser.add_argument("--json", type=Path, help="write every figure of every run there")
    asked = parser.parse_args()
    figures: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        machines = furnished(Path(folder))
        for _ in range(asked.repeat):
            for name, (environ, count) in machines.items():
                figures.setdefault(f"detect: {name}", []).append(measured_ms(DETECT, environ, count))
            for name in ("nothing", "eight GPUs"):
                figures.setdefault(f"init(): {name}", []).append(measured_ms(INIT, *machines[name]))
    for name, runs in figures.items():
        print(_line(name, runs))
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores:
        print(f"The machine was busy (load {load:.1f} on {cores} cores): the CPU time says more.")
    if asked.json:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n")


def _line(name: str, runs: list[tuple[float, float]]) -> str:
    passed, cpu = (statistics.median(column) for column in zip(*runs, strict=True))
    fastest = min(elapsed for elapsed, _cpu in runs)
    goal = GOALS_MS.get(name.removeprefix("detect: ")) if name.startswith("detect") else None
    verdict = "" if goal is None else f"   goal: below {goal:g} ms"
    return f"{name:24} {passed:7.1f} ms (fastest {fastest:.1f}), CPU {cpu:6.1f} ms{verdict}"


if __name__ == "__main__":
    main()
