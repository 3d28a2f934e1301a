"""What nbaccel costs on top of Ray: the same program written for Ray and for nbaccel, on one Ray, in turn.

    python benchmarks/ray_engine.py [--tasks 2000] [--pairs 7] [--reported-pairs 41]

Seven pairs, the median of their ratios: of wall time, and of the CPU seconds of the driver and of all of Ray's
processes, which a busy machine moves less. The wall time of lone calls is compared call by call, ours and Ray's in
turn, since a block of them is moved by whatever else the machine does meanwhile.
Every task returns its pid and its argument, and both are checked.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

GOALS = {"tasks": 1.10, "task round trip": 1.10, "actor calls": 1.25, "actor round trip": 1.25, "reported": 1.01}
START_GOAL_S = 0.3

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

Measured = tuple[float, float]  # wall seconds, CPU seconds of the driver and its descendants


def work(value: int) -> tuple[int, int]:
    return os.getpid(), value


class Worker:
    def work(self, value: int) -> tuple[int, int]:
        return os.getpid(), value


def measured(run: Callable[[], Any]) -> Measured:
    wall, cpu = time.perf_counter(), cpu_seconds()
    run()
    return time.perf_counter() - wall, cpu_seconds() - cpu


def cpu_seconds() -> float:
    """Of this process and of Ray's, which are its descendants."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def all_at_once(get: Callable[[Any], Any], call: Callable[[int], Any], count: int) -> None:
    results = get([call(i) for i in range(count)])
    assert [value for _pid, value in results] == list(range(count))
    assert os.getpid() not in {pid for pid, _value in results}


def one_by_one(get: Callable[[Any], Any], call: Callable[[int], Any], count: int) -> None:
    for i in range(count):
        pid, value = get(call(i))
        assert value == i and pid != os.getpid()


def in_turn(ours: Callable[[int], Any], rays: Callable[[int], Any], count: int) -> float:
    """The ratio of the medians of lone calls."""
    took: dict[Any, list[float]] = {ours: [], rays: []}
    for number in range(count):
        for call in (ours, rays) if number % 2 else (rays, ours):
            begun = time.perf_counter()
            pid, value = call(number)
            took[call].append(time.perf_counter() - begun)
            assert value == number and pid != os.getpid()
    return statistics.median(took[ours]) / statistics.median(took[rays])


def compare(
    name: str, ours: Callable[[], None], rays: Callable[[], None], pairs: int, lone: Callable[[], float] | None = None
) -> None:
    """Print the medians of both and of their ratio; each pair in the other order than the one before.

    `lone`: gives the ratio of the wall time where that is compared call by call.
    """
    ours(), rays()
    wall, cpu, took = [], [], []
    for pair in range(pairs):
        first, second = (ours, rays) if pair % 2 else (rays, ours)
        results = {first: measured(first), second: measured(second)}
        wall.append(results[ours][0] / results[rays][0])
        cpu.append(results[ours][1] / results[rays][1])
        took.append((results[ours][0], results[rays][0]))
    mine, theirs = (statistics.median(times) for times in zip(*took, strict=True))
    ratio, ratio_cpu, goal = lone() if lone else statistics.median(wall), statistics.median(cpu), GOALS[name]
    words = ", ".join(
        f"{what} {'met' if found <= goal else 'not met'}" for what, found in (("wall", ratio), ("CPU", ratio_cpu))
    )
    print(
        f"{name:16} nbaccel {mine:7.3f} s  ray {theirs:7.3f} s  ratio {ratio:5.2f}  CPU {ratio_cpu:5.2f}  "
        f"goal {goal:.2f}: {words}"
    )


