"""Carries out orders of a page: end a task, an actor, all tasks that pass a filter, stop a run, retry a failed task.

Answers say what was done.
"""

from __future__ import annotations

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.views import experiment_snapshot, palette, run_snapshot, tables, wording
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.task_filter import TaskFilter

OVER = "nbaccel has been shut down: there is nothing left to end."


def end_one(engine: engines.Engine | None, say: str, id: str, snapshot: Snapshot | None) -> str:
    """Cancel a task or kill an actor: "Cancelled slow #3f2a-7." """
    if engine is None:
        return OVER
    try:
        engine.cancel_by_id(id) if say == "cancel" else engine.kill_by_id(id)
    except (RayError, ValueError, OSError) as error:
        return str(error)
    return f"{'Cancelled' if say == 'cancel' else 'Killed'} {_name(id, snapshot)}."


def retry(engine: engines.Engine | None, id: str, snapshot: Snapshot | None) -> str:
    """Run a failed task's call once more: "Retried train #3f2a-7 as #9b1c-1: nbaccel.ref_of("9b1c-1")." """
    if engine is None:
        return OVER
    try:
        again = wording.short_id(engine.retry(id))
    except (RayError, ValueError, OSError) as error:
        return str(error)
    return f'Retried {_name(id, snapshot)} as #{again}: nbaccel.ref_of("{again}").'


def stop_run(engine: engines.Engine | None, order: str, snapshot: Snapshot | None) -> str:
    """Take one step down the ladder of a run, an experiment or a trial: "Asked mnist to stop."

    `order` is its id and how often it had been asked before, as the pressed button knew it. A press that comes twice,
    or from a page that was drawn before another one's press, is no further step. An order with a trial's id at its end
    is about this trial alone.
    """
    if engine is None:
        return OVER
    id, _, rest = order.partition("/")
    before, _, trial = rest.partition("/")
    run = _run(id, snapshot)
    name = (
        f"trial {experiment_snapshot.short_trial(trial)}"
        if trial
        else wording.plain(run.name)
        if run is not None
        else id
    )
    what = f"stop-trial {before} {trial}" if trial else f"stop {before}" if before else "stop"
    if run is not None and not trial and not run_snapshot.asks_to_stop(what, run.stops):
        return f"{name} has been asked to stop since this button was drawn. Press it again to go one step further."
    try:
        engine.ask(id, what)
    except (RayError, ValueError, OSError) as error:
        return str(error)
    return f"Asked {name} to stop."


def _run(id: str, snapshot: Snapshot | None) -> RunSnapshot | ExperimentSnapshot | None:
    if snapshot is None:
        return None
    shown: list[RunSnapshot | ExperimentSnapshot] = [
        *run_snapshot.of_snapshot(snapshot),
        *experiment_snapshot.of_snapshot(snapshot),
    ]
    return next((run for run in shown if run.id == id), None)


def _name(id: str, snapshot: Snapshot | None) -> str:
    """The name that views use; the id alone if the last snapshot has no such task or actor."""
    names = {row.task_id: (row.name, wording.short_id(id)) for row in snapshot.tasks} if snapshot is not None else {}
    names |= {row.actor_id: (row.class_name, id[:8]) for row in snapshot.actors} if snapshot is not None else {}
    name, short = names.get(id, ("", wording.short_id(id)))
    return " ".join(part for part in (wording.plain(name), f"#{short}") if part)


def end_many(engine: engines.Engine | None, wanted: TaskFilter, function: str, snapshot: Snapshot) -> str:
    """Cancel the notebook's own unfinished tasks that pass the filter, of one function if one is named.

    Tasks of other notebooks are left alone and counted: a person confirms the end of each of them.
    """
    if engine is None:
        return OVER
    try:
        rows = [row for row in engine.tasks(wanted).rows if row.state not in tables.ENDED]
        rows = [row for row in rows if not function or palette.subject(row.name, row.function, row.kind) == function]
        own = [row for row in rows if not tables.owner(snapshot, row.job)]
        for row in own:
            engine.cancel_by_id(row.task_id)
    except (RayError, ValueError, OSError) as error:
        return str(error)
    left = f" {wording.count(len(rows) - len(own), 'task')} of other notebooks left alone." if rows != own else ""
    return f"Cancelled {wording.count(len(own), 'task')}.{left}"
