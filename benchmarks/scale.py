"""What the largest cluster of one head costs the scheduler: CPU time and memory, without processes.

    python benchmarks/scale.py [NODES DEVICES TASKS SHAPES]          64 8 100000 100 when nothing is given

```
  come      the nodes are added, one after the other
  submit    the tasks are submitted: first the devices fill, then the tasks wait
  run       tasks return in random order, others take their place; some are cancelled, some are submitted
  change    nodes leave and come back while all lines wait
  look      snapshots of all this, as the head of a machine would make them, and what a page gets of each
```
Each event's CPU time counts by itself: the median, the 99th percentile and the maximum of each kind are printed, and of
all together. The memory of a waiting task is what the process has grown by, its `Task` record included.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from array import array
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import msgspec

from nbaccel.quantities import UNIT
from nbaccel.scheduling import commands as do
from nbaccel.scheduling import events as ev
from nbaccel.scheduling.events import DeviceSpec, NodeSpec
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import Choice, Placement, Task, TaskKind, Terms, WorkerPool

JOBS = 20
GPUS = (0, 0, UNIT // 4, UNIT // 2, UNIT, UNIT, UNIT, 2 * UNIT, 4 * UNIT, 8 * UNIT)
CPUS = 64
MEMORY_GB = 512
ZONES = 10
EVENTS = 50_000  # of the phase `run`
CHANGES = 20


class Costs:
    """CPU seconds of each event, by kind."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {}
        self._shown = array("d")  # all that was printed

    def add(self, kind: str, took_s: float) -> None:
        self.of.setdefault(kind, []).append(took_s)

    def show(self, phase: str) -> None:
        every = array("d", (took for costs in self.of.values() for took in costs))
        for kind, costs in [*self.of.items(), ("all events", every)]:
            _print(phase, kind, costs)
        self._shown += every
        self.of.clear()

    def show_whole(self) -> None:
        """The events of all phases together."""
        _print("whole", "all events", self._shown)


def _print(phase: str, kind: str, costs: Sequence[float]) -> None:
    costs = sorted(costs)
    at = [costs[min(int(len(costs) * share), len(costs) - 1)] * 1e6 for share in (0.5, 0.99, 1.0)]
    print(f"{phase:8} {kind:16} {len(costs):8}   {at[0]:9.1f} {at[1]:9.1f} {at[2]:11.1f} µs", flush=True)


class Cluster:
    """Processes that obey at once, in place of a head's, and a clock that moves with each round."""

    def __init__(self) -> None:
        numbers = count()
        self.scheduler = Scheduler(new_id=lambda: b"w%d" % next(numbers))
        self.now = 0.0
        self.costs = Costs()
        self.running: dict[bytes, bytes] = {}  # task -> its worker
        self.begun: list[bytes] = []  # tasks that have been sent since somebody looked

    def notify(self, event: ev.Event) -> None:
        """An event, and all that follows from it at once."""
        inbox = [event]
        while inbox:
            event = inbox.pop()
            began = time.thread_time()
            commands = self.scheduler.handle(event, self.now)
            self.costs.add(type(event).__name__, time.thread_time() - began)
            inbox += self._obey(commands)

    def _obey(self, commands: Sequence[do.Command]) -> list[ev.Event]:
        answers: list[ev.Event] = []
        for command in commands:
            if isinstance(command, do.SendTasks):
                for task in command.tasks:
                    self.running[task.task_id] = command.worker_id
                    self.begun.append(task.task_id)
            elif isinstance(command, do.StartWorker):
                answers.append(ev.WorkerReady(command.worker_id, 1))
            elif isinstance(command, do.StopWorker):
                answers.append(ev.WorkerDied(command.worker_id, "ended", True))
            elif isinstance(command, do.RecallTasks):
                answers.append(ev.TasksGivenBack(command.worker_id, []))
            elif isinstance(command, do.FailTask):
                self.running.pop(command.task.task_id, None)
        return answers


def node(number: int, devices: int) -> NodeSpec:
    totals = {"CPU": CPUS * UNIT, "memory": MEMORY_GB * UNIT}
    specs = [DeviceSpec("GPU", index, type="H100") for index in range(devices)]
    labels = {"zone": f"z{number % ZONES}"}
    return NodeSpec(b"n%d" % number, f"n{number}", totals, specs, labels, is_head=number == 0)


