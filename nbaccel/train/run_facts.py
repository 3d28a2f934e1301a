"""The facts of a run that its thread notes, and pure functions that make a snapshot of them for views.

Curves stay small while a run goes on: when a curve has too many points, the lowest and highest of each four stay, so
that no peak is lost and the cost does not grow with the length of the run.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel import api, exceptions
from nbaccel.train import controller as ct
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.journal import Kept, best, rank_of
from nbaccel.train.ranks import Seat
from nbaccel.views import sinks, wording
from nbaccel.views.record_book import nobody_asked
from nbaccel.views.run_snapshot import KIND, CheckpointTick, Curve, Point, RankDot, RunSnapshot, few_points, thinned

if TYPE_CHECKING:
    from nbaccel.train.result import Result

MOST_POINTS = 100  # of a curve
MOST_CURVES = 6
MOST_RANKS = 64
MOST_TICKS = 40
_EPOCHS = ("epochs", "num_epochs", "max_epochs", "n_epochs", "num_train_epochs")  # its name for people
_LONGEST_TEXT = 200
_LARGEST_INT = 2**63  # that views can be sent


@dataclass(slots=True)
class RunFacts:
    """The facts of a run; only the run's thread writes them."""

    id: str
    name: str
    path: str
    started_at: float
    each: Mapping[str, float] = field(default_factory=dict)
    epochs: int | None = None
    state: str = "waiting"
    why: str = ""
    phase: str = ""  # what happens before the function begins
    ended_at: float | None = None
    backend: str = ""
    ranks: dict[int, RankDot] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    curves: dict[str, list[Point]] = field(default_factory=dict)
    reports: int = 0
    epoch_times: list[tuple[float, float]] = field(default_factory=list)  # the first and the last epoch, and when
    counts_from_zero: bool = False  # its epochs
    failures: int = 0
    stops: int = 0  # requests to stop: steps down the ladder

    def goes_on_from(self, reports: Sequence[Mapping[str, Any]]) -> None:
        """Note the reports of an earlier run of this name, as its journal has them; when they came does not count."""
        for each in reports:
            self.reported(each["report"], each["metrics"], 0.0)

    # ---- events

    def worker_group_begins(self, size: int) -> None:
        self.ranks = {rank: RankDot(rank) for rank in range(size)}
        self.state = "restarting" if self.failures else "waiting"
        self.phase = "starting workers"

    def worker_group_stands(self, seats: Sequence[Seat], first_report: int) -> None:
        """Note that a worker group begins; reports after the checkpoint from which it continues are made again."""
        several = len({seat.facts.address for seat in seats}) > 1
        self.ranks = {
            seat.rank: RankDot(
                seat.rank,
                "running",
                seat.facts.pid,
                {name: list(ids) for name, ids in seat.facts.device_ids.items() if ids},
                seat.facts.address if several else "",
            )
            for seat in seats
        }
        self.state, self.why, self.phase = "running", "", ""
        self.curves = {name: kept for name, points in self.curves.items() if (kept := _before(points, first_report))}
        self.reports = min(self.reports, first_report)
        self.epoch_times.clear()

    def happened(self, event: ct.Event) -> None:
        """Note an event that the controller has handled."""
        match event:
            case ct.Reported(rank, report) if rank in self.ranks:
                self.ranks[rank].report = report
            case ct.Returned(rank):
                self._rank(rank, "returned")
            case ct.Stopped(rank):
                self._rank(rank, "stopped")
            case ct.Failed(rank) | ct.Died(rank):
                self._rank(rank, "failed")
            case ct.StopPressed() if self.ended_at is None:
                self.state = "stopping"
                self.stops += 1

    def _rank(self, rank: int, state: str) -> None:
        if rank in self.ranks:
            self.ranks[rank].state = state

    def reported(self, number: int, metrics: Mapping[str, Any], now: float) -> None:
        """Note the metrics of a report of rank 0."""
        self.metrics = metrics
        self.reports = max(self.reports, number + 1)
        for name, value in numbers(metrics).items():
            if name in self.curves or len(self.curves) < MOST_CURVES:
                points = self.curves.setdefault(name, [])
                points.append((number, value))
                if len(points) > 2 * MOST_POINTS:
                    self.curves[name] = thinned(points)
        self.epochs = epochs_of(metrics) or self.epochs
        epoch = metrics.get("epoch")
        if isinstance(epoch, (int, float)) and math.isfinite(epoch):
            self.counts_from_zero = self.counts_from_zero or epoch < 1
            self.epoch_times = [*self.epoch_times[:1], (float(epoch), now)]

    def waits(self, why: str) -> None:
        self.why = why

    def workers_connect(self, imports: Sequence[str]) -> None:
        self.phase = " and ".join([f"importing {each}" for each in imports] + ["connecting ranks"])

    def ended(self, how: str, why: str, now: float) -> None:
        self.state, self.why, self.ended_at = how, why, now


