"""The snapshot of a training run, and its words: card, `%accel_status`, `nbaccel top` and terminals share them.

A run publishes it as a record of kind "run" (`views/record_book.py`), so it is small: curves are thinned where they are
made. Times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from nbaccel.views import tables, wording
from nbaccel.views.snapshot import Snapshot

KIND = "run"
UNDER_WAY = ("waiting", "running", "stopping", "restarting")
RUN_SIGNS = {
    "waiting": "◌",
    "restarting": "◌",
    "running": "●",
    "stopping": "●",
    "finished": "✓",
    "returned": "✓",
    "stopped": "⊘",
    "failed": "✕",
}


class RankDot(msgspec.Struct, omit_defaults=True):
    """One rank: waiting, running, returned, stopped or failed."""

    rank: int
    state: str = "waiting"
    pid: int | None = None
    devices: dict[str, list[str]] = {}
    node: str = ""  # its address, if the worker group has several nodes
    report: int | None = None  # the last one


class Curve(msgspec.Struct):
    """A metric over the numbers of reports."""

    name: str
    points: list[tuple[int, float]]


class CheckpointTick(msgspec.Struct, omit_defaults=True):
    name: str  # of its folder
    report: int
    best: bool = False  # by the score that the run's CheckpointConfig names


class RunSnapshot(msgspec.Struct, omit_defaults=True):
    """One run at one moment."""

    id: str  # by which it is asked to stop
    name: str
    path: str
    state: str = "waiting"
    why: str = ""  # it waits, or has failed
    phase: str = ""  # before its function begins: "starting workers"
    started_at: float = 0.0
    ended_at: float | None = None
    backend: str = ""  # that connects the ranks: "nccl"
    each: dict[str, float] = {}  # the demand of each worker
    ranks: list[RankDot] = []
    reports: int = 0
    metrics: dict[str, float | int | str | bool] = {}  # of the last report
    curves: list[Curve] = []
    checkpoints: list[CheckpointTick] = []  # the kept ones, oldest first; of many the newest and the best one
    load: str = ""  # the line that loads the best checkpoint; without a score the newest one
    epoch: float | None = None  # the one that was reported last
    epochs: int | None = None  # how many there will be
    epochs_done: float | None = None  # of those
    left_s: float | None = None
    failures: int = 0
    stops: int = 0  # how often it was asked to stop
    workers: int = 0  # of the worker group, more than `ranks` where it is large
    kept: int = 0  # checkpoints, more than `checkpoints` where they are many

    @property
    def is_under_way(self) -> bool:
        return self.state in UNDER_WAY


def of_snapshot(snapshot: Snapshot) -> list[RunSnapshot]:
    """The published runs; a record of a later version that cannot be read is left out."""
    found = []
    for row in snapshot.published:
        if row.kind == KIND:
            try:
                found.append(msgspec.convert(row.record, RunSnapshot))
            except msgspec.ValidationError:
                continue
    return found


def asks_to_stop(what: str, stops: int) -> bool:
    """Whether a request is to stop a run that has been asked `stops` times before.

    "stop" always is. "stop 1" is the press of a button that was drawn after one request: if there have been more since,
    it is refused, because it would go a step further than the button said.
    """
    word, _, before = what.partition(" ")
    return word == "stop" and before in ("", str(stops))


def table(snapshot: Snapshot) -> tables.Table:
    """A row for each run, those under way first."""
    rows = [
        (
            wording.plain(run.name),
            f"{RUN_SIGNS.get(run.state, '◌')} {run.state}",
            worker_words(run) if run.ranks else "",
            progress_words(run),
            metric_words(run),
            checkpoint_words(run),
            time_words(run, snapshot.time),
        )
        for run in in_order(of_snapshot(snapshot))
    ]
    columns = ("Run", "State", "Workers", "Progress", "Metrics", "Checkpoints", "Took")
    empty = {name for place, name in enumerate(columns) if not any(row[place] for row in rows)}
    return tables.without_columns(tables.Table("Training runs", columns, rows), empty)


def in_order(runs: Sequence[RunSnapshot]) -> list[RunSnapshot]:
    """The runs under way first, then the latest."""
    return sorted(runs, key=lambda run: (not run.is_under_way, -run.started_at))


# ---- words


def worker_words(run: RunSnapshot) -> str:
    """ "2 workers on GPU 0, 1 · nccl"; without devices, the resources of each worker."""
    held: dict[str, list[str]] = {}
    for rank in run.ranks:
        for resource, ids in rank.devices.items():
            held.setdefault(resource, []).extend(id for id in ids if id not in held.get(resource, []))
    workers = wording.count(max(run.workers, len(run.ranks)), "worker")
    devices = wording.device_ids(held)
    each = f"{workers} with {wording.demand(run.each)} each" if run.each else workers  # without any: this process
    return wording.sentence([f"{workers} on {devices}" if devices else each, run.backend])


def progress_words(run: RunSnapshot) -> str:
    """ "3 of 10 epochs · about 2 min 05 s left · 7 reports"; "epoch 3" if the number of epochs is unknown."""
    epoch = "" if run.epoch is None else f"epoch {wording.amount(run.epoch)}"
    if run.epochs is not None and run.epochs_done is not None:
        epoch = f"{wording.amount(run.epochs_done)} of {wording.count(run.epochs, 'epoch')}"
    left = f"about {wording.age(run.left_s)} left" if run.left_s is not None and run.is_under_way else ""
    phase = (run.is_under_way and run.phase) or "no report yet"
    return wording.sentence([epoch, left, wording.count(run.reports, "report") if run.reports else phase])


def time_words(run: RunSnapshot, now: float) -> str:
    """How long the run has taken so far, or took; "" if unknown."""
    if not run.started_at:
        return ""
    return wording.age((now if run.ended_at is None else run.ended_at) - run.started_at)


def metric_words(run: RunSnapshot, most: int = 4) -> str:
    """The last values of the run's first metrics: "loss 0.3173, accuracy 0.94"."""
    return ", ".join(
        f"{wording.plain(curve.name)} {wording.number(curve.points[-1][1])}" for curve in run.curves[:most]
    )


