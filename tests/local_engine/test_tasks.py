"""What tasks do on the local engine alone: cancels in any kind of code, crashes with their blame, threads, limits."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import exceptions
from tests.rig import Gate, wait_until

pytestmark = pytest.mark.usefixtures("cluster")


# ---- cancelled


@nbaccel.remote
def begun_and(path: Path, what: str) -> str | None:
    path.touch()
    if what == "sleep":
        time.sleep(1000)
    elif what == "spin":
        while True:
            pass
    elif what == "block in C":
        ctypes.CDLL(None).sleep(1000)
    elif what == "catch":
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            return "caught"
    elif what == "get":
        nbaccel.get(Gate.remote().wait.remote())
    return None


@pytest.mark.parametrize("what", ["sleep", "spin", "block in C", "get"])
def test_a_running_task_is_cancelled_whatever_it_does(tmp_path: Path, what: str) -> None:
    ref = begun_and.remote(tmp_path / "begun", what)
    wait_until((tmp_path / "begun").exists)
    nbaccel.cancel(ref)
    with pytest.raises(exceptions.TaskCancelledError):
        nbaccel.get(ref)


def test_a_task_may_catch_its_cancel(tmp_path: Path) -> None:
    ref = begun_and.remote(tmp_path / "begun", "catch")
    wait_until((tmp_path / "begun").exists)
    nbaccel.cancel(ref)
    try:
        assert nbaccel.get(ref) == "caught"
    except exceptions.TaskCancelledError:
        pass  # the interrupt came before the try


# ---- crashes


@nbaccel.remote(max_retries=2)
def crashes(path: Path, until: int) -> int:
    with path.open("a") as file:
        file.write("x")
    if path.stat().st_size < until:
        os._exit(1)
    return path.stat().st_size


def test_a_crash_is_retried_and_counted(tmp_path: Path) -> None:
    assert nbaccel.get(crashes.remote(tmp_path / "runs", 3)) == 3
    with pytest.raises(exceptions.WorkerCrashedError, match="code 1"):
        nbaccel.get(crashes.remote(tmp_path / "others", 100))
    assert (tmp_path / "others").stat().st_size == 3


def test_a_crash_is_blamed_on_the_task_that_crashed() -> None:
    @nbaccel.remote(max_retries=0)
    def quick(number: int, culprit: int | None) -> int:
        if number == culprit:
            os._exit(1)
        return number

    nbaccel.get([quick.remote(number, None) for number in range(50)])  # it is known to be short now: it is sent ahead
    refs = [quick.remote(number, 60) for number in range(100)]
    with pytest.raises(exceptions.WorkerCrashedError):
        nbaccel.get(refs.pop(60))
    assert nbaccel.get(refs) == [number for number in range(100) if number != 60]


# ---- streams


@nbaccel.remote(num_cpus=0)
class Tally:
    def __init__(self) -> None:
        self.count = 0

    def add(self) -> int:
        self.count += 1
        return self.count

    def read(self) -> int:
        return self.count


def test_a_stream_runs_exactly_as_far_ahead_as_it_may() -> None:
    @nbaccel.remote(_generator_backpressure_num_objects=2)
    def ahead(tally: Any) -> Any:
        for _ in range(6):
            yield nbaccel.get(tally.add.remote())

    tally = Tally.remote()
    stream = ahead.remote(tally)
    wait_until(lambda: nbaccel.get(tally.read.remote()) == 2)
    assert nbaccel.get(next(stream)) == 1
    wait_until(lambda: nbaccel.get(tally.read.remote()) == 3)
    assert [nbaccel.get(ref) for ref in stream] == [2, 3, 4, 5, 6]


# ---- threads of libraries: as many as a task or an actor has CPUs


@nbaccel.remote
class Threads:
    def __init__(self) -> None:
        self.at_first = os.environ.get("OMP_NUM_THREADS")

    def read(self) -> tuple[str | None, str | None]:
        return self.at_first, os.environ.get("OMP_NUM_THREADS")


@nbaccel.remote
def threads() -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


@pytest.mark.skipif("OMP_NUM_THREADS" in os.environ, reason="the user's own number is kept")
def test_an_actors_methods_have_as_many_threads_as_its_constructor() -> None:
    assert nbaccel.get(Threads.options(num_cpus=2).remote().read.remote()) == ("2", "2")
    assert nbaccel.get(Threads.remote().read.remote()) == ("1", "1")


@pytest.mark.skipif("OMP_NUM_THREADS" in os.environ, reason="the user's own number is kept")
def test_a_task_has_as_many_threads_as_cpus() -> None:
    assert nbaccel.get([threads.options(num_cpus=count).remote() for count in (1, 2, 0)]) == ["1", "2", "1"]
