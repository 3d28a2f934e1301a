"""The snapshot of an experiment of `nbaccel.tune`, and its words: card, `%accel_status`, `nbaccel top` share them.

An experiment publishes it as a record of kind "experiment" (`views/record_book.py`): trials are counted, and the best
one is named. Times are Unix seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from nbaccel.views import tables, wording
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.tables import Table

KIND = "experiment"
UNDER_WAY = ("running", "stopping")
EXPERIMENT_SIGNS = {"running": "●", "stopping": "●", "finished": "✓", "stopped": "⊘", "failed": "✕"}
TRIAL_SIGNS = {"pending": "◌", "running": "●", "done": "✓", "stopped": "⊘", "error": "✕"}
INTERRUPTED = "⊘ interrupted"  # a trial that had begun when its experiment ended
_ENDED = ("done", "stopped", "error")


class BestTrial(msgspec.Struct):
    """The trial with the best last value; `config` has the parameters as text."""

    id: str
    value: float
    config: dict[str, str]


class ExperimentSnapshot(msgspec.Struct, omit_defaults=True):
    """One experiment at one moment."""

    id: str  # by which it is asked to stop
    name: str
    path: str
    state: str = "running"
    why: str = ""  # it stops, or has failed
    started_at: float = 0.0
    ended_at: float | None = None
    counts: dict[str, int] = {}  # state of trials -> how many
    total: int | None = None  # trials that there will be, if that is known
    metric: str = ""
    best: BestTrial | None = None
    stops: int = 0  # how often it was asked to stop
    shown: str = ""  # the metric that the rows of its trials have (views/experiment_snapshot.py)
    mode: str = ""  # "min" or "max"; "" if nothing says which is better

    @property
    def is_under_way(self) -> bool:
        return self.state in UNDER_WAY


def of_snapshot(snapshot: Snapshot) -> list[ExperimentSnapshot]:
    """The published experiments, those under way first, then the latest. One that cannot be read is left out."""
    found = []
    for row in snapshot.published:
        if row.kind == KIND:
            try:
                found.append(msgspec.convert(row.record, ExperimentSnapshot))
            except msgspec.ValidationError:  # of a later version
                continue
    return sorted(found, key=lambda each: (not each.is_under_way, -each.started_at))


def table(snapshot: Snapshot) -> tables.Table:
    """A row for each experiment."""
    rows = [
        (
            wording.plain(each.name),
            f"{EXPERIMENT_SIGNS.get(each.state, '◌')} {each.state}",
            trial_words(each),
            best_words(each),
            time_words(each, snapshot.time),
        )
        for each in of_snapshot(snapshot)
    ]
    return tables.Table("Experiments", ("Experiment", "State", "Trials", "Best", "Took"), rows)


def lines(snapshot: Snapshot) -> list[str]:
    """A line for each experiment."""
    return [one_line(each, snapshot.time) for each in of_snapshot(snapshot)]


# ---- words


def trial_words(experiment: ExperimentSnapshot) -> str:
    """ "4 of 50 trials ended · 2 running · 1 failed"; the others wait. Nothing runs of an experiment that has ended."""
    ended = sum(experiment.counts.get(state, 0) for state in _ENDED)
    if experiment.total is None:
        said = f"{wording.count(ended, 'trial')} ended"
    else:
        said = f"{ended} of {wording.count(experiment.total, 'trial')} ended"
    running, failed = experiment.counts.get("running", 0), experiment.counts.get("error", 0)
    runs = "running" if experiment.is_under_way else "interrupted"
    return wording.sentence([said, f"{running} {runs}" if running else "", f"{failed} failed" if failed else ""])


def best_words(experiment: ExperimentSnapshot, most: int = 4) -> str:
    """ "loss 0.0312 with lr 0.01, layers 2"; "" before the first report of the metric."""
    best = experiment.best
    if best is None:
        return ""
    return f"{wording.plain(experiment.metric)} {wording.number(best.value)}{params_words(best.config, most)}"


def params_words(params: Mapping[str, str], most: int = 4) -> str:
    """ " with lr 0.01, layers 2"; "" without any."""
    said = [f"{wording.plain(name)} {wording.plain(value)}" for name, value in params.items()]
    more = ", …" if len(said) > most else ""
    return f" with {', '.join(said[:most])}{more}" if said else ""


def short_trial(id: str) -> str:
    """A trial's id as people read it: the trials of an experiment share what stands before the number."""
    return wording.plain(id.rpartition("_")[2])


def time_words(experiment: ExperimentSnapshot, now: float) -> str:
    """How long the experiment has taken so far, or took."""
    return wording.age((now if experiment.ended_at is None else experiment.ended_at) - experiment.started_at)


