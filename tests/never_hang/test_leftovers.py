"""Device memory that a process keeps after its task: measured, told, and given back before the next task comes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import nbaccel
from tests.accelerators.fake_nvml import GIB, FakeNvml, Gpu
from tests.census import Place
from tests.never_hang.clusters import wait_until_free

MIB = 1 << 20


def take(kept: int, peak: int = 0) -> int:
    """Stand in for torch in this process: its pool holds so much when the task is over. Returns the pid."""
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        device_count=lambda: 1,
        memory_reserved=lambda index: kept,
        max_memory_reserved=lambda index: max(kept, peak),
        reset_peak_memory_stats=lambda index: None,
        empty_cache=lambda: None,
    )
    sys.modules["torch"] = SimpleNamespace(cuda=cuda)  # type: ignore[assignment]
    return os.getpid()


def leaks() -> list[str]:
    return [alert.message for alert in nbaccel.snapshot().alerts if alert.kind == "leak"]


@pytest.fixture
def train() -> Any:
    """A function whose process is used again."""
    return nbaccel.remote(num_gpus=1, max_calls=0, name="train")(take)


def test_a_process_that_keeps_tensors_is_replaced_and_named(two_a100: Place, train: Any) -> None:
    wait_until_free()
    first = nbaccel.get(train.options(num_gpus=2).remote(3 * GIB))
    second = nbaccel.get(train.options(num_gpus=2).remote(0))
    assert first != second
    (message,) = leaks()
    assert f"train ended, but its process (pid {first}) kept 3 GiB of the memory of GPU 0 and GPU 1" in message
    assert "torch tensors that something still refers to" in message
    (alert,) = [alert for alert in nbaccel.snapshot().alerts if alert.kind == "leak"]
    assert alert.device == "0" and alert.task_id


def test_a_little_that_is_kept_is_no_leak(two_a100: Place, train: Any) -> None:
    wait_until_free()
    before = leaks()
    pids = {nbaccel.get(train.options(num_gpus=2).remote(kept)) for kept in (0, 200 * MIB, 1600 * MIB, 0)}
    assert len(pids) == 1, "two devices of 40 GiB: two hundredths of them are 1638 MiB"
    assert leaks() == before


def test_the_threshold_is_the_users(own_head: Place, train: Any) -> None:
    nbaccel.init(simulate="nvidia:1xA100", num_cpus=1, leak_threshold=10 * MIB)
    first = nbaccel.get(train.remote(20 * MIB))
    assert nbaccel.get(train.remote(0)) != first
    assert len(leaks()) == 1


def test_a_process_that_ends_anyway_leaves_nothing(two_a100: Place) -> None:
    before = leaks()
    nbaccel.get(nbaccel.remote(num_gpus=1)(take).remote(30 * GIB))
    assert leaks() == before


def test_an_actor_keeps_what_it_likes(two_a100: Place) -> None:
    before = leaks()

    @nbaccel.remote(num_gpus=1)
    class Keeper:
        def work(self) -> int:
            return take(30 * GIB)

    keeper = Keeper.remote()
    assert nbaccel.get(keeper.work.remote()) == nbaccel.get(keeper.work.remote())
    assert leaks() == before
    nbaccel.kill(keeper)


def test_a_tasks_peak_is_written_down_with_a_hint_when_it_is_small(two_a100: Place) -> None:
    @nbaccel.remote(num_gpus=1)
    def small() -> None:
        take(0)
        take(0, 3 * GIB)

    nbaccel.get(small.remote())
    (row,) = [row for row in nbaccel.snapshot().tasks if row.name == "small"]
    assert row.peak_memory_bytes == 3 * GIB
    assert row.hint == (
        "small held 1 GPU (40 GiB) and used 3 GiB of it at most: gpu_memory='4GiB' instead of whole devices would let "
        "others run beside it."
    )


# --- real devices: an NVML of our own ----------------------------------------------------------------------------

CARD = Gpu("GPU-00000000-0000-4000-8000-000000000001", used=GIB)
PROGRAM = """
import os, sys
sys.path.insert(0, {tests!r})
import json
import nbaccel as ray
from tests.accelerators.fake_nvml import GIB, Gpu
from tests.never_hang.test_leftovers import CARD

def fill(used, *more):
    with open(os.environ["NVML_STATE_FILE"], "w") as file:
        CARD.used = used
        file.write("\\n".join([CARD.line(), *more]) + "\\n")
    return os.getpid()

ray.init(num_cpus=2{options})
fill = ray.remote(num_gpus=1, max_calls=0)(fill)
"""


def run(place: Place, nvml: FakeNvml, program: str, options: str = "") -> dict[str, Any]:
    """Run it where this NVML is the driver; it prints JSON."""
    nvml.has(CARD)
    text = PROGRAM.format(tests=str(Path(__file__).parents[2]), options=options) + program
    done = place.run(text, **nvml.environment(NBACCEL_MACHINE_ROOT=str(nvml.root), PATH=os.environ["PATH"]))
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
    assert f"GPU 0 is free for us, but 35 GiB of its memory are used by pid {answer['pid']} (python" in answer["sentence"]
    assert len(answer["elsewhere"]) == 1
