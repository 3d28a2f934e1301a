"""What the head writes into its history when tasks and actors end, and what it adds of those that go on.

```
  FinishTasks, FailTask ──► ended ── short ones alike, one after the other, as one ──► HistoryBook
  views that are open ──► ReadRuns, ReadAccounting, ReadReadings ──► with what runs and waits now ──► answers
```
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from nbaccel.accelerators import Device
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.outputs import Tracebacks
from nbaccel.local_engine.head.records import ActorEntry, TaskEntry, entry_of
from nbaccel.quantities import UNIT
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.scheduling.terms import ACTOR_CREATION, TASK, Task, Terms
from nbaccel.views import observer_lines
from nbaccel.views.history.book import FIRST_GRAIN_S, HistoryBook, PastRun, lane_of
from nbaccel.views.history.readings import DeviceLoad
from nbaccel.views.observer_lines import Row

MOST_WAITING = 10_000  # their starts are looked up for an answer
CANCELLED = "TASK_CANCELLED"
Offered = Callable[[], Iterator[tuple[str, str, str]]]  # node, resource and id of each device


class _Short(msgspec.Struct):
    """RunBars without a device that are shorter than a grain: alike, and within one."""

    terms: Terms
    error_type: str
    job: int
    started: float
    ended: float
    seconds: float
    waits: float
    number: int = 1


class ClusterHistory:
    """The book of one cluster, from the records of its scheduler."""

    def __init__(
        self,
        scheduler: Scheduler,
        actors: Mapping[bytes, ActorEntry],
        offered: Offered,
        began_at: float,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._scheduler = scheduler
        self._actors = actors
        self._offered = offered
        self._began_at = began_at
        self._now = now
        self._short: _Short | None = None
        self.book = HistoryBook(began_at)
        self.tracebacks = Tracebacks()

    # ---- ends

    def ended(self, task: Task) -> None:
        """A task is over: it returned, or failed for good."""
        entry = entry_of(task)
        if entry.traceback:
            self.tracebacks.keep(task.task_id, entry.traceback)
            entry.traceback = ""
        started, ended = entry.started_at, entry.finished_at
        terms = task.terms
        if ended is None or terms.kind is ACTOR_CREATION or terms.internal:
            return
        if started is None:
            self.book.ended_waiting(entry.submitted_at, ended)
        elif entry.device_ids or ended - started >= FIRST_GRAIN_S:
            self._flush()
            self.book.ended(_run(task, ended))
        else:
            self._ended_soon(entry.terms, entry.error_type, terms.job, entry.submitted_at, started, ended)

    def calls_ended(
        self,
        terms: Terms,
        calls: list[wire.DirectCall],
        make: Callable[[wire.DirectCall], Task],
        *,
        on_devices: bool,
    ) -> None:
        """Calls of one actor with the same terms have returned; `make` makes the task of one."""
        if terms.internal:
            return
        job = terms.job
        for call in calls:
            times = call.times
            if times and times[-1] - times[0] < FIRST_GRAIN_S and not on_devices:
                self._ended_soon(terms, "", job, call.sent_at, times[0], times[-1])
            else:
                self.ended(make(call))

    def _ended_soon(
        self, terms: Terms, error_type: str, job: int, submitted: float, started: float, ended: float
    ) -> None:
        """Thousands of these end in a second: neighbours that are alike are written down together."""
        short = self._short
        waited = max(started - submitted, 0.0)
        if (
            short is not None
            and short.terms is terms
            and short.error_type == error_type
            and short.job == job
            and 0 <= started - short.started < FIRST_GRAIN_S
        ):
            short.ended = max(short.ended, ended)
            short.seconds += ended - started
            short.waits += waited
            short.number += 1
            return
        self._flush()
        self._short = _Short(terms, error_type, job, started, ended, max(ended - started, 0.0), waited)

    def _flush(self) -> None:
        short, self._short = self._short, None
        if short is None:
            return
        submitted = short.started - short.waits / short.number
        self.book.ended(
            PastRun(
                _function(short.terms),
                short.terms.cell,
                short.job,
                _end_state(short.error_type),
                (),
                "",
                submitted,
                short.started,
                short.ended,
                number=short.number,
                seconds=short.seconds,
            )
        )

    def lived(self, actor: ActorEntry) -> None:
        """An actor has ended, or begins again somewhere else."""
        run = _life(actor)
        if run is not None:
            self._flush()
            self.book.ended(msgspec.structs.replace(run, state="DEAD", ended=self._now()))

    def measured(self, node_id: str, devices: Sequence[Device], metrics: Sequence[DeviceReading]) -> None:
        """Devices of this machine were measured."""
        readings = [
            DeviceLoad(
                lane_of(node_id, device.resource, device.id),
                facts.utilisation_percent,
                _share(facts.memory_used_bytes, facts.memory_total_bytes or device.memory_bytes),
                facts.power_watts,
            )
            for device, facts in zip(devices, metrics, strict=False)
        ]
        self.book.measured(self._now(), readings)

    def let_go(self) -> Callable[[], None]:
        """Let the bars of all runs go, packed, and return what makes them again."""
        self._flush()
        return self.book.let_go()

    # ---- questions

    def answers(self) -> list[Row[Any]]:
        """The rows of a table of questions."""
        return [
            observer_lines.ReadRuns.answered_by(lambda peer, asked: self._runs(asked)),
            observer_lines.ReadAccounting.answered_by(lambda peer, asked: self._accounting(asked)),
            observer_lines.ReadReadings.answered_by(lambda peer, asked: self.book.readings(self._now(), asked.since)),
        ]

    def _runs(self, asked: observer_lines.ReadRuns) -> Any:
        self._flush()
        now = self._now()
        waiting = [record.task.submitted_at for record in islice(self._scheduler.waiting(), MOST_WAITING)]
        window = (asked.start if asked.start is not None else self._began_at, asked.end or now)
        return self.book.runs(now, window, asked.since, self.running(), waiting)

    def _accounting(self, asked: observer_lines.ReadAccounting) -> Any:
        self._flush()
        for node_id, resource, id in self._offered():
            self.book.has_device(lane_of(node_id, resource, id), self._began_at)
        return self.book.accounting(self._now(), asked.since, self.running())

    def running(self) -> Iterator[PastRun]:
        """The runs that go on, and the actors that hold devices."""
        for record in self._scheduler.running():
            task: Task = record.task
            if task.kind is not ACTOR_CREATION and entry_of(task).started_at is not None:
                yield _run(task, None)
        for actor in self._actors.values():
            run = _life(actor) if actor.state == "ALIVE" else None
            if run is not None:
                yield run


def _run(task: Task, ended: float | None) -> PastRun:
    entry = entry_of(task)
    terms = entry.terms
    return PastRun(
        _function(terms),
        terms.cell,
        task.job,
        "RUNNING" if ended is None else _end_state(entry.error_type if entry.failed else ""),
        _lanes(entry.node_id, entry.device_ids, terms, entry.choice),
        task.task_id.hex(),
        entry.submitted_at,
        entry.started_at or 0.0,
        ended,
        holds=terms.kind is TASK,
    )


def _life(actor: ActorEntry) -> PastRun | None:
    """An actor on its devices; None where it holds none, or is nbaccel's own."""
    made: TaskEntry | None = entry_of(actor.creation) if actor.creation is not None else None
    if made is None or made.started_at is None or not any((actor.device_ids or {}).values()) or actor.terms.internal:
        return None
    lanes = _lanes(actor.node_id, actor.device_ids, actor.terms, made.choice)
    terms = actor.terms
    return PastRun(
        terms.class_name, terms.cell, actor.job, "ALIVE", lanes, actor.actor_id.hex(), None, made.started_at,
    )  # fmt: skip


def _lanes(
    node_id: bytes, device_ids: dict[str, list[str]] | None, terms: Terms, choice: int
) -> tuple[tuple[str, float], ...]:
    """The devices that were held, and how much of each."""
    demand = dict(terms.demand_of(choice)) if device_ids and terms.choices else {}
    return tuple(
        (lane_of(node_id.hex(), resource, id), demand.get(resource, UNIT) / UNIT / len(ids))
        for resource, ids in (device_ids or {}).items()
        for id in ids
    )


def _function(terms: Terms) -> str:
    """As rows of tasks say it."""
    return ".".join(filter(None, (terms.class_name, terms.method))) or terms.name


def _end_state(error_type: str) -> str:
    return "FINISHED" if not error_type else "CANCELLED" if error_type == CANCELLED else "FAILED"


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None
