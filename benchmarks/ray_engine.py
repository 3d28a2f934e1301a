"""What nbaccel costs on top of Ray: the same program written for Ray and for nbaccel, on one Ray, in turn.

    python benchmarks/ray_engine.py [--tasks 2000] [--pairs 7] [--only "stream items,async actor calls"]
    python benchmarks/ray_engine.py --crowds 100,200 [--pairs 3] [--thin]

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
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

GOALS = {
    "tasks": 1.10,
    "task round trip": 1.10,
    "actor calls": 1.10,
    "actor round trip": 1.10,
    "async actor calls": 1.10,
    "stream items": 1.10,
    "placement groups": 1.10,
    "actors made": 1.10,
    "calls of many actors": 1.10,
}
BUNDLES = 8  # of each placement group
CALLS_OF_EACH = 100  # of many actors
REPORTS = "reports"
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


class AsyncWorker:
    async def work(self, value: int) -> tuple[int, int]:
        return os.getpid(), value


def items(count: int) -> Iterator[tuple[int, int]]:
    for value in range(count):
        yield os.getpid(), value


def measured(run: Callable[[], Any]) -> Measured:
    """Of one run; what it returns is called afterwards, to end what it has made."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    end = run()
    took = time.perf_counter() - wall, cpu_seconds() - cpu
    if callable(end):
        end()
    return took


def cpu_seconds() -> float:
    """Of this process and of Ray's, which are its descendants. Those that have ended are counted no more."""
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


def streamed(api: Any, generator: Any, count: int) -> None:
    """One stream, each item read as soon as it is there."""
    for number, ref in enumerate(generator.remote(count)):
        pid, value = api.get(ref)
        assert value == number and pid != os.getpid()
    assert number == count - 1


def grouped(api: Any, count: int) -> None:
    """Groups one after the other: each is created, waited for and removed."""
    module = importlib.import_module(f"{api.__name__}.util")
    for _ in range(count):
        group = module.placement_group([{"CPU": 0.01}] * BUNDLES)
        assert api.get(group.ready(), timeout=60).id == group.id
        module.remove_placement_group(group)


def made(api: Any, kind: Any, count: int) -> list[Any]:
    """Actors in processes of their own, each of which has answered."""
    actors = [kind.remote() for _ in range(count)]
    answers = api.get([actor.work.remote(number) for number, actor in enumerate(actors)])
    assert [value for _pid, value in answers] == list(range(count))
    assert len({pid for pid, _value in answers} - {os.getpid()}) == count
    return actors


def made_to_be_ended(api: Any, kind: Any, count: int) -> Callable[[], None]:
    actors = made(api, kind, count)
    return lambda: ended(api, actors)


def ended(api: Any, actors: list[Any]) -> None:
    """Their processes have ended, so that the next run neither finds nor waits for them."""
    pids = [pid for pid, _value in api.get([actor.work.remote(0) for actor in actors])]
    for actor in actors:
        api.kill(actor)
    while any(psutil.pid_exists(pid) for pid in pids):
        time.sleep(0.05)


def all_called(api: Any, actors: list[Any]) -> None:
    """Many calls of each of them, all in flight."""
    refs = [actor.work.remote(number) for number in range(CALLS_OF_EACH) for actor in actors]
    values = [value for _pid, value in api.get(refs)]
    assert values == [number for number in range(CALLS_OF_EACH) for _actor in actors]


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
    name: str, ours: Callable[[], Any], rays: Callable[[], Any], pairs: int, lone: Callable[[], float] | None = None
) -> None:
    """Print the medians of both and of their ratio; each pair in the other order than the one before.

    `lone`: gives the ratio of the wall time where that is compared call by call.
    """
    measured(ours), measured(rays)
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
        f"{name:20} nbaccel {mine:7.3f} s  ray {theirs:7.3f} s  ratio {ratio:5.2f}  CPU {ratio_cpu:5.2f}  "
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
    print(f"{'init':20} nbaccel adds {extra:.3f} s to ray.init's {sum(inside):.1f} s  goal {START_GOAL_S:.2f}  {met}")


