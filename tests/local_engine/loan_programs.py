"""Drivers of the tests about workers on loan. Workers import this module: it needs no test library."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import nbaccel
from nbaccel import engine as engines

CLOSE_TOGETHER = 8  # lone tasks, so that the driver asks for a worker on loan


@nbaccel.remote
def same(value: Any) -> Any:
    return value


@nbaccel.remote
def pid_of(value: Any) -> tuple[int, Any]:
    return os.getpid(), value


@nbaccel.remote
def wait_for(path: str, mark: str = "") -> int:
    """Wait until the file is there; leave a mark with each run, by which `runs` knows the task."""
    if mark:
        with open(mark, "a") as file:
            file.write(f"{nbaccel.get_runtime_context().get_task_id()}\n")
    while not os.path.exists(path):
        time.sleep(0.005)
    return os.getpid()


@nbaccel.remote
def run_until_stopped(path: str) -> None:
    """Run until it is interrupted; nothing at all if the path is `/`."""
    while path != "/":
        time.sleep(0.005)


def is_straight(ref: Any) -> bool:
    """Whether a task went straight to a worker on loan: its result belongs to this process."""
    started: Any = engines.started()
    return bool(started.holdings.is_private(ref._id))


def open_loans() -> list[Any]:
    started: Any = engines.started()
    return list(started.straight._borrowing.open.values()) if started.straight is not None else []


def on_loan(function: Any, *arguments: Any, warm: Any = "/") -> Any:
    """The ref of a call that went straight to a worker on loan. The function returns at once when called with `warm`.

    How soon the head lends one depends on how busy the machine is: calls that went through the head are cancelled.
    """
    for _ in range(2_000):
        for _ in range(CLOSE_TOGETHER):
            nbaccel.get(function.remote(warm))
        ref = function.remote(*arguments)
        if is_straight(ref):
            return ref
        nbaccel.cancel(ref)
        nbaccel.wait([ref])
    raise AssertionError("no worker was ever lent")


def straight_results(function: Any, wanted: int) -> Iterator[Any]:
    """Results of lone calls, until so many of them went straight."""
    for number in count():
        ref = function.remote(number)
        wanted -= is_straight(ref)
        yield number, nbaccel.get(ref)
        if not wanted:
            return


def runs(task_id: str, mark: Path) -> int:
    """How often `wait_for` has begun as this task. Calls that `on_loan` has cancelled may have left marks too."""
    return mark.read_text().split().count(task_id) if mark.exists() else 0


def outcome(ref: Any) -> Any:
    """The result of a task, or the name of its error."""
    try:
        return nbaccel.get(ref)
    except nbaccel.exceptions.RayError as error:
        return type(error).__name__


BORROWER = """
import sys
import nbaccel
from tests.local_engine import loan_programs as programs
from tests.local_engine.straight_programs import Keeper
nbaccel.init(address="auto", namespace="cells")
keeper = Keeper.options(name="keeper", lifetime="detached", num_cpus=0).remote()
after = programs.on_loan(programs.same, 5)
nbaccel.get(after)
nbaccel.get(keeper.keep.remote("after", [after]))
in_flight = programs.on_loan(programs.wait_for, "/nowhere")
if {is_kept}:
    nbaccel.get(keeper.keep.remote("in flight", [in_flight]))
del in_flight
print("ready", flush=True)
sys.stdin.readline()
"""

ORPHAN = """
import os, signal
import nbaccel
from tests.local_engine import loan_programs as programs
nbaccel.init(num_cpus=2)
after = programs.on_loan(programs.same, 5)
nbaccel.get(after)
head = nbaccel.snapshot().runtime.pid
in_flight = programs.on_loan(programs.wait_for, "/nowhere")
another = programs.same.remote(in_flight)
os.kill(head, signal.SIGKILL)
def outcome(make):
    try:
        return programs.outcome(make())
    except nbaccel.exceptions.RayError as error:
        return type(error).__name__
print("in flight, for the caller:", outcome(lambda: in_flight))
print("in flight, for another:", outcome(lambda: another))
print("after, for the caller:", outcome(lambda: after))
print("after, for another:", outcome(lambda: programs.same.remote(after)))
print("before:", outcome(lambda: programs.same.remote(7)))
"""


def through_the_head(program: str) -> str:
    """The same program, none of whose tasks is to go on loan."""
    return program.replace("programs.on_loan(programs.same, ", "programs.same.remote(").replace(
        "programs.on_loan(programs.wait_for, ", "programs.wait_for.remote("
    )


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
