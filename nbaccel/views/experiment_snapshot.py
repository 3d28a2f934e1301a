"""The snapshot of an experiment of `nbaccel.tune`, and its words: card, `%accel_status`, `nbaccel top` share them.

An experiment publishes it as a record of kind "experiment" (`views/record_book.py`): trials are counted, and the best
one is named. Times are Unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nbaccel.views import tables, wording
from nbaccel.views.snapshot import Snapshot

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
    shown: str = ""  # the metric that the rows of its trials have (views/trial_rows.py)
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
