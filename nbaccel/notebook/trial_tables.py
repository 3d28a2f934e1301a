"""The trials of an experiment that has ended: the pictures that the page has drawn of them, and tables of the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from nbaccel.notebook import curves, page_pictures, parts
from nbaccel.notebook.parts import Html
from nbaccel.views import wording
from nbaccel.views.experiment_snapshot import ExperimentSummary, TrialSummary, short_trial

MOST_PARAMETERS = 6
MOST_CURVES = 4
GROUPS = 4  # of a parameter's numbers


def sections(seen: ExperimentSummary, pictures: Html = parts.NOTHING) -> list[Html]:
    """The metric over reports and by the values of each parameter."""
    found = [table for table in (_over_reports(seen), _by_parameter(seen)) if table]
    return page_pictures.with_table(pictures, found)


def _over_reports(seen: ExperimentSummary) -> Html:
    several = [each for each in seen.trials if len(each.points) > 1][:MOST_CURVES]
    if not several:
        return parts.NOTHING
    lines = [curves.Series(short_trial(each.id), each.points, "") for each in several]
    return parts.table(
        f"{wording.plain(seen.metric)} over reports", ["report", *(each.name for each in lines)], curves.rows(lines)
    )


def _by_parameter(seen: ExperimentSummary) -> Html:
    trials = [each for each in seen.trials if each.value is not None]
    names = [name for name in seen.names[:MOST_PARAMETERS] if any(name in each.params for each in trials)]
    if len(trials) < 2 or not names:
        return parts.NOTHING
    metric = wording.plain(seen.metric)
    columns = ["Parameter", "Values", "Trials", f"Lowest {metric}", "Median", "Highest"]
    return parts.table(f"{metric} by parameter", columns, [row for name in names for row in _rows(name, trials)])


def _rows(name: str, trials: Sequence[TrialSummary]) -> list[list[Html]]:
    """The metric by values of a parameter, or by GROUPS ranges of its numbers with as many trials each."""
    there = [each for each in trials if name in each.params]
    values = [each.params[name] for each in there]
    groups: dict[str, list[float]] = {}
    if are_numbers(values) and len(set(values)) > GROUPS:
        ordered = sorted(there, key=lambda each: float(each.params[name]))
        for part in range(GROUPS):
            chosen = ordered[part * len(ordered) // GROUPS : (part + 1) * len(ordered) // GROUPS]
            low, high = (wording.number(float(each.params[name])) for each in (chosen[0], chosen[-1]))
            groups.setdefault(f"{low} to {high}", []).extend(_values(chosen))
    else:
        for value in sorted(set(values), key=lambda each: (isinstance(each, str), each)):
            said = wording.plain(value) if isinstance(value, str) else wording.number(value)
            chosen = [each for each in there if each.params[name] == value]
            groups.setdefault(said, []).extend(_values(chosen))
    return [
        [
            parts.words(wording.plain(name)),
            parts.words(said),
            parts.words(str(len(found))),
            *(parts.words(wording.number(each)) for each in (min(found), statistics.median(found), max(found))),
        ]
        for said, found in groups.items()
    ]


def _values(trials: Sequence[TrialSummary]) -> list[float]:
    return [each.value for each in trials if each.value is not None]


def are_numbers(values: Sequence[float | str]) -> bool:
    """Whether all values are finite numbers; a bool is a word."""
    return all(type(value) in (int, float) and math.isfinite(value) for value in values)  # type: ignore[arg-type]
