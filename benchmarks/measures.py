"""What is done for each row, in the contender's own process. Every answer is checked: who gave it, and to what."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import census, floor, held, tasks
from benchmarks.contenders import Actors, Devices, Objects, Streams

IN_FLIGHT = 10_000
CALLS_IN_FLIGHT = 5_000
ITEMS = 10_000
SMALL_PUTS = 2_000
LARGE_BYTES = 100_000_000
LINE_LONG, LINE_SHORT, SHORT_LINES = 100_000, 1_000, 10
SETTLE_S = 1.0  # after the first task, before the idle runtime is weighed
READY_S = 2.0  # between two first puts: so long a store may take to have memory ready
UNUSED_S = 10.0  # after the last use, before the runtime is weighed again

Measured = Iterator[tuple[str, float]]


class WrongAnswer(Exception):
    """A contender answered something else than it was asked, or from the wrong process."""


def expect(truth: bool, said: object) -> None:
    if not truth:
        raise WrongAnswer(f"The answer was {said!r}.")


def typical_s(once: Callable[[], float | None], *, most: int, budget_s: float = 2.0, least: int = 3) -> float:
    """The median of repeated measurements, as many as fit into the budget.

    `once` returns the seconds that count, or None when all of its time does.
    """
    once()
    figures: list[float] = []
    end = time.perf_counter() + budget_s
    while len(figures) < most and (len(figures) < least or time.perf_counter() < end):
        began = time.perf_counter()
        own = once()
        figures.append(time.perf_counter() - began if own is None else own)
    return median(figures)


def echoed(contender: Any, argument: Any) -> None:
    pid, back = contender.results([contender.submit(tasks.echo, argument)])[0]
    expect(pid != os.getpid() and back == argument, (pid, back))


def idle_memory(contender: Any) -> Measured:
    time.sleep(SETTLE_S)
    yield "idle_memory", census.pss_bytes(census.members())


def used_memory(contender: Any) -> Measured:
    """After what came before, with what workers have loaded meanwhile. nbaccel's store is no process's memory."""
    time.sleep(UNUSED_S)
    store = contender.store_bytes() if hasattr(contender, "store_bytes") else 0
    yield "used_memory", census.pss_bytes(census.members()) + store


def task(contender: Any) -> Measured:
    yield "task", typical_s(lambda: echoed(contender, 7), most=400)


def echo(contender: Any) -> Measured:
    payload = os.urandom(1000)
    yield "echo", typical_s(lambda: echoed(contender, payload), most=400)


def many_tasks(contender: Any) -> Measured:
    _echo_all(contender, 500)
    everyone = census.members() | {os.getpid()}
    cpu_before, began = census.cpu_s(everyone), time.perf_counter()
    _echo_all(contender, IN_FLIGHT)
    elapsed = time.perf_counter() - began
    yield "tasks", IN_FLIGHT / elapsed
    yield "task_cpu", (census.cpu_s(everyone) - cpu_before) / IN_FLIGHT


def _echo_all(contender: Any, count: int) -> None:
    answers = contender.results(contender.submit_many(tasks.echo, range(count)))
    expect([back for _pid, back in answers] == list(range(count)), answers[:3])
    expect(os.getpid() not in {pid for pid, _back in answers}, "the driver's own pid")


def calls(contender: Any) -> Measured:
    if not isinstance(contender, Actors):
        return
    actor = contender.create_actor(tasks.Echo)
    home = contender.results([contender.call(actor, 0)])[0][0]

    def once() -> None:
        answer = contender.results([contender.call(actor, 7)])[0]
        expect(answer == (home, 7), answer)

    yield "call", typical_s(once, most=400)
    began = time.perf_counter()
    answers = contender.results([contender.call(actor, number) for number in range(CALLS_IN_FLIGHT)])
    elapsed = time.perf_counter() - began
    expect(answers == [(home, number) for number in range(CALLS_IN_FLIGHT)], answers[:3])
    yield "calls", CALLS_IN_FLIGHT / elapsed
    contender.end_actor(actor)


def pipe(contender: Any) -> Measured:
    """In the same process and at the same time as the calls that are compared with it."""
    yield "pipe", floor.pipe_round_trip()


def async_calls(contender: Any) -> Measured:
    if not isinstance(contender, Streams):
        return
    actor = contender.create_actor(tasks.AsyncEcho)
    for count in (200, CALLS_IN_FLIGHT):
        began = time.perf_counter()
        answers = contender.results([contender.call(actor, number) for number in range(count)])
        elapsed = time.perf_counter() - began
        expect([back for _pid, back in answers] == list(range(count)), answers[:3])
        expect(len({pid for pid, _back in answers}) == 1, "several processes")
    yield "async_calls", CALLS_IN_FLIGHT / elapsed
    contender.end_actor(actor)


def items(contender: Any) -> Measured:
    """One stream, whose items are read as they come."""
    if not isinstance(contender, Streams):
        return
    for count in (200, ITEMS):
        began = time.perf_counter()
        total = sum(back for _pid, back in contender.stream(tasks.stream, count))
        elapsed = time.perf_counter() - began
        expect(total == count * (count - 1) // 2, total)
    yield "items", ITEMS / elapsed


def starting_actors(contender: Any) -> Measured:
    if not isinstance(contender, Actors):
        return

    def once() -> float:
        began = time.perf_counter()
        actor = contender.create_actor(tasks.Echo)
        pid, back = contender.results([contender.call(actor, 7)])[0]
        elapsed = time.perf_counter() - began
        expect(pid != os.getpid() and back == 7, (pid, back))
        contender.end_actor(actor)
        return elapsed

    yield "actor", typical_s(once, most=30)


def device_tasks(contender: Any) -> Measured:
    if isinstance(contender, Devices):
        yield "device_task", _on_device(contender, tasks.on_device, "0", budget_s=3)


def torch_tasks(contender: Any) -> Measured:
    if isinstance(contender, Devices):
        yield "torch_task", _on_device(contender, tasks.multiply, 64.0 * 64 * 49, budget_s=3)


def _on_device(contender: Any, function: Callable[..., Any], outcome: object, budget_s: float) -> float:
    seen: set[int] = set()

    def once() -> None:
        pid, back, used, outcome_here = contender.results([contender.submit_on_device(function, 7)])[0]
        expect(back == 7 and outcome_here == outcome, (back, outcome_here))
        expect(not used and pid not in seen and pid != os.getpid(), f"the process {pid} is not a fresh one")
        seen.add(pid)

    return typical_s(once, most=40, budget_s=budget_s)


def large_objects(contender: Any) -> Measured:
    """100 MB: into the store, out of it, and to a task. Each time the last one has been let go."""
    if not isinstance(contender, Objects):
        return
    import numpy

    array = numpy.arange(LARGE_BYTES // 8, dtype="float64")
    ends = (array.nbytes, array[0], array[-1])
    get_s: list[float] = []

    def put() -> float:
        began = time.perf_counter()
        ref = contender.put(array)
        there = time.perf_counter()
        back = contender.results([ref])[0]
        get_s.append(time.perf_counter() - there)
        expect((back.nbytes, back[0], back[-1]) == ends, back[:3])
        return there - began

    yield from _first_puts(contender, array, put)
    yield "put_large", typical_s(put, most=10)
    yield "get_large", median(get_s)
    kept = [contender.put(array)]

    def take() -> None:
        pid, seen = contender.results([contender.submit(tasks.look_at, kept[0])])[0]
        expect(pid != os.getpid() and seen == ends, (pid, seen))

    yield "take_large", typical_s(take, most=30)
    kept.clear()


def large_results(contender: Any) -> Measured:
    """100 MB from a task, whose process keeps them as well."""
    if not isinstance(contender, Objects):
        return
    last = float(LARGE_BYTES // 8 - 1)

    def hand_over() -> float:
        began = time.perf_counter()
        back = contender.results([contender.submit(tasks.hand_over, LARGE_BYTES)])[0]
        elapsed = time.perf_counter() - began
        expect(back.nbytes == LARGE_BYTES and back[0] != os.getpid() and back[-1] == last, back[:3])
        return elapsed

    hand_over(), hand_over()  # both workers have made theirs, as a rule
    yield "return_large", typical_s(hand_over, most=10)


def _first_puts(contender: Any, array: Any, put: Callable[[], float]) -> Measured:
    """Into memory that nobody has used yet, beside what that costs without a store."""
    target = bytearray(array.nbytes)
    view, source = memoryview(target), memoryview(array).cast("B")

    def copy() -> None:
        view[:] = source

    yield "copy", typical_s(copy, most=10)
    yield "write_fresh", typical_s(lambda: _write_fresh(source), most=5)
    yield "put_first", put()
    held, ready_s = [contender.put(array)], []
    for _ in range(3):
        time.sleep(READY_S)
        began = time.perf_counter()
        held.append(contender.put(array))
        ready_s.append(time.perf_counter() - began)
    yield "put_ready", median(ready_s)


def _write_fresh(source: memoryview) -> float:
    fd = os.memfd_create("fresh")
    try:
        began = time.perf_counter()
        done = os.pwrite(fd, source, 0)
        elapsed = time.perf_counter() - began
    finally:
        os.close(fd)
    expect(done == source.nbytes, done)
    return elapsed


def values(name: str) -> Callable[[Any], Measured]:
    """One kind of what people hold: into the store, out of it, and from a task."""

    def measured(contender: Any) -> Measured:
        if not isinstance(contender, Objects):
            return
        kind = held.KINDS[name]
        value = kind.make(65)
        ends = kind.ends(value)
        get_s: list[float] = []

        def put() -> float:
            began = time.perf_counter()
            ref = contender.put(value)
            there = time.perf_counter()
            back = contender.results([ref])[0]
            get_s.append(time.perf_counter() - there)
            expect(kind.ends(back) == ends, kind.ends(back))
            return there - began

        put()  # into memory that nobody has used yet, and the next one maps it
        yield f"put_{name}", typical_s(put, most=7)
        yield f"get_{name}", median(get_s)

        def hand_over() -> float:
            began = time.perf_counter()
            back = contender.results([contender.submit(tasks.hand_over_kind, name, 66)])[0]
            elapsed = time.perf_counter() - began
            expect(kind.ends(back) == (66, ends[1]), kind.ends(back))
            return elapsed

        hand_over(), hand_over()  # both workers have made theirs, as a rule
        yield f"return_{name}", typical_s(hand_over, most=7)

    return measured


def small_puts(contender: Any) -> Measured:
    if not isinstance(contender, Objects):
        return
    _put_all(contender, 200)
    began = time.perf_counter()
    _put_all(contender, SMALL_PUTS)
    yield "puts", SMALL_PUTS / (time.perf_counter() - began)


def _put_all(contender: Any, count: int) -> None:
    """Until a task has taken the last of them: then all have arrived."""
    refs = [contender.put(b"%100d" % number) for number in range(count)]
    pid, back = contender.results([contender.submit(tasks.echo, refs[-1])])[0]
    expect(pid != os.getpid() and back == b"%100d" % (count - 1), back)


def line(contender: Any) -> Measured:
    """Tasks behind one CPU: what the head weighs when all wait, and what each costs it when they run."""
    if not hasattr(contender, "head_pid"):
        return
    head = {contender.head_pid()}
    _line(contender, head, LINE_SHORT)
    before = [_line(contender, head, LINE_SHORT)[1] for _ in range(SHORT_LINES)]
    pss, long = _line(contender, head, LINE_LONG)
    after = [_line(contender, head, LINE_SHORT)[1] for _ in range(SHORT_LINES)]
    short = median(before + after)  # both: the machine, and a heap that has grown, count for either length
    yield "line_memory", pss
    yield "line_short", short
    yield "line_long", long
    yield "line_ratio", long / short


def _line(contender: Any, head: set[int], count: int) -> tuple[float, float]:
    """(the head's memory with so many waiting, its CPU seconds for each while all of them run)."""
    with tempfile.TemporaryDirectory() as directory:
        gate = Path(directory, "open")
        first = contender.submit(tasks.wait_for, str(gate))
        handles = contender.submit_many(tasks.echo, range(count))
        contender.cluster_knows()
        pss = census.pss_bytes(head)
        before = census.cpu_s(head)
        gate.touch()
        answers = contender.results([first, *handles])[1:]
        spent = census.cpu_s(head) - before
    expect([back for _pid, back in answers] == list(range(count)), answers[:3])
    return pss, spent / count


# In this order: what needs a runtime that has not worked yet comes first, what leaves large memory behind last.
MEASURES: dict[str, list[tuple[tuple[str, ...], Callable[[Any], Measured]]]] = {
    "main": [
        (("idle_memory",), idle_memory),
        (("task",), task),
        (("echo",), echo),
        (("tasks", "task_cpu"), many_tasks),
        (("pipe",), pipe),
        (("call", "calls"), calls),
        (("async_calls",), async_calls),
        (("items",), items),
        (("actor",), starting_actors),
        (("device_task",), device_tasks),
        (("puts",), small_puts),
        (("copy", "write_fresh", "put_first", "put_ready", "put_large", "get_large", "take_large"), large_objects),
        (("used_memory",), used_memory),
        (("return_large",), large_results),
    ],
    "torch": [(("torch_task",), torch_tasks)],
    "values": [((f"put_{name}", f"get_{name}", f"return_{name}"), values(name)) for name in held.KINDS],
    "line": [(("line_memory", "line_short", "line_long", "line_ratio"), line)],
}
