"""What a decision costs: CPU time of the scheduler alone, for the loads that it was designed for.

    python benchmarks/scheduling.py

Prints microseconds per task: a burst, lines of different length, many nodes, actor calls, fresh accelerator tasks; and
how much memory a waiting task takes.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

from nbaccel.quantities import UNIT
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec, NodeSpec
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ActorTerms, Choice, Task, TaskKind, Terms, WorkerPool

POOL = WorkerPool(1)
ONE_CPU = (Choice((("CPU", UNIT),)),)
ONE_GPU = (Choice((("CPU", UNIT), ("GPU", UNIT))),)
NO_CHOICE = (Choice(()),)


class Bench:
    """A head that does nothing but answer at once, and a clock that counts only the CPU time of the scheduler."""

    def __init__(self, *nodes: NodeSpec, task_takes_s: float = 0.0001) -> None:
        numbers = count()
        self.scheduler = Scheduler(new_id=lambda: b"%d" % next(numbers), idle_worker_keep=100_000)
        self.now = 0.0
        self.spent_s = 0.0
        self.task_takes_s = task_takes_s
        self.inbox: list[ev.Event] = []
        for node in nodes:
            self.notify(ev.NodeAdded(node))

    def notify(self, event: ev.Event) -> None:
        began = time.thread_time()
        commands = self.scheduler.handle(event, self.now)
        self.spent_s += time.thread_time() - began
        for command in commands:
            kind = type(command)
            if kind is do.SendTasks:
                for task in command.tasks:
                    self.inbox.append(ev.TasksReturned(command.worker_id, [ev.TaskReturn(task.task_id)]))
            elif kind is do.StartWorker:
                self.inbox.append(ev.WorkerReady(command.worker_id, 1))
            elif kind is do.StopWorker:
                self.inbox.append(ev.WorkerDied(command.worker_id, "ended", True))
            elif kind is do.RecallTasks:
                self.inbox.append(ev.TasksGivenBack(command.worker_id, []))

    def answer(self, rounds: int | None = None) -> int:
        """Carries out what was ordered until nothing is left, or for so many events; says how many there were."""
        done = 0
        while self.inbox and (rounds is None or done < rounds):
            batch, self.inbox = self.inbox, []
            self.now += self.task_takes_s
            for event in batch:
                self.notify(event)
            done += len(batch)
        return done


@cache
def terms(choices: tuple[Choice, ...] = ONE_CPU, kind: TaskKind = TaskKind.TASK, **options: Any) -> Terms:
    """As a head has them: once for all tasks of a kind."""
    return Terms("f", kind, function_key=b"f", choices=choices, job=1, pool=POOL, **options)


def task(number: int, choices: tuple[Choice, ...] = ONE_CPU, **options: Any) -> Task:
    return Task(terms(choices, **options), b"t%d" % number)


def head(cpus: int = 2, gpus: int = 0) -> NodeSpec:
    return NodeSpec(b"head", "head", {"CPU": cpus * UNIT}, [DeviceSpec("GPU", i) for i in range(gpus)], {}, True)


def burst(tasks: int = 10_000) -> float:
    """Submitted all at once to 2 CPUs, then returned one after the other."""
    bench = Bench(head())
    for event in [ev.TasksSubmitted([task(number)]) for number in range(tasks)]:
        bench.notify(event)
    bench.answer()
    return bench.spent_s / tasks


def line(tasks: int) -> float:
    """The cost of one dispatch from a line behind one CPU; tasks are long, nothing is sent ahead."""
    bench = Bench(head(1), task_takes_s=0.01)
    for number in range(tasks):
        bench.notify(ev.TasksSubmitted([task(number)]))
    bench.spent_s = 0.0
    done = bench.answer(900)
    return bench.spent_s / done


def nodes(number: int, tasks: int = 10_000) -> float:
    """Tasks over many nodes of 4 CPUs, as many at once as fit."""
    bench = Bench(*[NodeSpec(b"n%d" % i, f"n{i}", {"CPU": 4 * UNIT}) for i in range(number)], task_takes_s=0.01)
    bench.spent_s = 0.0
    for each in range(tasks):
        bench.notify(ev.TasksSubmitted([task(each)]))
    bench.answer()
    return bench.spent_s / tasks


def calls(number: int = 10_000) -> float:
    """Calls of one actor by one caller."""
    bench = Bench(head())
    of_actor = Terms(
        "A", TaskKind.ACTOR_CREATION, function_key=b"f", choices=ONE_CPU, job=1, pool=POOL, actor=ActorTerms(lasting=())
    )
    creation = Task(of_actor, b"c", actor_id=b"a")
    bench.notify(ev.TasksSubmitted([creation]))
    bench.answer()
    bench.spent_s = 0.0
    for each in range(number):
        call = Task(terms(NO_CHOICE, TaskKind.ACTOR_CALL), b"m%d" % each, actor_id=b"a", caller=b"d")
        bench.notify(ev.TasksSubmitted([call]))
        bench.answer()
    return bench.spent_s / number


def fresh(tasks: int = 2_000) -> float:
    """Accelerator tasks, each in its own process."""
    bench = Bench(head(8, gpus=8), task_takes_s=0.01)
    for number in range(tasks):
        bench.notify(ev.TasksSubmitted([task(number, ONE_GPU, fresh=True, max_calls=1)]))
    bench.answer()
    return bench.spent_s / tasks


def memory(tasks: int = 100_000) -> float:
    """Bytes for each task that waits, its Task record included."""
    bench = Bench(head(1))
    tracemalloc.start()
    for number in range(tasks):
        bench.notify(ev.TasksSubmitted([task(number)]))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / tasks


WORKLOADS: list[tuple[str, Callable[[], float]]] = [
    ("10,000 short tasks in a burst on 2 CPUs", burst),
    ("one dispatch, 1,000 in line", lambda: line(1_000)),
    ("one dispatch, 100,000 in line", lambda: line(100_000)),
    ("10,000 tasks over 1 node", lambda: nodes(1)),
    ("10,000 tasks over 64 nodes", lambda: nodes(64)),
    ("10,000 calls of an actor", calls),
    ("2,000 fresh accelerator tasks on 8 GPUs", fresh),
]


def main() -> None:
    for name, run in WORKLOADS:
        best = min(run() for _ in range(3))
        print(f"{name:45} {best * 1e6:8.2f} µs per task")
    print(f"{'memory of a waiting task':45} {memory():8.0f} bytes")


if __name__ == "__main__":
    main()
