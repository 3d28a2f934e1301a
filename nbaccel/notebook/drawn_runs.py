"""The training runs as the cockpit's page gets them: the published records, with fewer points if there are many runs.

One message has all runs, so that a page that opens late has them at once. It stays under 64 KB, and with one run it has
all points of the record.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from nbaccel.notebook import packing
from nbaccel.views import run_snapshot, tables, thinning
from nbaccel.views.palette import HUES
from nbaccel.views.run_snapshot import KIND, CheckpointTick, Curve, RunSnapshot
from nbaccel.views.snapshot import Snapshot

MOST_RUNS = 16
MOST_POINTS = 2_000  # of all curves together
LEAST_POINTS = 12  # of a curve
FEW_ROWS = 8  # of ranks or checkpoints: they are sent as they are
DIGITS = 5  # of a reading: a drawing has no more
CODE = Path(__file__).parent / "static" / "runs.js"  # what draws them, sent with the first run


class DrawnRun(RunSnapshot, omit_defaults=True):
    """A run with what the page cannot know of it."""

    hue: int = -1  # of its name, as in all views of this kernel
    owner: str = ""  # the notebook or script, if it is not the reader's own


class DrawnRuns(msgspec.Struct, omit_defaults=True):
    """The message."""

    runs: list[DrawnRun]
    more: int = 0  # runs that are not in it


def of_snapshot(snapshot: Snapshot) -> DrawnRuns | None:
    """The runs of a snapshot in their order; None without a run."""
    runs = run_snapshot.in_order(run_snapshot.of_snapshot(snapshot))
    if not runs:
        return None
    jobs = {row.id: row.job for row in snapshot.published if row.kind == KIND}
    shown = runs[:MOST_RUNS]
    curves = sum(len(run.curves) for run in shown)
    most = max(LEAST_POINTS, MOST_POINTS // max(1, curves))
    drawn = [_drawn(run, tables.owner(snapshot, jobs.get(run.id, 0)), most) for run in shown]
    return DrawnRuns(drawn, len(runs) - len(shown))


def _drawn(run: RunSnapshot, owner: str, most_points: int) -> DrawnRun:
    given = {name: getattr(run, name) for name in run.__struct_fields__}
    given["curves"] = [Curve(each.name, _few(each.points, most_points)) for each in run.curves]
    given["metrics"] = {}  # the curves have those that are drawn
    latest = run.checkpoints[-1:]
    given["checkpoints"] = [
        tick if tick.best or tick in latest else CheckpointTick("", tick.report) for tick in run.checkpoints
    ]
    return DrawnRun(**given, hue=HUES.of(run.name), owner=owner)


def _few(points: list[thinning.Point], most: int) -> list[thinning.Point]:
    return [(report, float(f"{value:.{DIGITS}g}")) for report, value in thinning.few(points, most)]


def to_json(drawn: DrawnRuns | None) -> str:
    """The JSON to send; "" without a run. Many ranks or checkpoints go by columns."""
    if drawn is None:
        return ""
    sent = msgspec.to_builtins(drawn)
    for run in sent["runs"]:
        for rows in ("ranks", "checkpoints"):
            if len(run.get(rows, [])) > FEW_ROWS:
                run[rows] = packing.packed(run[rows])
    return msgspec.json.encode(sent).decode()
