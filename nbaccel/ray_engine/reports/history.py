"""The history of a Ray cluster: what tasks have reported, written down whenever a view asks."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
import ray

from nbaccel import exceptions
from nbaccel.handles.refs import ObjectRef
from nbaccel.ray_engine.reports.reports import MOST_NOTES, Reports
from nbaccel.ray_engine.reports.service_actors import ServiceActors
from nbaccel.ray_engine.reports.snapshots import Snapshots
from nbaccel.ray_engine.session import internals
from nbaccel.ray_engine.submission.submissions import Submissions
from nbaccel.views.history.answers import PrintedText, TaskLogAnswer, fitted, printed, shortened
from nbaccel.views.history.book import HistoryBook, PastRun, lane_of
from nbaccel.views.history.readings import DeviceLoad
from nbaccel.views.observer_lines import (
    Question,
    ReadAccounting,
    ReadReadings,
    ReadRows,
    ReadRuns,
    ReadStack,
    ReadTaskLog,
)
from nbaccel.views.record_book import OwnRecords
from nbaccel.views.snapshot import DeviceRow, Snapshot, TaskRow
from nbaccel.views.stack_text import StackAnswer, of_users
from nbaccel.views.tables import ENDED

A = TypeVar("A")


class RayHistory:
    """The book of one process. Tasks report once somebody has asked: what had ended before is not in it."""

    def __init__(self, reports: Reports, snapshots: Snapshots, published: OwnRecords, logs: RayTaskLogs) -> None:
        self._reports = reports
        self._snapshots = snapshots
        self._published = published
        self._logs = logs
        self._began_at = time.time()
        self._book = HistoryBook(self._began_at)
        self._written: dict[tuple[str, int], None] = {}  # runs that are already in the book
        self._asking = threading.Lock()  # the notebook's page and observers ask from threads of their own

    def answer(self, asked: Question[A]) -> A:
        """What one of the questions about history is answered."""
        return self._answered(asked)  # type: ignore[no-any-return]

    def _answered(self, asked: Question[Any]) -> Any:
        if isinstance(asked, ReadTaskLog):
            return self._logs.answer(asked)
        if isinstance(asked, ReadRows):
            return self._published.read_rows(asked.id, asked.since)
        if isinstance(asked, ReadStack):
            return StackAnswer(of_users(self._logs.stack(asked, self._snapshots)))
        with self._asking:
            return self._of_the_book(asked)

    def _of_the_book(self, asked: Question[Any]) -> Any:
        now = time.time()
        if isinstance(asked, ReadReadings):
            snapshot = self._snapshots.take(metrics=True)
            self._book.measured(now, [_reading(row) for row in snapshot.devices if row.metrics is not None])
            return self._book.readings(now, asked.since)
        self._reports.learn(0)
        snapshot = self._snapshots.take(metrics=False, rows=MOST_NOTES)
        self._write_down(snapshot)
        running = list(_running(snapshot))
        if isinstance(asked, ReadAccounting):
            for row in snapshot.devices:
                self._book.has_device(lane_of(row.node_id, row.resource, row.id), self._began_at)
            return self._book.accounting(now, asked.since, running)
        if isinstance(asked, ReadRuns):
            waits = [row.submitted_at for row in snapshot.tasks if _waits(row) and row.submitted_at is not None]
            start = self._began_at if asked.start is None else asked.start
            return self._book.runs(now, (start, asked.end or now), asked.since, running, waits)
        raise TypeError(f"{type(asked).__name__} is not a question about history.")

    def _write_down(self, snapshot: Snapshot) -> None:
        """The runs that have ended since the last time."""
        for row in snapshot.tasks:
            key = (row.task_id, row.attempt)
            if row.state not in ENDED or key in self._written or row.finished_at is None:
                continue
            self._written[key] = None
            if row.started_at is not None and row.kind != "actor creation":
                self._book.ended(_run(row))
        for old in list(self._written)[: -2 * MOST_NOTES]:
            del self._written[old]


def _running(snapshot: Snapshot) -> Iterator[PastRun]:
    for row in snapshot.tasks:
        goes_on = row.started_at is not None and row.finished_at is None and row.state not in ENDED
        if goes_on and row.kind != "actor creation":
            yield _run(row)
    for actor in snapshot.actors:
        if actor.state == "ALIVE" and actor.since is not None and any(actor.device_ids.values()):
            lanes = _lanes(actor.node_id, actor.device_ids, actor.demand)
            cell, id = actor.cell, actor.actor_id
            yield PastRun(actor.class_name, cell, actor.job, "ALIVE", lanes, id, None, actor.since)


def _run(row: TaskRow) -> PastRun:
    return PastRun(
        row.function or row.name,
        row.cell,
        row.job,
        row.state,
        _lanes(row.node_id, row.device_ids, row.demand),
        row.task_id,
        row.submitted_at,
        row.started_at or 0.0,
        row.finished_at,
        holds=row.kind == "task",
    )


def _lanes(
    node_id: str | None, device_ids: dict[str, list[str]], demand: dict[str, float]
) -> tuple[tuple[str, float], ...]:
    return tuple(
        (lane_of(node_id or "", resource, id), demand.get(resource, len(ids)) / len(ids))
        for resource, ids in device_ids.items()
        for id in ids
    )


def _waits(row: TaskRow) -> bool:
    return row.state.startswith("PENDING")


def _reading(row: DeviceRow) -> DeviceLoad:
    metrics = row.metrics
    assert metrics is not None
    total = metrics.memory_total_bytes or row.memory_bytes
    share = metrics.memory_used_bytes / total if metrics.memory_used_bytes is not None and total else None
    return DeviceLoad(
        lane_of(row.node_id, row.resource, row.id), metrics.utilisation_percent, share, metrics.power_watts
    )


# ---- what the process of a task has printed, read by the service actor of its node, and why the task failed


_MARKS = re.compile(r"^:(?:task_name|actor_name|job_id):.*\n?", re.MULTILINE)  # for Ray's log monitor, not for people


class RayTaskLogs:
    """Answers for one process."""

    def __init__(
        self,
        actors: ServiceActors,
        reports: Reports,
        submissions: Submissions,
        read: Callable[[ObjectRef[object]], object],
    ) -> None:
        self._actors = actors
        self._reports = reports
        self._submissions = submissions
        self._read = read  # the value of a ref that is there, or its error

    def answer(self, asked: ReadTaskLog) -> TaskLogAnswer:
        """What a task has printed since the asked offsets. Raises ValueError for a task that has not reported."""
        self._reports.learn(0)
        task_id = asked.task_id[:48]
        note = self._reports.notes.get(task_id)
        if note is None or "worker_id" not in note:
            raise ValueError(f"Task {task_id} is not known here: it has not run yet, or ended before anybody watched.")
        over = "ended_at" in note
        answer = TaskLogAnswer(0.0, over, pid=note.get("pid"))
        if over and "error" in note:
            answer.failure = self._traceback(task_id) or note["error"]
        since = [max(asked.out_since, 0), max(asked.err_since, 0)]
        session_dir = f"{internals.temporary_folder()}/{internals.session_name()}"
        agent, worker_id = self._actors.agent(note["node_id"]), note["worker_id"]

        def read(most: int) -> tuple[PrintedText, PrintedText]:
            parts = ray.get(agent.log_parts.remote(session_dir, worker_id, since, most, over))
            out, err = (_told(data, at, start) for (data, at), start in zip(parts, since, strict=True))
            return out, err

        return fitted(answer, read, is_first=not any(since))

    def stack(self, asked: ReadStack, snapshots: Snapshots) -> str:
        """What a worker writes; where its node is not known, each node is asked for a worker of this number."""
        nodes = [asked.node_id]
        if not asked.node_id:
            nodes = [row.node_id for row in snapshots.take(metrics=False).nodes if row.alive]
        return next(filter(None, (ray.get(self._actors.agent(id).stack.remote(asked.pid)) for id in nodes)), "")

    def _traceback(self, task_id: str) -> str:
        """The text of the error, while somebody holds a ref of the task's result: Ray keeps it nowhere else."""
        found = self._submissions.get(bytes.fromhex(task_id))
        ref = found.inner() if found is not None else None
        if not isinstance(ref, ObjectRef):
            return ""
        try:
            self._read(ref)
        except exceptions.GetTimeoutError:
            return ""
        except exceptions.RayTaskError as error:
            return shortened(error.traceback_str)
        except exceptions.RayError as error:
            return shortened(str(error))
        return ""


def _told(data: bytes, at: int, since: int) -> PrintedText:
    told = printed(data, at, since)
    return msgspec.structs.replace(told, text=_MARKS.sub("", told.text))
