"""Several heads on one machine: a real device is given out by one of them at a time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import nbaccel
from tests.accelerators.fake_nvml import Gpu
from tests.devices.conftest import Lab, look
from tests.rig import DEADLINE_S, wait_until

OTHER = """
import os, sys, time
import nbaccel
nbaccel.init(num_cpus=2, log_to_driver=False)

@nbaccel.remote(num_gpus={amount})
class Holder:
    def ids(self):
        return nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]

holders = [Holder.remote() for _ in range({count})]
print(nbaccel.get([holder.ids.remote() for holder in holders]), flush=True)
sys.stdin.readline()
"""


class Other:
    """Another notebook, as a program that holds devices until it is told to end."""

    def __init__(self, lab: Lab, amount: float, count: int) -> None:
        self.program = lab.place.start(OTHER.format(amount=amount, count=count), **lab.environ)
        assert self.program.stdout is not None
        self.ids = self.program.stdout.readline().strip()
        assert self.ids, self.program.communicate()[1]

    @property
    def name(self) -> str:
        return f"{Path(self.program.args[1]).name}, pid {self.program.pid}"  # type: ignore[index]

    def end(self) -> None:
        if self.program.returncode is None:
            self.program.communicate("go\n", timeout=DEADLINE_S)

    def crash(self) -> None:
        """Its head is killed, with no chance to give anything back."""
        children = subprocess.run(
            ["ps", "--ppid", str(self.program.pid), "-o", "pid="], capture_output=True, text=True, check=True
        )
        os.kill(int(children.stdout.split()[0]), signal.SIGKILL)


@pytest.fixture
def other(nvidia_lab: Lab) -> Iterator[Callable[..., Other]]:
    started: list[Other] = []

    def start(amount: float = 1, count: int = 1) -> Other:
        started.append(Other(nvidia_lab, amount, count))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_the_second_head_takes_another_card(nvidia_lab: Lab, other: Callable[..., Other]) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"), Gpu("GPU-b"))
    first = other()
    assert first.ids == "[['0']]"
    nbaccel.init(num_cpus=2)
    assert nbaccel.get(look.options(num_gpus=1).remote())["ids"] == {"GPU": ["1"]}
    # The other's record may be locked at the first look.
    wait_until(lambda: nvidia_lab.row("0").free_reason == f"held by {first.name}", "the holder's name")
    assert nvidia_lab.row("0").free == 0
    assert nbaccel.available_resources().get("GPU", 0) <= 1  # not named where nothing of it is free


def test_who_waits_is_told_who_holds_it_and_starts_when_it_is_given_back(
    nvidia_lab: Lab, other: Callable[..., Other]
) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=2)
    first = other()
    ref = look.options(num_gpus=1).remote()
    wait_until(lambda: f"held by {first.name}" in str(nbaccel.explain(ref)), "the reason")
    (row,) = [row for row in nvidia_lab.snapshot().tasks if row.name == "look"]
    assert f"held by {first.name}" in row.why
    first.end()
    assert nbaccel.get(ref, timeout=DEADLINE_S)["ids"] == {"GPU": ["0"]}
    assert nvidia_lab.row("0").free_reason == ""


def test_a_head_that_is_killed_holds_nothing_any_more(nvidia_lab: Lab, other: Callable[..., Other]) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=2)
    first = other()
    ref = look.options(num_gpus=1).remote()
    wait_until(lambda: "held by" in str(nbaccel.explain(ref)), "the reason")
    first.crash()
    assert nbaccel.get(ref, timeout=DEADLINE_S)["ids"] == {"GPU": ["0"]}


def test_fractions_of_two_heads_fill_a_card_and_no_more(nvidia_lab: Lab, other: Callable[..., Other]) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    other(amount=0.3, count=2)
    nbaccel.init(num_cpus=2)
    whole, rest = look.options(num_gpus=1).remote(), look.options(num_gpus=0.4)
    assert nbaccel.get(rest.remote())["ids"] == {"GPU": ["0"]}
    wait_until(lambda: nvidia_lab.row("0").free == pytest.approx(0.4), "the end of the task's process")
    assert not nbaccel.wait([whole], timeout=0)[0]
    assert "held by" in str(nbaccel.explain(whole))


def test_heads_in_a_race_never_share_a_card(nvidia_lab: Lab) -> None:
    """Each task writes itself down while it holds the card; nobody may find another's mark."""
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    program = f"""
import os, time
import nbaccel
nbaccel.init(num_cpus=1, log_to_driver=False)
@nbaccel.remote(num_gpus=1)
def alone(mark={str(nvidia_lab.place.root / "mark")!r}):
    file = os.open(mark, os.O_CREAT | os.O_EXCL)
    time.sleep(0.05)
    os.close(file)
    os.unlink(mark)
    return True
print(nbaccel.get([alone.remote() for _ in range(4)]))
"""
    racers = [nvidia_lab.place.start(program, **nvidia_lab.environ) for _ in range(2)]
    for racer in racers:
        out, err = racer.communicate(timeout=DEADLINE_S)
        assert out == "[True, True, True, True]\n", err


def test_logical_and_simulated_devices_are_everyones_own(lab: Lab, other: Callable[..., Other]) -> None:
    lab.set(NBACCEL_SIMULATE="nvidia:1xA100")
    other()
    nbaccel.init(num_cpus=1)
    assert nbaccel.get(look.options(num_gpus=1).remote())["ids"] == {"GPU": ["0"]}


def test_leases_that_cannot_be_written_are_an_alert(nvidia_lab: Lab) -> None:
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    blocked = nvidia_lab.place.root / "blocked"
    blocked.write_text("no directory")
    nvidia_lab.set(NBACCEL_LEASE_DIR=str(blocked))
    nbaccel.init(num_cpus=1)
    assert nbaccel.get(look.options(num_gpus=1).remote())["ids"] == {"GPU": ["0"]}
    alert = nvidia_lab.wait_for_alert("leases")
    assert re.search(r"Leases in .*blocked cannot be used .*Set NBACCEL_LEASE_DIR", alert)


def test_a_lease_names_the_notebook_in_so_many_characters(nvidia_lab: Lab) -> None:
    nvidia_lab.set(JPY_SESSION_NAME="/home/u/" + "x" * 300 + ".ipynb")
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    nbaccel.init(num_cpus=1)

    @nbaccel.remote(num_gpus=1)
    def holder() -> str:
        return nbaccel.api.device_holder("GPU-a")

    assert re.fullmatch(rf"held by notebook x{{71}}, pid {os.getpid()}", nbaccel.get(holder.remote()))


@pytest.mark.parametrize("number", ["Infinity", "1e400"])
def test_a_hostile_record_stops_neither_a_head_nor_its_tasks(nvidia_lab: Lab, number: str) -> None:
    """It lies there before the head begins, and while tasks come and go."""
    nvidia_lab.nvml.has(Gpu("GPU-a"))
    record = nvidia_lab.place.root / "leases" / "GPU-a.5.lease"
    record.write_text(f'{{"holders": [{{"pid": {number}, "started": 1, "boot_id": "", "token": "", "amount": 1}}]}}')
    nbaccel.init(num_cpus=2)
    assert [nbaccel.get(look.options(num_gpus=1).remote())["ids"] for _ in range(3)] == [{"GPU": ["0"]}] * 3
    wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all resources to be free")
    record.unlink()
