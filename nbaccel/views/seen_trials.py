"""The trials of an experiment that has ended, as saved cards and results show them: a table, and what is drawn of them.

`nbaccel.tune` makes this record, and the notebook draws it; neither has to know the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from nbaccel.views import wording
from nbaccel.views.experiment_snapshot import params_words, short_trial
from nbaccel.views.tables import Table


class SeenTrial(Struct, frozen=True):
    """One trial: the parameters that vary (numbers, others as text), the last value and the curve of the metric."""

    id: str
    params: dict[str, float | str]
    value: float | None  # None: it has reported no finite value
    points: Sequence[tuple[int, float]] = ()  # (number of the report, value), the finite ones


class SeenTrials(Struct, frozen=True):
    """The trials, the best first if `mode` says which is better, and their tables of text."""

    tables: list[Table]
    metric: str = ""
    mode: str = ""  # "min" or "max"; "" if nothing says which is better
    names: list[str] = field(default_factory=list)  # of the parameters that vary
    trials: list[SeenTrial] = field(default_factory=list)


def best_words(seen: SeenTrials) -> str:
    """ "loss 0.0312 with lr 0.01, layers 2 (trial 00003)"; "" if nothing says which trial is the best."""
    best = seen.trials[0] if seen.trials and seen.mode else None
    if best is None or best.value is None:
        return ""
    params = {name: _said(value) for name, value in best.params.items()}
    value = f"{wording.plain(seen.metric)} {wording.number(best.value)}"
    return f"{value}{params_words(params)} (trial {short_trial(best.id)})"


def _said(value: float | str) -> str:
    return wording.number(value) if isinstance(value, float) else str(value)