def start_both(ray: Any, nbaccel: Any) -> None:
    """Print what nbaccel's init takes beside the ray.init inside of it."""
    original, inside = ray.init, []

    def timed(*args: Any, **kwargs: Any) -> Any:
        begun = time.perf_counter()
        try:
            return original(*args, **kwargs)
        finally:
            inside.append(time.perf_counter() - begun)

    ray.init = timed
    total, _cpu = measured(lambda: nbaccel.init(engine="ray", num_cpus=2, log_to_driver=False))
    ray.init = original
    extra = total - sum(inside)
    met = "met" if extra <= START_GOAL_S else "not met"
    print(f"{'init':16} nbaccel adds {extra:.3f} s to ray.init's {sum(inside):.1f} s  goal {START_GOAL_S:.2f}  {met}")


def compare_calls(tasks: int, pairs: int, reported_pairs: int) -> None:
    import ray

    import nbaccel

    start_both(ray, nbaccel)
    try:
        mine, theirs = nbaccel.remote(work), ray.remote(work)
        my_actor, their_actor = nbaccel.remote(Worker).remote(), ray.remote(Worker).remote()
        calls = {
            "tasks": (mine.remote, theirs.remote, all_at_once, tasks),
            "task round trip": (mine.remote, theirs.remote, one_by_one, tasks // 10),
            "actor calls": (
                lambda i: my_actor.work.remote(i),
                lambda i: their_actor.work.remote(i),
                all_at_once,
                tasks,
            ),
            "actor round trip": (
                lambda i: my_actor.work.remote(i),
                lambda i: their_actor.work.remote(i),
                one_by_one,
                tasks // 10,
            ),
        }
        for name, (ours, rays, how, count) in calls.items():
            compare(
                name,
                lambda ours=ours, how=how, count=count: how(nbaccel.get, ours, count),
                lambda rays=rays, how=how, count=count: how(ray.get, rays, count),
                pairs,
                lone=None
                if how is all_at_once
                else lambda ours=ours, rays=rays: in_turn(
                    lambda i: nbaccel.get(ours(i)), lambda i: ray.get(rays(i)), 2 * tasks
                ),
            )
        compare_reported(nbaccel, mine, tasks, reported_pairs)
    finally:
        nbaccel.shutdown()


def compare_reported(nbaccel: Any, work: Any, tasks: int, pairs: int) -> None:
    """Tasks whose processes report to a watcher beside the same tasks while nobody watches."""
    from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_put

    from nbaccel import engine as engines

    nbaccel.snapshot()  # the collector starts
    engine: Any = engines.current()
    key, space = engine._watched_key(), {"namespace": engine.namespace_of_reports}

    is_watched: bool | None = None

    def prepare(watched: bool) -> None:
        nonlocal is_watched
        if watched == is_watched:
            return
        is_watched = watched
        if watched:
            _internal_kv_put(key, b"1", **space)
        else:
            _internal_kv_del(key, **space)
        settled = time.monotonic() + 2 * engine.reporting.LOOK_EVERY_S
        while time.monotonic() < settled:  # processes with work look for the key so often
            all_at_once(nbaccel.get, work.remote, 20)

    wall, cpu = [], []
    for pair in range(pairs):
        results = {}
        for watched in (pair % 2 == 0, pair % 2 == 1):
            prepare(watched)
            results[watched] = measured(lambda: all_at_once(nbaccel.get, work.remote, tasks))
        wall.append(results[True][0] / results[False][0])
        cpu.append(results[True][1] / results[False][1])
    print(
        f"{'tasks, reported':16} to unreported: wall {with_error(wall)}  CPU {with_error(cpu)}  "
        f"goal {GOALS['reported']:.2f}: {'met' if statistics.median(wall) <= GOALS['reported'] else 'not met'}"
    )


def with_error(ratios: list[float]) -> str:
    """The median, and twice the standard error of a median (1.25 times a mean's)."""
    error = 2 * 1.25 * statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("inf")
    return f"{statistics.median(ratios):5.3f} ± {error:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--reported-pairs", type=int, default=None, help="of the last row, which needs more")
    options = parser.parse_args()
    compare_calls(options.tasks, options.pairs, options.reported_pairs or options.pairs)


if __name__ == "__main__":
    main()
