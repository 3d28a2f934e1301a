"""What nbaccel costs on top of Ray: the same program written for Ray and for nbaccel, on one Ray, in turn.

    python benchmarks/ray_engine.py [--tasks 2000] [--pairs 7]

Seven pairs, the median of their ratios: of wall time, and of the CPU seconds of the driver and of all of Ray's
processes, which a busy machine moves less. The wall time of lone calls is compared call by call, ours and Ray's in
turn, since a block of them is moved by whatever else the machine does meanwhile.
Every task returns its pid and its argument, and both are checked.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

GOALS = {"tasks": 1.10, "task round trip": 1.10, "actor calls": 1.25, "actor round trip": 1.25}
MOST_FOR_REPORTS = 0.01  # of all CPU time
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


def compare_calls(tasks: int, pairs: int) -> None:
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
        share_of_reports(nbaccel, 10 * tasks)
    finally:
        nbaccel.shutdown()


def share_of_reports(nbaccel: Any, tasks: int) -> None:
    """The part of all CPU time that reports take while somebody watches.

    All cores are busy while the tasks run, so that this is the part of the throughput too. It is counted, since the
    wall times of equal blocks differ by several hundredths: all of the collector's process, the reporting threads of
    the tasks' processes, and for each report what a call of an actor costs Ray in all of its processes.
    """
    import ray

    from nbaccel import engine as engines

    nbaccel.snapshot()  # the collector starts
    engine: Any = engines.current()
    collector = engine.small_actors.collector()
    by_hand = nbaccel.remote(count_and_reporter)
    settled = time.monotonic() + 2 * importlib.import_module("nbaccel_in_ray.reporting").LOOK_EVERY_S
    while time.monotonic() < settled:  # processes with work look so often whether somebody watches
        all_at_once(nbaccel.get, nbaccel.remote(work).remote, 20)

    idle = ray.remote(num_cpus=0)(Worker).remote()
    one_by_one(ray.get, lambda i: idle.work.remote(i), 100)
    _wall, calls = measured(lambda: one_by_one(ray.get, lambda i: idle.work.remote(i), 1000))

    def state() -> tuple[int, float, dict[tuple[int, int], float]]:
        reports, pid = ray.get(collector.__ray_call__.remote(lambda self: (self._seq, os.getpid())))
        threads = {(pid, thread) for pid, thread in nbaccel.get([by_hand.remote() for _ in range(100)])}
        return reports, process_seconds(pid), {each: thread_seconds(*each) for each in threads}

    before = state()
    wall, cpu = measured(lambda: all_at_once(nbaccel.get, nbaccel.remote(work).remote, tasks))
    after = state()
    reports = after[0] - before[0]
    in_collector = after[1] - before[1]
    in_threads = sum(seconds - before[2].get(each, 0.0) for each, seconds in after[2].items())
    on_the_way = reports * calls / 1000
    share = (in_collector + in_threads + on_the_way) / cpu
    met = "met" if share <= MOST_FOR_REPORTS else "not met"
    print(
        f"{'reports':16} {share:.2%} of the CPU time of {tasks} tasks in {wall:.1f} s: collector {in_collector:.3f} s, "
        f"threads {in_threads:.3f} s, {reports} reports {on_the_way:.3f} s, of {cpu:.1f} s  goal 1 %: {met}"
    )


def count_and_reporter() -> tuple[int, int]:
    """Of a worker: its pid, and its reporting thread."""
    from nbaccel_in_ray.reporting import reporter

    return os.getpid(), reporter._thread.native_id


def process_seconds(pid: int) -> float:
    return sum(thread_seconds(pid, int(thread)) for thread in os.listdir(f"/proc/{pid}/task"))


def thread_seconds(pid: int, thread: int) -> float:
    """CPU time, from the scheduler's own count in nanoseconds."""
    return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    compare_calls(options.tasks, options.pairs)


if __name__ == "__main__":
    main()