def one_line(experiment: ExperimentSnapshot, now: float) -> str:
    """The whole experiment in one line, for terminals."""
    sign = EXPERIMENT_SIGNS.get(experiment.state, "◌")
    best = best_words(experiment)
    return wording.sentence(
        [
            f"{sign} {wording.plain(experiment.name)} {experiment.state} {time_words(experiment, now)}",
            trial_words(experiment),
            f"best {best}" if best else "",
            wording.plain(experiment.why).splitlines()[0] if experiment.why else "",
        ]
    )


# ---- the trials of an experiment as rows of its record: what a table of trials and its drawings show
#
# A row is some 200 bytes, so that a thousand of them reach a page in a few answers. A curve is a letter for each of
# at most LETTERS places between the first and the last report, `A` its lowest value and `/` its highest: 63 parts are
# enough for a drawing.


LETTERS = 40
LOG_FROM = 100  # values that are all positive and span more than this factor are drawn on a logarithmic axis
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = 5
Point = tuple[int, float]


class TrialCurve(msgspec.Struct, omit_defaults=True):
    """The metric over the numbers of reports; `.` among the letters is no finite value."""

    first: int
    last: int
    low: float
    high: float
    letters: str
    log: bool = False  # letters are parts of the logarithm

    def points(self) -> list[Point]:
        """The values that the letters stand for."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        count = max(1, len(self.letters) - 1)
        found = []
        for place, letter in enumerate(self.letters):
            if letter != ".":
                value = low + (high - low) * _ALPHABET.index(letter) / 63
                report = round(self.first + (self.last - self.first) * place / count)
                found.append((report, 10**value if self.log else value))
        return found


class TrialRow(msgspec.Struct, omit_defaults=True):
    """One trial. `config` has plain values as they are, and others as text."""

    number: int
    state: str = "pending"
    config: dict[str, Any] = {}
    value: float | str | None = None  # the last one of the metric; "nan" and "inf" as text
    reports: int = 0
    curve: TrialCurve | None = None
    devices: dict[str, list[str]] = {}
    pid: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    idle_s: float = 0.0  # between its attempts, when nothing of it ran
    error: str = ""
    attempts: int = 0
    stops: int = 0  # how often it was asked to stop, by itself
    waits: bool = False  # it was submitted, and its function has not begun


def curve_of(points: Sequence[Point]) -> TrialCurve | None:
    """The curve of these readings, by the numbers of their reports; None without two of them that are finite."""
    finite = [value for _, value in points if math.isfinite(value)]
    if len(finite) < 2:
        return None
    low, high = min(finite), max(finite)
    log = low > 0 and high / low > LOG_FROM
    bottom, top = (math.log10(low), math.log10(high)) if log else (low, high)
    first, last = points[0][0], points[-1][0]
    places = min(LETTERS, len(points))
    letters, at = [], 0
    for place in range(places):
        report = first + (last - first) * place / (places - 1)
        while at + 1 < len(points) and points[at + 1][0] <= report + 1e-9:
            at += 1
        value = points[at][1]
        if math.isfinite(value):
            height = math.log10(value) if log else value
            letters.append(_ALPHABET[round(63 * (height - bottom) / (top - bottom)) if top > bottom else 31])
        else:
            letters.append(".")
    return TrialCurve(first, last, shortened(low), shortened(high), "".join(letters), log)


def shortened(value: float) -> float:
    """As many digits as a drawing needs."""
    return float(f"{value:.{_DIGITS}g}")


# ---- the trials of an experiment that has ended, as saved cards and results show them
#
# `nbaccel.tune` makes this record, and the notebook draws it; neither has to know the other.


class TrialSummary(Struct, frozen=True):
    """One trial: the parameters that vary (numbers, others as text), the last value and the curve of the metric."""

    id: str
    params: dict[str, float | str]
    value: float | None  # None: it has reported no finite value
    points: Sequence[tuple[int, float]] = ()  # (number of the report, value), the finite ones


class ExperimentSummary(Struct, frozen=True):
    """The trials, the best first if `mode` says which is better, and their tables of text."""

    tables: list[Table]
    metric: str = ""
    mode: str = ""  # "min" or "max"; "" if nothing says which is better
    names: list[str] = field(default_factory=list)  # of the parameters that vary
    trials: list[TrialSummary] = field(default_factory=list)


def best_trial_words(seen: ExperimentSummary) -> str:
    """ "loss 0.0312 with lr 0.01, layers 2 (trial 00003)"; "" if nothing says which trial is the best."""
    best = seen.trials[0] if seen.trials and seen.mode else None
    if best is None or best.value is None:
        return ""
    params = {name: _param_words(value) for name, value in best.params.items()}
    value = f"{wording.plain(seen.metric)} {wording.number(best.value)}"
    return f"{value}{params_words(params)} (trial {short_trial(best.id)})"


def _param_words(value: float | str) -> str:
    return wording.number(value) if isinstance(value, float) else str(value)
