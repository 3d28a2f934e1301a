"""The rows of the table: what is measured, in which session, and what nbaccel is to reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from benchmarks import held


class Unit(Enum):
    SECONDS = "s"
    PER_SECOND = "/s"
    BYTES = "B"
    TIMES = "×"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `times_better` is the goal as a ratio to Ray in the same run, `limit` as a value of our own: at most
    that much, or of what is counted in a second at least.
    """

    key: str
    title: str
    unit: Unit
    session: str = "main"
    times_better: float | None = None
    limit: float | None = None
    ahead_of: str = ""  # a contender that has to be beaten as well
    share_of_its: float = 1.0  # its time is to be undercut so far
    by_row: str = ""  # another row, of which this one is to be at most `times_as_long`
    times_as_long: float = 1.3
    more_s: float = 0.0  # and so much more, in seconds
    by_words: str = "numpy's"  # what that row is called in the goal


S, PER_S, B, X = Unit.SECONDS, Unit.PER_SECOND, Unit.BYTES, Unit.TIMES
MB = 10**6

ROWS = (
    Row("start", "import + init + first task", S, times_better=15, limit=0.3),
    Row("idle_memory", "memory of the idle runtime (PSS)", B, limit=60 * MB),
    Row("task", "one no-op task, submit to result", S, times_better=5, ahead_of="processes", share_of_its=0.9),
    Row("echo", "echo of 1 kB, round trip", S, times_better=5),
    Row(
        "tasks", "no-op tasks per second, 10,000 in flight", PER_S, times_better=20, limit=40_000, ahead_of="processes"
    ),
    Row("task_cpu", "CPU time of one of these, all processes", S, limit=40e-6),
    Row("pipe", "a pipe's round trip, in the same process", S),
    Row(
        "call",
        "actor call, round trip",
        S,
        times_better=6,
        by_row="pipe",
        times_as_long=1,
        more_s=100e-6,
        by_words="the pipe's",
    ),
    Row("calls", "actor calls per second, 5,000 in flight", PER_S, times_better=6, limit=60_000),
    Row("async_calls", "calls of an async actor per second, 5,000 in flight", PER_S, times_better=5, limit=40_000),
    Row("items", "items of a stream per second", PER_S, times_better=5, limit=150_000),
    Row("actor", "starting an actor, to its first answer", S, times_better=30),
    Row("device_task", "num_gpus=1 task in a fresh process", S, times_better=40),
    Row("copy", "copy 100 MB, in the same process", S),
    Row("write_fresh", "write 100 MB to fresh shared memory, in the same process", S),
    Row(
        "put_first", "put 100 MB (array), the first", S, by_row="write_fresh", times_as_long=1.1, by_words="the write's"
    ),
    Row("put_ready", "another, 2 s later, all being held", S, by_row="copy", times_as_long=1.5, by_words="the copy's"),
    Row("put_large", "put 100 MB, recycled", S, times_better=10),
    Row("get_large", "get it (no copy: a copy takes 7 ms)", S, limit=0.001),
    Row("take_large", "a task that takes it by ref", S, times_better=4),
    Row("return_large", "a task that returns it", S, times_better=1.5),
    Row("puts", "small puts per second", PER_S, times_better=8),
    Row("used_memory", "memory 10 s after the last use (PSS and store)", B, limit=60 * MB),
    Row("shutdown", "shutdown, to the end of the last process", S, limit=0.2),
    Row("torch_task", "num_gpus=1 task: import torch, multiply", S, session="torch", times_better=50),
    Row("line_memory", "head with 100,000 tasks behind one CPU (PSS)", B, session="line", limit=300 * MB),
    Row("line_short", "head's CPU time for one of 1,000 in line", S, session="line"),
    Row("line_long", "head's CPU time for one of 100,000 in line", S, session="line"),
    Row("line_ratio", "the second by the first", X, session="line", limit=1.25),
)


def _value_rows() -> Iterator[Row]:
    """What people hold, beside numpy's array. What is copied on its way out by nature has no goal there."""
    for way, title in (("put", "put"), ("get", "get"), ("return", "returned by a task")):
        for name, kind in held.KINDS.items():
            beside = f"{way}_numpy" if way != "get" and name != "numpy" and kind.reads_in_place else ""
            limit = 0.002 if way == "get" and kind.reads_in_place else None
            yield Row(f"{way}_{name}", f"{kind.title}: {title}", S, session="values", limit=limit, by_row=beside)


VALUE_ROWS = tuple(_value_rows())
SESSIONS = ("main", "torch", "values", "line")
BY_KEY = {row.key: row for row in (*ROWS, *VALUE_ROWS)}
