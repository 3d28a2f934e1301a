"""Where tasks, actors, runs and trials are: their worker processes, and the lines at which their code stands."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import engine as engines
from nbaccel.explaining import explain, id_of
from nbaccel.handles.remote import ActorHandle, ObjectRef, ObjectRefGenerator
from nbaccel.views import experiment_snapshot, run_snapshot, wording
from nbaccel.views.experiment_snapshot import TrialRow
from nbaccel.views.observer_lines import ReadRows, ReadStack
from nbaccel.views.snapshot import ActorRow
from nbaccel.views.stack_text import Stack, with_sources
from nbaccel.views.task_filter import TaskFilter

if TYPE_CHECKING:
    from nbaccel.engine import Engine

PATIENCE_S = 2.0
_TASK_HEX = 48
_NO_LINE = "  None of its own code runs there now."


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, and what runs in it."""

    name: str
    pid: int
    node_id: str = ""


def stack(what: ObjectRef[Any] | ObjectRefGenerator | ActorHandle | str | int) -> Stack:
    """Where the code of a task or an actor stands right now, as lines of a traceback; the reason if it waits.

    `what` is a ref, a stream, an actor, an id or a name of a task as views show it, the name of a training run or an
    experiment, the id of a trial, or the pid of a worker. A worker answers also while it is in a C call. Raises
    ValueError if nothing that runs has this name, and TypeError for anything else.

    >>> where = nbaccel.stack(nbaccel.remote(max).remote(1, 2))
    """
    current = engines.current()
    if isinstance(what, int):
        return Stack(_standing(_Worker("worker", what), current))
    if isinstance(what, str) and not _is_hex(what):
        return _of_name(what.removeprefix("#"), current)
    worker = _of_id(id_of(what), current)
    return Stack(explain(what).sentence if worker is None else _standing(worker, current))


def _is_hex(text: str) -> bool:
    return len(text) >= 32 and all(letter in "0123456789abcdef" for letter in text)


def _of_id(id: str, current: Engine) -> _Worker | None:
    for row in current.tasks(TaskFilter(text=id[:_TASK_HEX])).rows:
        if row.task_id == id[:_TASK_HEX] and row.pid is not None and row.state.startswith("RUNNING"):
            return _Worker(row.name, row.pid, row.node_id or "")
    for actor in current.state(ActorRow, sys.maxsize):
        if actor.actor_id == id and actor.pid is not None and actor.state == "ALIVE":
            return _Worker(actor.class_name, actor.pid, actor.node_id or "")
    return None


def _of_name(name: str, current: Engine) -> Stack:
    rows = [
        row for row in current.tasks(TaskFilter(text=name)).rows if name in (row.name, wording.short_id(row.task_id))
    ]
    running = [
        _Worker(row.name, row.pid, row.node_id or "") for row in rows if row.state.startswith("RUNNING") and row.pid
    ]
    waiting: list[str] = []
    workers = {each.pid: each for each in (*running, *_named(name, current, waiting))}
    if workers:
        return Stack("\n\n".join(_standing(each, current) for each in workers.values()))
    if rows:
        return Stack(explain(rows[0].task_id).sentence)
    if waiting:
        return Stack(waiting[0])
    raise ValueError(f"Nothing is called {name!r}: no task, actor, training run, experiment or trial.")


def _named(name: str, current: Engine, waiting: list[str]) -> Iterator[_Worker]:
    """Who runs under a name: actors, the ranks of a run, the trials of an experiment. Notes who has no process yet."""
    for actor in current.state(ActorRow, sys.maxsize):
        if name in (actor.name, actor.class_name):
            if actor.pid is not None and actor.state == "ALIVE":
                yield _Worker(actor.class_name, actor.pid, actor.node_id or "")
            elif actor.state != "DEAD":
                waiting.append(explain(actor.actor_id).sentence)
    snapshot = current.snapshot()
    for run in run_snapshot.of_snapshot(snapshot):
        if run.name == name and run.is_under_way:
            yield from (_Worker(f"{name}, rank {rank.rank}", rank.pid) for rank in run.ranks if rank.pid is not None)
            waiting.append(f"{wording.plain(name)} is {run.state}; no rank runs yet. {wording.plain(run.why)}".rstrip())
    for experiment in experiment_snapshot.of_snapshot(snapshot):
        if experiment.is_under_way:
            yield from _trials(experiment.id, name if name != experiment.name else "", current, waiting)
            if name == experiment.name:
                waiting.append(f"{wording.plain(name)} is {experiment.state}; no trial runs right now.")


def _trials(experiment: str, wanted: str, current: Engine, waiting: list[str]) -> Iterator[_Worker]:
    """The trials that run; only the `wanted` one if that is named."""
    for id, row in current.history(ReadRows(experiment)).rows.items():
        trial = msgspec.convert(row, TrialRow)
        if wanted not in ("", id, experiment_snapshot.short_trial(id)):
            continue
        if trial.state == "running" and trial.pid is not None:
            yield _Worker(f"trial {id}", trial.pid)
        elif wanted:
            waiting.append(f"Trial {id} is {trial.state}.")


def _standing(worker: _Worker, current: Engine) -> str:
    text = with_sources(_text_of(worker, current)) or _NO_LINE
    return f"{wording.plain(worker.name)}, pid {worker.pid}:\n{text}"


def _text_of(worker: _Worker, current: Engine) -> str:
    deadline = time.monotonic() + PATIENCE_S
    answer = current.history(ReadStack(worker.pid, worker.node_id))
    while answer.pause_s and time.monotonic() < deadline:
        time.sleep(answer.pause_s)
        answer = current.history(ReadStack(worker.pid, worker.node_id, answer.since))
    return answer.text