def shapes(number: int, devices: int) -> list[Terms]:
    """Different demands: CPUs, memory, devices and parts of devices, and for one in ten a zone."""
    found = []
    for each in range(number):
        gpus = min(GPUS[each % len(GPUS)], devices * UNIT)
        demand = [("CPU", (1 + each // 10 % 8) * UNIT), ("memory", (1 + each // 80) * UNIT)]
        demand += [("GPU", gpus)] if gpus else []
        labels = (("zone", f"z{each % 7}"),) if each % 11 == 0 else ()
        job = 1 + each % JOBS
        choices = (Choice(tuple(sorted(demand)), Placement(labels=labels)),)
        terms = Terms(
            f"f{each}", TaskKind.TASK, function_key=b"f%d" % each, choices=choices, job=job, pool=WorkerPool(job)
        )
        if gpus:  # a task on a device has a process of its own
            terms = msgspec.structs.replace(terms, fresh=True, max_calls=1)
        found.append(terms)
    return found


def look(cluster: Cluster, number: int, devices: int) -> None:
    """Snapshots while tasks return: the first one counts all nodes, the next ones those that have changed."""
    from benchmarks.scale_views import Views

    views = Views(cluster.scheduler, [node(each, devices) for each in range(number)])
    took_s = []
    for _ in range(20):
        began = time.thread_time()
        snapshot = views.snapshot()
        took_s.append(time.thread_time() - began)
        for task_id in cluster.begun[-10:]:
            cluster.begun.remove(task_id)
            cluster.notify(ev.TasksReturned(cluster.running.pop(task_id), [ev.TaskReturn(task_id)]))
    cluster.costs.of.clear()
    first, later = took_s[0] * 1e3, sorted(took_s[1:])
    print(f"look     the first snapshot {first:.1f} ms, later ones {later[9] * 1e3:.1f}, {later[-1] * 1e3:.1f} at most")
    print(f"look     {len(snapshot.nodes)} nodes, {len(snapshot.devices)} devices: {len(snapshot.to_json())} bytes")


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def main(nodes: int = 64, devices: int = 8, tasks: int = 100_000, kinds: int = 100) -> None:
    dice = random.Random(1)
    cluster = Cluster()
    gc.freeze()
    gc.disable()  # a head collects between events; a collection is not what an event costs
    print(f"{'phase':8} {'event':16} {'number':>8}   {'median':>9} {'99 %':>9} {'longest':>11}")
    for number in range(nodes):
        cluster.notify(ev.NodeAdded(node(number, devices)))
    cluster.costs.show("come")
    all_terms = shapes(kinds, devices)
    before = resident_bytes()
    for each in range(tasks // 10):
        cluster.notify(ev.TasksSubmitted([Task(all_terms[each % kinds], b"t%019d" % each)]))
    cluster.costs.show("submit")
    print(f"the first tenth takes {(resident_bytes() - before) / 1e6:.0f} MB: the lines, the workers, those that run")
    before, waiting = resident_bytes(), cluster.scheduler.counts()["PENDING_NODE_ASSIGNMENT"]
    for each in range(tasks // 10, tasks):
        cluster.notify(ev.TasksSubmitted([Task(all_terms[each % kinds], b"t%019d" % each)]))
    cluster.costs.show("submit")
    more = cluster.scheduler.counts()["PENDING_NODE_ASSIGNMENT"] - waiting
    print(f"{cluster.scheduler.counts()['PENDING_NODE_ASSIGNMENT']} tasks wait, {len(cluster.running)} run")
    print(f"{(resident_bytes() - before) / max(more, 1):.0f} bytes for each of {more} tasks that wait")
    look(cluster, nodes, devices)
    run(cluster, all_terms, dice)
    change(cluster, nodes, devices, dice)
    cluster.costs.show_whole()


def run(cluster: Cluster, all_terms: list[Terms], dice: random.Random) -> None:
    """Tasks return in random order, 0.1 s after each other; every tenth time one is submitted and cancelled."""
    numbers = count(10**9)
    order = cluster.begun
    cluster.costs.of.clear()
    for step in range(EVENTS):
        place = dice.randrange(len(order))
        order[place], order[-1] = order[-1], order[place]
        done = order.pop()
        cluster.now += 0.1
        cluster.notify(ev.TasksReturned(cluster.running.pop(done), [ev.TaskReturn(done)]))
        if step % 10 == 0:
            task = Task(dice.choice(all_terms), b"t%019d" % next(numbers))
            cluster.notify(ev.TasksSubmitted([task]))
            if task.task_id not in cluster.running:
                cluster.notify(ev.CancelRequested(task.task_id))
        if not order:
            break
    cluster.costs.show("run")


def change(cluster: Cluster, nodes: int, devices: int, dice: random.Random) -> None:
    """Nodes leave and come back."""
    for _ in range(CHANGES):
        number = dice.randrange(1, nodes)
        cluster.notify(ev.NodeRemoved(b"n%d" % number, "the benchmark took it away"))
        cluster.notify(ev.NodeAdded(node(number, devices)))
    cluster.costs.show("change")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
