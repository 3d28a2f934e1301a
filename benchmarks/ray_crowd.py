"""Many real Ray actors, made by nbaccel and by hand in one cluster: what making them costs, and calls to all of them.

    python benchmarks/ray_engine.py --crowds 100,200 --pairs 2 [--beside]

Each actor is a process of Ray's. Those of both may not fit beside each other, so each pair makes nbaccel's, calls and
ends them, and then Ray's, or the other way round. A machine whose speed changes within minutes makes such pairs differ
by more than what is sought: with `--beside` both crowds live at once, and a pair is a round of calls of each.
Nothing is made where less memory than `SPARE_BYTES` would be left.
An idle Ray actor takes about 0.7 % of a core, so a few hundred keep two cores busy by themselves.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import psutil

from benchmarks.census import cpu_s, pss_bytes

WARM_UP = 4  # actors of each before the first pair, so that files are in the system's cache and classes exported
BATCH = 25  # actors that are made at once
EACH_BYTES, THIN_BYTES = 70 << 20, 25 << 20  # of memory that an actor may take
SPARE_BYTES = 2 << 30
CALLS_OF_EACH = 20
ROUNDS = 4  # of calls to all of them; the first warms up


@dataclass(frozen=True, slots=True)
class Crowd:
    """What one crowd has cost: of its making, its calls (each round's mean of one call), its processes."""

    call_wall_s: float
    call_cpu_s: float
    driver_call_cpu_s: float
    made_wall_s: float = 0.0
    made_cpu_s: float = 0.0
    each_bytes: float = 0.0


def compare_crowds(
    ways: dict[str, tuple[Any, Any]], count: int, pairs: int, each_bytes: int, ended_cpu_s: Callable[[], float]
) -> None:
    """Print medians of both and of the ratios of pairs.

    `ways`: nbaccel and ray, each with (API, actor class). `each_bytes`: what an actor may take. `ended_cpu_s`: CPU time
    of processes that have ended and that count.
    """
    makers = {name: partial(_crowd, *way, each_bytes, ended_cpu_s) for name, way in ways.items()}
    for make in makers.values():
        make(WARM_UP)
    found: dict[str, list[Crowd]] = {name: [] for name in ways}
    for pair in range(pairs):
        for name in sorted(ways, reverse=bool(pair % 2)):
            found[name].append(makers[name](count))
    _print_rows(count, found)


def compare_rounds(ways: dict[str, tuple[Any, Any]], count: int, pairs: int, each_bytes: int) -> None:
    """The same of calls alone: of both crowds, which live beside each other, in turn."""
    crowds = {name: _actors(*way, each_bytes, count)[0] for name, way in ways.items()}
    found: dict[str, list[Crowd]] = {name: [] for name in ways}
    for pair in range(pairs + 1):
        for name in sorted(ways, reverse=bool(pair % 2)):
            took = _round(ways[name][0], crowds[name])
            if pair:  # the first warms up
                found[name].append(Crowd(*took))
    _print_rows(count, found)


def _print_rows(count: int, found: dict[str, list[Crowd]]) -> None:
    rows: dict[str, tuple[Callable[[Crowd], float], float, str]] = {
        "made, wall": (lambda crowd: crowd.made_wall_s, 1, "s"),
        "made, CPU": (lambda crowd: crowd.made_cpu_s, 1, "s"),
        "a call, wall": (lambda crowd: crowd.call_wall_s, 1e6, "us"),
        "a call, CPU": (lambda crowd: crowd.call_cpu_s, 1e6, "us"),
        "a call, driver": (lambda crowd: crowd.driver_call_cpu_s, 1e6, "us"),
        "memory of each": (lambda crowd: crowd.each_bytes, 1e-6, "MB"),
    }
    for row, (fact, scale, unit) in rows.items():
        mine, theirs = ([fact(crowd) for crowd in found[name]] for name in ("nbaccel", "ray"))
        if not any(theirs):
            continue  # it was not measured
        ratios = [ours / rays for ours, rays in zip(mine, theirs, strict=True)]
        print(
            f"{count:5} actors  {row:15} nbaccel {statistics.median(mine) * scale:8.1f} {unit:2}  ray "
            f"{statistics.median(theirs) * scale:8.1f} {unit:2}  ratio {statistics.median(ratios):.3f} "
            f"({min(ratios):.3f} to {max(ratios):.3f})",
            flush=True,
        )


def _crowd(api: Any, kind: Any, actor_bytes: int, ended_cpu_s: Callable[[], float], count: int) -> Crowd:
    wall, cpu = time.perf_counter(), _all_cpu_s() + ended_cpu_s()
    actors, pids = _actors(api, kind, actor_bytes, count)
    made = time.perf_counter() - wall, _all_cpu_s() + ended_cpu_s() - cpu
    each_bytes = pss_bytes(pids) / count
    calls = [_round(api, actors) for _ in range(ROUNDS)][1:]
    _end(api, actors, pids)
    call_wall_s, call_cpu_s, driver_call_cpu_s = (statistics.median(each) for each in zip(*calls, strict=True))
    return Crowd(call_wall_s, call_cpu_s, driver_call_cpu_s, *made, each_bytes)


def _actors(api: Any, kind: Any, actor_bytes: int, count: int) -> tuple[list[Any], set[int]]:
    """So many, which have all answered, and their processes."""
    actors: list[Any] = []
    pids: set[int] = set()
    while len(actors) < count:
        _check_memory(min(BATCH, count - len(actors)) * actor_bytes, of=count)
        batch = [kind.remote() for _ in range(min(BATCH, count - len(actors)))]
        pids |= {pid for pid, _value in api.get([actor.work.remote(0) for actor in batch])}
        actors += batch
    assert len(pids) == count
    return actors, pids


def _check_memory(wanted: int, *, of: int) -> None:
    left = psutil.virtual_memory().available + psutil.swap_memory().free  # what only an idle process holds goes there
    if left < SPARE_BYTES + wanted:
        raise SystemExit(
            f"{of} actors do not fit: {left >> 20} MiB of memory are left, and {SPARE_BYTES >> 20} must be."
        )


def _round(api: Any, actors: list[Any]) -> tuple[float, float, float]:
    """Calls of each, all in flight: (wall, CPU of all processes, CPU of this one), seconds of one call."""
    everyone, me = _processes(), {os.getpid()}  # found before: it takes this process a while among a thousand
    cpu, mine, wall = cpu_s(everyone), cpu_s(me), time.perf_counter()
    refs = [actor.work.remote(number) for number in range(CALLS_OF_EACH) for actor in actors]
    values = [value for _pid, value in api.get(refs)]
    count = len(values)
    wall, mine = time.perf_counter() - wall, cpu_s(me) - mine
    cpu = cpu_s(everyone) - cpu
    assert values == [number for number in range(CALLS_OF_EACH) for _actor in actors]
    return wall / count, cpu / count, mine / count


def _all_cpu_s() -> float:
    return cpu_s(_processes())


def _processes() -> set[int]:
    """This process and Ray's, which are its descendants."""
    return {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}


def _end(api: Any, actors: list[Any], pids: set[int]) -> None:
    """Their processes have ended, so that the next crowd neither finds nor waits for them."""
    for actor in actors:
        api.kill(actor)
    while any(psutil.pid_exists(pid) for pid in pids):
        time.sleep(0.1)
