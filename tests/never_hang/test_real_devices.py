"""Memory of real devices, as an NVML of our own tells it: what tasks leave, what others use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.accelerators.fake_nvml import GIB, FakeNvml, Gpu
from tests.census import Place
from tests.rig import DEADLINE_S

CARD = Gpu("GPU-00000000-0000-4000-8000-000000000001", used=GIB)
# No driver hangs here, however late the prober is.
ON_A_BUSY_MACHINE = {"PATH": os.environ["PATH"], "NBACCEL_DETECTION_TIMEOUT_S": "600"}
PROGRAM = """
import os, sys
sys.path.insert(0, {tests!r})
import json
import nbaccel as ray
from tests.accelerators.fake_nvml import GIB, Gpu
from tests.never_hang.test_real_devices import CARD

def fill(used, *more):
    CARD.used = used
    with open(os.environ["NVML_STATE_FILE"] + ".new", "w") as file:
        file.write("\\n".join([CARD.line(), *more]) + "\\n")
    os.replace(file.name, os.environ["NVML_STATE_FILE"])  # the prober may read meanwhile
    return os.getpid()

ray.init(num_cpus=2{options})
fill = ray.remote(num_gpus=1, max_calls=0)(fill)
"""


def run(place: Place, nvml: FakeNvml, program: str, options: str = "") -> dict[str, Any]:
    """Run it where this NVML is the driver; it prints JSON."""
    nvml.has(CARD)
    text = PROGRAM.format(tests=str(Path(__file__).parents[2]), options=options) + program
    done = place.run(text, **nvml.environment(NBACCEL_MACHINE_ROOT=str(nvml.root), **ON_A_BUSY_MACHINE))
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]), stderr=done.stderr)


ANSWER = """
print(json.dumps({"pids": pids, "kinds": [row.kind for row in ray.snapshot().devices],
                  "leaks": [alert.message for alert in ray.snapshot().alerts if alert.kind == "leak"]}))
"""


def test_where_no_framework_tells_the_device_is_looked_at_before_and_after(place: Place, nvml: FakeNvml) -> None:
    answer = run(place, nvml, "pids = [ray.get(fill.remote(used * GIB)) for used in (5, 1, 1)]" + ANSWER)
    assert answer["kinds"] == ["real"]
    first, second, third = answer["pids"]
    assert first != second == third
    (message,) = answer["leaks"]
    assert f"(pid {first}) kept 3.2 GiB of the memory of GPU 0" in message
    assert message in answer["stderr"].replace("\n", " ")


A_FRAMEWORK = """
def told_by_torch(held):
    '''Be a process whose torch says that so much is in use, which it cannot give back.'''
    import sys, types
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(
        is_initialized=lambda: True, device_count=lambda: 1, memory_reserved=lambda index: held,
        max_memory_reserved=lambda index: held, empty_cache=lambda: None, reset_peak_memory_stats=lambda index: None)
    sys.modules["torch"] = torch
    return os.getpid()

told = ray.remote(num_gpus=1, max_calls=0)(told_by_torch)
pids = [ray.get(told.remote(held << 20)) for held in (600, 200, 200)]
"""


def test_what_a_framework_tells_is_exact_however_large_the_card(place: Place, nvml: FakeNvml) -> None:
    """2 GiB of torch's tensors on a card of 140 GiB went unnoticed: they were less than 2 % of it."""
    answer = run(place, nvml, A_FRAMEWORK + ANSWER)
    first, second, third = answer["pids"]
    assert first != second == third
    (message,) = answer["leaks"]
    assert f"(pid {first}) kept 600 MiB of the memory of GPU 0: torch tensors" in message


def test_the_threshold_is_the_users(place: Place, nvml: FakeNvml) -> None:
    program = "pids = [ray.get(fill.remote(GIB + (800 << 20))) for _ in range(2)]" + ANSWER
    assert len(set(run(place, nvml, program)["pids"])) == 1
    answer = run(place, nvml, program, ", leak_threshold=10 << 20")
    assert (len(set(answer["pids"])), len(answer["leaks"])) == (2, 1)


def test_a_drivers_own_context_is_no_leak(place: Place, nvml: FakeNvml) -> None:
    answer = run(place, nvml, "pids = [ray.get(fill.remote(GIB + (600 << 20))) for _ in range(2)]" + ANSWER)
    assert len(set(answer["pids"])) == 1
    assert answer["leaks"] == []


def test_what_another_process_has_begun_to_use_is_not_blamed_on_the_task(place: Place, nvml: FakeNvml) -> None:
    others = ", ".join(f"'process|{CARD.uuid}|{pid}|{GIB}'" for pid in (7_000_001, 7_000_002))
    answer = run(place, nvml, f"pids = [ray.get(fill.remote(9 * GIB, {others})) for _ in range(2)]" + ANSWER)
    assert len(set(answer["pids"])) == 1
    assert answer["leaks"] == []


def test_memory_of_others_is_named_in_an_explanation(place: Place, nvml: FakeNvml) -> None:
    program = """
ray.get(fill.remote(36 * GIB, f"process|{CARD.uuid}|{os.getpid()}|{35 * GIB}"))
import time
sentence = ""
while "of its memory are used" not in sentence:  # the devices are looked at once a second
    sentence = str(ray.probe())
    time.sleep(0.05)
print(json.dumps({"sentence": sentence, "pid": os.getpid(), "elsewhere": ray.probe().elsewhere}))
"""
    answer = run(place, nvml, program)
    assert (
        f"GPU 0 is free for us, but 35 GiB of its memory are used by pid {answer['pid']} (python" in answer["sentence"]
    )
    assert len(answer["elsewhere"]) == 1


OTHER_NOTEBOOK = """
import sys
import nbaccel as ray
ray.init(num_cpus=1)
print("ready", flush=True)
sys.stdin.readline()
@ray.remote(num_gpus=1)
class Holder:
    def ready(self): return True
holder = Holder.remote()
print(ray.get(holder.ready.remote()), flush=True)
sys.stdin.readline()
"""


def test_a_device_that_another_head_has_taken_is_busy_for_a_probe(place: Place, nvml: FakeNvml) -> None:
    nvml.has(CARD)
    environ = nvml.environment(NBACCEL_MACHINE_ROOT=str(nvml.root), **ON_A_BUSY_MACHINE)
    program = (
        "import sys\nimport nbaccel as ray\nray.init(num_cpus=1)\nprint(repr(ray.probe()), flush=True)\n"
        "sys.stdin.readline()\nprint(repr(ray.probe()), flush=True)\n"
    )
    asks, takes = place.start(program, **environ), place.start(OTHER_NOTEBOOK, **environ)
    assert asks.stdin and asks.stdout and takes.stdin and takes.stdout
    assert asks.stdout.readline() == "NOW: 1 CPU and 1 GPU: free now.\n"
    assert takes.stdout.readline() == "ready\n"
    takes.stdin.write("take it\n")
    takes.stdin.flush()
    assert takes.stdout.readline() == "True\n"
    answer, errors = asks.communicate("ask again\n", timeout=DEADLINE_S)
    takes.communicate("done\n", timeout=DEADLINE_S)
    assert answer.startswith("BUSY: 1 CPU and 1 GPU: not now. The GPU is busy: GPU 0 (A100) is held by program-"), (
        errors
    )