def rank_counts(ranks: Sequence[RankDot], workers: int = 0) -> str:
    """How many ranks are in each state, in the order in which they appear: "2 running, 1 returned"."""
    counts: dict[str, int] = {}
    for rank in ranks:
        counts[rank.state] = counts.get(rank.state, 0) + 1
    more = [f"and {workers - len(ranks)} more"] if workers > len(ranks) else []
    return ", ".join([*(f"{number} {state}" for state, number in counts.items()), *more])


def checkpoint_words(run: RunSnapshot) -> str:
    """ "3 checkpoints, best checkpoint_000004"; the newest one, if no score says which is best."""
    if not run.checkpoints:
        return ""
    best = best_of(run)
    named = f"best {best.name}" if best is not None else f"newest {run.checkpoints[-1].name}"
    return f"{wording.count(max(run.kept, len(run.checkpoints)), 'checkpoint')}, {named}"


def best_of(run: RunSnapshot) -> CheckpointTick | None:
    """The checkpoint with the best score; None without scores."""
    return next((each for each in run.checkpoints if each.best), None)


def load_words(run: RunSnapshot) -> str:
    """Which checkpoint the run's line `load` loads."""
    return "Load the best one:" if best_of(run) is not None else "Load the newest one:"


def one_line(run: RunSnapshot, now: float) -> str:
    """The whole run in one line, for terminals."""
    return wording.sentence(
        [
            f"{RUN_SIGNS.get(run.state, '◌')} {wording.plain(run.name)} {run.state} {time_words(run, now)}",
            progress_words(run),
            metric_words(run),
            checkpoint_words(run),
            wording.plain(run.why).splitlines()[0] if run.why else "",
        ]
    )


# ---- makes a curve of fewer points that looks the same: no peak is lost, and the first and the last point stay


Point = tuple[int, float]


def thinned(points: Sequence[Point]) -> list[Point]:
    """About half of the points: of each four the lowest and the highest; the first and the last point always stay."""
    kept: list[Point] = [points[0]]
    for start in range(1, len(points) - 1, 4):
        group = points[start : min(start + 4, len(points) - 1)]
        low, high = min(group, key=lambda point: point[1]), max(group, key=lambda point: point[1])
        kept += [low] if low == high else sorted((low, high))
    return [*kept, points[-1]]


def few_points(points: Sequence[Point], most: int) -> list[Point]:
    """At most this many points, five or more."""
    while len(points) > most:
        points = thinned(points)
    return list(points)
