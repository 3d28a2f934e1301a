"""Training runs and experiments as the cockpit's page gets them: their records, with fewer points for many runs.

One message has all runs, so that a page that opens late has them at once. It stays under 64 KB, and with one run it has
all points of the record.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from nbaccel.notebook.drawn import packed
from nbaccel.views import experiment_snapshot, run_snapshot, served_snapshot, tables
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.palette import HUES
from nbaccel.views.run_snapshot import CheckpointTick, Curve, RunSnapshot
from nbaccel.views.served_snapshot import ServedSnapshot
from nbaccel.views.snapshot import Snapshot

MOST_RUNS = 16
MOST_EXPERIMENTS = 8
MOST_SERVED = 8
MOST_POINTS = 2_000  # of all curves together
LEAST_POINTS = 12  # of a curve
FEW_ROWS = 8  # of ranks or checkpoints: they are sent as they are
DIGITS = 5  # of a reading: a drawing has no more
CODE = Path(__file__).parent / "static" / "runs.js"  # what draws them, sent with the first run


class DrawnRun(RunSnapshot, omit_defaults=True):
    """A run with what the page cannot know of it."""

    hue: int = -1  # of its name, as in all views of this kernel
    owner: str = ""  # the notebook or script, if it is not the reader's own


class DrawnExperiment(ExperimentSnapshot, omit_defaults=True):
    """An experiment with what the page cannot know of it. Its trials are asked for (`ReadRows`).

    changes  the number of the last change of its trials: the page hears that there is something to ask for
    """

    hue: int = -1
    owner: str = ""
    changes: int = 0


class DrawnApplication(ServedSnapshot, omit_defaults=True):
    """An application with what the page cannot know of it."""

    hue: int = -1
    owner: str = ""


class DrawnRuns(msgspec.Struct, omit_defaults=True):
    """The message."""

    runs: list[DrawnRun]
    experiments: list[DrawnExperiment] = []
    more: int = 0  # runs that are not in it
    served: list[DrawnApplication] = []


def of_snapshot(snapshot: Snapshot) -> DrawnRuns | None:
    """The runs and experiments of a snapshot in their order; None without any."""
    runs = run_snapshot.in_order(run_snapshot.of_snapshot(snapshot))
    experiments = experiment_snapshot.of_snapshot(snapshot)[:MOST_EXPERIMENTS]
    served = served_snapshot.of_snapshot(snapshot)[:MOST_SERVED]
    if not runs and not experiments and not served:
        return None
    jobs = {row.id: row.job for row in snapshot.published}
    changes = {row.id: row.changes for row in snapshot.published}
    shown = runs[:MOST_RUNS]
    curves = sum(len(run.curves) for run in shown)
    most = max(LEAST_POINTS, MOST_POINTS // max(1, curves))
    drawn = [_drawn(run, tables.owner(snapshot, jobs.get(run.id, 0)), most) for run in shown]
    also = [
        _experiment(each, tables.owner(snapshot, jobs.get(each.id, 0)), changes.get(each.id, 0)) for each in experiments
    ]
    applications = [_application(each, tables.owner(snapshot, jobs.get(each.id, 0))) for each in served]
    return DrawnRuns(drawn, also, len(runs) - len(shown), applications)


def _application(served: ServedSnapshot, owner: str) -> DrawnApplication:
    given = {name: getattr(served, name) for name in served.__struct_fields__}
    return DrawnApplication(**{**given, "socket": ""}, hue=HUES.of(served.name), owner=owner)


def _experiment(experiment: ExperimentSnapshot, owner: str, changes: int) -> DrawnExperiment:
    given = {name: getattr(experiment, name) for name in experiment.__struct_fields__}
    return DrawnExperiment(**given, hue=HUES.of(experiment.name), owner=owner, changes=changes)


def _drawn(run: RunSnapshot, owner: str, most_points: int) -> DrawnRun:
    given = {name: getattr(run, name) for name in run.__struct_fields__}
    given["curves"] = [Curve(each.name, _few(each.points, most_points)) for each in run.curves]
    given["metrics"] = {}  # the curves have those that are drawn
    latest = run.checkpoints[-1:]
    given["checkpoints"] = [
        tick if tick.best or tick in latest else CheckpointTick("", tick.report) for tick in run.checkpoints
    ]
    return DrawnRun(**given, hue=HUES.of(run.name), owner=owner)


def _few(points: list[run_snapshot.Point], most: int) -> list[run_snapshot.Point]:
    return [(report, float(f"{value:.{DIGITS}g}")) for report, value in run_snapshot.few_points(points, most)]


def to_json(drawn: DrawnRuns | None) -> str:
    """The JSON to send; "" without any. Many ranks or checkpoints go by columns."""
    if drawn is None:
        return ""
    sent = msgspec.to_builtins(drawn)
    for run in sent["runs"]:
        for rows in ("ranks", "checkpoints"):
            if len(run.get(rows, [])) > FEW_ROWS:
                run[rows] = packed(run[rows])
    return msgspec.json.encode(sent).decode()