def numbers(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The metrics that can be drawn as curves; a nested one is "eval/loss". Epochs are left out."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            found |= numbers(value, f"{prefix}{name}/")
        elif type(value) in (int, float) and math.isfinite(value) and name not in ("epoch", *_EPOCHS):
            found[f"{prefix}{name}"] = float(value)
    return found


def _before(points: Sequence[Point], first: int) -> list[Point]:
    return [point for point in points if point[0] < first]


def epochs_of(config: Any) -> int | None:
    """The number of epochs that a training function's config names, or None."""
    if not isinstance(config, Mapping):
        return None
    found = (config.get(name) for name in _EPOCHS)
    return next((value for value in found if type(value) is int and 0 < value < _LARGEST_INT), None)


def snapshot_of(facts: RunFacts, kept: Sequence[Kept], config: CheckpointConfig) -> RunSnapshot:
    """Make the snapshot of a run; the same facts give the same snapshot."""
    epoch, done, left = _epochs(facts)
    found = best(kept, config)
    has_score = found is not None and rank_of(found, config)[0]  # else it is the newest one, whatever its values
    ticks = [CheckpointTick(each.folder, each.report, has_score and each is found) for each in kept]
    shown = [each for each in ticks[:-MOST_TICKS] if each.best] + ticks[-MOST_TICKS:]
    return RunSnapshot(
        id=facts.id,
        name=wording.encodable(facts.name),
        path=wording.encodable(facts.path),
        state=facts.state,
        why=wording.encodable(facts.why),
        phase=facts.phase,
        started_at=facts.started_at,
        ended_at=facts.ended_at,
        backend=facts.backend,
        each=dict(facts.each),
        ranks=[_copy(facts.ranks[rank]) for rank in sorted(facts.ranks)[:MOST_RANKS]],
        workers=len(facts.ranks),
        reports=facts.reports,
        metrics={_name(name): _sendable(value) for name, value in _scalars(facts.metrics).items()},
        curves=[Curve(_name(name), few_points(points, MOST_POINTS)) for name, points in facts.curves.items()],
        checkpoints=shown,
        kept=len(kept),
        load=wording.encodable(f'nbaccel.train.Checkpoint("{facts.path}/{found.folder}")') if found is not None else "",
        epoch=epoch,
        epochs=facts.epochs,
        epochs_done=done,
        left_s=left,
        failures=facts.failures,
        stops=facts.stops,
    )


def snapshot_of_result(result: Result) -> RunSnapshot:
    """Make the snapshot of a run from its Result, which has neither its duration nor its workers."""
    facts = RunFacts("", os.path.basename(result.path), result.path, 0.0)
    for number, metrics in enumerate(result.history):
        facts.reported(number, metrics, 0.0)
    facts.state = "failed" if result.error is not None else "stopped" if result.stopped else "finished"
    facts.why = (str(result.error).splitlines() or [""])[0] if result.error is not None else ""
    kept = [
        Kept(os.path.basename(checkpoint.path), _report_of(checkpoint.path), metrics)
        for checkpoint, metrics in result.best_checkpoints
    ]
    return snapshot_of(facts, sorted(kept, key=lambda each: each.report), CheckpointConfig())


def _report_of(path: str) -> int:
    number = path.rpartition("_")[2]
    return int(number) if number.isdecimal() else 0


def _copy(rank: RankDot) -> RankDot:
    return RankDot(rank.rank, rank.state, rank.pid, dict(rank.devices), rank.node, rank.report)


def _scalars(metrics: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in metrics.items() if isinstance(value, (bool, int, float, str))}
    return dict(list(found.items())[:20])


def _name(name: str) -> str:
    return wording.encodable(name[:_LONGEST_TEXT])


def _sendable(value: Any) -> Any:
    """A metric as views can be sent it: short, and a large int as the nearest float."""
    if isinstance(value, str):
        return wording.encodable(value[:_LONGEST_TEXT])
    return float(value) if type(value) is int and abs(value) >= _LARGEST_INT else value


def _epochs(facts: RunFacts) -> tuple[float | None, float | None, float | None]:
    """The last epoch, the number of epochs done, and the seconds left at the pace so far."""
    if not facts.epoch_times:
        return None, None, None
    epoch, now = facts.epoch_times[-1]
    first, began = facts.epoch_times[0]
    if not facts.epochs:
        return epoch, None, None
    done = min(float(facts.epochs), epoch + 1 if facts.counts_from_zero else epoch)
    if epoch <= first:
        return epoch, done, None
    return epoch, done, max(0.0, (facts.epochs - done) * (now - began) / (epoch - first))


# ---- shows a run to all viewers: publishes its snapshot, and draws it under its cell, after each change
#
# ```
#   the run's thread ──► RunFacts ──► snapshot_of ──┬── publish("run", …) ──► snapshots of the cluster
#                                                   └── sinks.run ──► the card of the cell, or a line in a terminal
# ```
# At most SNAPSHOTS_PER_S snapshots leave; the first and the last always do.


SNAPSHOTS_PER_S = 4
MOST_ENDED = 4  # runs of this process that views still show when they have ended
_ended: list[str] = []  # their ids, oldest first


class Live:
    """The views of one run, for the run's thread. `asked` is called in another thread with a request such as "stop"."""

    def __init__(
        self,
        facts: RunFacts,
        kept: Callable[[], Sequence[Kept]],
        config: CheckpointConfig,
        asked: Callable[[str], object] = lambda what: None,
    ) -> None:
        self.facts = facts
        self.due: float | None = None  # on the monotonic clock: when to show the changes
        self._kept = kept
        self._config = config
        self._asked = asked
        self._last = b""
        self._shown_at = float("-inf")

    def snapshot(self) -> RunSnapshot:
        """The current snapshot, for any thread; it may show a report that is only half noted."""
        return snapshot_of(self.facts, list(self._kept()), self._config)

    def changed(self) -> None:
        """Show the run soon, because something has happened."""
        if self.due is None:
            self.due = max(time.monotonic(), self._shown_at + 1 / SNAPSHOTS_PER_S)

    def show_if_due(self) -> None:
        if self.due is not None and time.monotonic() >= self.due:
            self.show()

    def show(self) -> None:
        """Show the current snapshot, if it differs from the last one."""
        self.due = None
        snapshot = self.snapshot()
        encoded = msgspec.json.encode(snapshot)
        if encoded == self._last:
            return
        self._last, self._shown_at = encoded, time.monotonic()
        sinks.installed.run(snapshot)
        try:
            api.publish(KIND, snapshot.id, msgspec.to_builtins(snapshot), self._asked)
        except exceptions.RayError:
            pass  # the cluster has ended, of which the run learns in another way

    def end(self, how: str, why: str) -> None:
        """Show how the run ended, while this process lives and few other runs have ended since."""
        self._asked = nobody_asked  # a published record keeps whom it asks
        self.facts.ended(how, why, time.time())
        self.show()
        _ended.append(self.facts.id)
        while len(_ended) > MOST_ENDED:
            try:
                api.publish(KIND, _ended.pop(0), None)
            except exceptions.RayError:
                pass  # the cluster has ended, and its snapshots with it