def compare_calls(asked: argparse.Namespace) -> None:
    import ray

    import nbaccel

    start_both(ray, nbaccel)
    try:
        if asked.crowds:
            compare_crowds_of(ray, nbaccel, asked)
            return
        kinds = {**calls(ray, nbaccel, asked), **streams(ray, nbaccel, asked), **groups(ray, nbaccel, asked)}
        for name in asked.only:
            if name in kinds:
                ours, rays, lone = kinds[name]
                compare(name, ours, rays, asked.pairs, lone)
        compare_many_actors(ray, nbaccel, asked)
        if REPORTS in asked.only:
            share_of_reports(nbaccel, 10 * asked.tasks)
            reports_unwatched(nbaccel, asked.tasks)
    finally:
        nbaccel.shutdown()


Kind = tuple[Callable[[], None], Callable[[], None], Callable[[], float] | None]


def calls(ray: Any, nbaccel: Any, asked: argparse.Namespace) -> dict[str, Kind]:
    """Tasks and calls, many at once and one by one."""
    mine, theirs = nbaccel.remote(work).remote, ray.remote(work).remote
    my_actor, their_actor = nbaccel.remote(Worker).remote(), ray.remote(Worker).remote()
    my_async, their_async = nbaccel.remote(AsyncWorker).remote(), ray.remote(AsyncWorker).remote()
    ways = {
        "task": (mine, theirs),
        "actor": (lambda i: my_actor.work.remote(i), lambda i: their_actor.work.remote(i)),
        "async actor": (lambda i: my_async.work.remote(i), lambda i: their_async.work.remote(i)),
    }
    kinds: dict[str, Kind] = {}
    for name, (ours, rays) in ways.items():
        kinds["tasks" if name == "task" else f"{name} calls"] = (
            lambda ours=ours: all_at_once(nbaccel.get, ours, asked.tasks),
            lambda rays=rays: all_at_once(ray.get, rays, asked.tasks),
            None,
        )
        kinds[f"{name} round trip"] = (
            lambda ours=ours: one_by_one(nbaccel.get, ours, asked.tasks // 10),
            lambda rays=rays: one_by_one(ray.get, rays, asked.tasks // 10),
            lambda ours=ours, rays=rays: in_turn(
                lambda i: nbaccel.get(ours(i)), lambda i: ray.get(rays(i)), 2 * asked.tasks
            ),
        )
    return kinds


def streams(ray: Any, nbaccel: Any, asked: argparse.Namespace) -> dict[str, Kind]:
    mine, theirs = (api.remote(num_returns="streaming")(items) for api in (nbaccel, ray))
    return {
        "stream items": (
            lambda: streamed(nbaccel, mine, asked.tasks),
            lambda: streamed(ray, theirs, asked.tasks),
            None,
        )
    }


def groups(ray: Any, nbaccel: Any, asked: argparse.Namespace) -> dict[str, Kind]:
    count = asked.tasks // 20
    return {"placement groups": (lambda: grouped(nbaccel, count), lambda: grouped(ray, count), None)}


def compare_many_actors(ray: Any, nbaccel: Any, asked: argparse.Namespace) -> None:
    """Each is a process of Ray's, of some 70 MB and half a second of CPU: most of it is Ray's, whoever asks for it."""
    mine, theirs = (api.remote(num_cpus=0)(Worker) for api in (nbaccel, ray))
    if "actors made" in asked.only:
        compare(
            "actors made",
            lambda: made_to_be_ended(nbaccel, mine, asked.actors),
            lambda: made_to_be_ended(ray, theirs, asked.actors),
            asked.pairs,
        )
    if "calls of many actors" in asked.only:
        my_actors, their_actors = made(nbaccel, mine, asked.actors), made(ray, theirs, asked.actors)
        compare(
            "calls of many actors",
            lambda: all_called(nbaccel, my_actors),
            lambda: all_called(ray, their_actors),
            asked.pairs,
        )


def compare_crowds_of(ray: Any, nbaccel: Any, asked: argparse.Namespace) -> None:
    crowds = importlib.import_module("benchmarks.ray_crowd")
    thin = None
    if asked.thin:
        environment = ray.get(ray.remote(lambda: dict(os.environ)).remote())
        thin = importlib.import_module("benchmarks.thin").ThinWorkers(environment)
    options = {"num_cpus": 0, **({"runtime_env": thin.runtime_env} if thin else {})}
    try:
        ways = {api.__name__: (api, api.remote(**options)(Worker)) for api in (nbaccel, ray)}
        each_bytes = crowds.THIN_BYTES if thin else crowds.EACH_BYTES
        for count in asked.crowds:
            if asked.beside:
                crowds.compare_rounds(ways, count, asked.pairs, each_bytes)
            else:
                ended_cpu_s = thin.starting_cpu_s if thin else lambda: 0.0
                crowds.compare_crowds(ways, count, asked.pairs, each_bytes, ended_cpu_s)
    finally:
        if thin:
            thin.stop()


def reports_unwatched(nbaccel: Any, tasks: int) -> None:
    """How many reports come once nobody has watched for a while: none, however many tasks run."""
    import ray

    from nbaccel import engine as engines

    engine: Any = engines.current()
    collector = engine.service_actors.collector()
    lasts_s = importlib.import_module("nbaccel_in_ray.collector").WATCH_LASTS_S
    time.sleep(lasts_s + 2 * importlib.import_module("nbaccel_in_ray.collector_link").LOOK_EVERY_S)

    def taken() -> int:
        reports: int = ray.get(collector.__ray_call__.remote(lambda self: self._seq))
        return reports

    found = []
    for count in (tasks, 10 * tasks):
        before = taken()
        all_at_once(nbaccel.get, nbaccel.remote(work).remote, count)
        found.append(f"{taken() - before} of {count} tasks")
    print(f"{'unwatched':20} reports, {lasts_s:.0f} s after the last question: {', '.join(found)}")


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
    collector = engine.service_actors.collector()
    by_hand = nbaccel.remote(count_and_reporter)
    settled = time.monotonic() + 2 * importlib.import_module("nbaccel_in_ray.collector_link").LOOK_EVERY_S
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
        f"{'reports':20} {share:.2%} of the CPU time of {tasks} tasks in {wall:.1f} s: collector {in_collector:.3f} s, "
        f"threads {in_threads:.3f} s, {reports} reports {on_the_way:.3f} s, of {cpu:.1f} s  goal 1 %: {met}"
    )


def count_and_reporter() -> tuple[int, int]:
    """Of a worker: its pid, and its reporting thread."""
    (reporter,) = (each for each in threading.enumerate() if each.name == "nbaccel-reports")
    assert reporter.native_id is not None
    return os.getpid(), reporter.native_id


def process_seconds(pid: int) -> float:
    return sum(thread_seconds(pid, int(thread)) for thread in os.listdir(f"/proc/{pid}/task"))


def thread_seconds(pid: int, thread: int) -> float:
    """CPU time, from the scheduler's own count in nanoseconds."""
    return int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[0]) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--actors", type=int, default=20, help="of the rows of many actors, for each of both")
    parser.add_argument(
        "--crowds", type=lambda text: [int(each) for each in text.split(",")], help="so many actors; no other rows"
    )
    parser.add_argument("--beside", action="store_true", help="both crowds at once, and pairs of rounds of calls")
    parser.add_argument("--thin", action="store_true", help="crowds of workers that idle cheaply: benchmarks/thin")
    rows = [*GOALS, REPORTS]
    parser.add_argument("--only", type=lambda text: text.split(","), default=rows, help=", ".join(rows))
    compare_calls(parser.parse_args())


if __name__ == "__main__":
    main()
