"""The tasks that pass a filter, of all that the head knows: a row is made only for those that are shown."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from nbaccel.local_engine.head.picture import MOST_EXPLAINED, Picture
from nbaccel.views.task_filter import FoundTasks, TaskFilter

if TYPE_CHECKING:
    from nbaccel.local_engine.head.loop import Head


def found_tasks(head: Head, picture: Picture, wanted: TaskFilter) -> FoundTasks:
    """The newest that pass, with the reason of those that wait, and how many pass."""
    passing = list(_passing(head, picture, wanted))
    newest = heapq.nlargest(wanted.limit or len(passing), passing, key=lambda record: record.task.payload.submitted_at)
    rows = [picture.task(record) for record in newest]
    now = time.monotonic()
    waiting = [(record, row) for record, row in zip(newest, rows, strict=True) if row.state.startswith("PENDING")]
    for record, row in waiting[:MOST_EXPLAINED]:
        explanation = head.scheduler.explain(record.task.task_id, now)
        row.why = explanation.sentence if explanation is not None else ""
    return FoundTasks(rows, len(passing))


def _passing(head: Head, picture: Picture, wanted: TaskFilter) -> Iterator[Any]:
    scheduler = head.scheduler
    seen: set[bytes] = set()  # a constructor that runs once more has an old record beside the new one
    for record in chain(scheduler.running(), scheduler.waiting(), scheduler.ended()):
        task = record.task
        if task.task_id in seen:
            continue
        seen.add(task.task_id)
        if wanted.may_pass(record.state.name, task.payload.terms.cell, task.job) and (
            not wanted.text or wanted.has_text(picture.task(record))
        ):
            yield record
