"""The card of an experiment, drawn from its ExperimentSnapshot, and after its end with its trials, as it is saved."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from nbaccel.notebook import blocks, curves, page_pictures, static_tables
from nbaccel.notebook.blocks import Html
from nbaccel.views import experiment_snapshot, palette, wording
from nbaccel.views.experiment_snapshot import (
    EXPERIMENT_SIGNS,
    ExperimentSnapshot,
    ExperimentSummary,
    TrialSummary,
    short_trial,
)
from nbaccel.views.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ShownExperiment:
    """An experiment whose card is shown; its trials are known when it has ended, and then the page's pictures."""

    snapshot: ExperimentSnapshot
    seen: ExperimentSummary | None = None
    pictures: Html = blocks.NOTHING

    @property
    def id(self) -> str:
        return self.snapshot.id

    @property
    def state(self) -> str:
        return self.snapshot.state

    @property
    def is_under_way(self) -> bool:
        return self.snapshot.is_under_way


def mimebundle(shown: ShownExperiment, now: float) -> dict[str, str]:
    """The card as text and as HTML."""
    return {"text/plain": text(shown.snapshot, now), "text/html": html(shown.snapshot, now, shown.seen, shown.pictures)}


def text(experiment: ExperimentSnapshot, now: float) -> str:
    """The card in plain text."""
    lines = [experiment_snapshot.one_line(experiment, now), f"path {wording.plain(experiment.path)}"]
    return "\n".join([*lines, *_last_lines(experiment, now)])


def html(
    experiment: ExperimentSnapshot, now: float, seen: ExperimentSummary | None = None, pictures: Html = blocks.NOTHING
) -> str:
    """The card as HTML; it needs nothing else and stays correct when it is saved."""
    best = experiment_snapshot.best_words(experiment, most=len(experiment.best.config) if experiment.best else 0)
    why = wording.plain(experiment.why)
    head = [
        Html(f"{state(experiment)} {blocks.words(experiment.name, strong=True)}"),
        blocks.words(experiment_snapshot.time_words(experiment, now)),
        blocks.words(experiment_snapshot.trial_words(experiment)),
    ]
    return blocks.box(
        [
            blocks.paragraph(blocks.join(head, " · "), kind="header"),
            (blocks.attention(why) if experiment.state == "failed" else blocks.line(why)) if why else blocks.NOTHING,
            blocks.line(f"best: {best} (trial {experiment_snapshot.short_trial(experiment.best.id)})")
            if experiment.best
            else blocks.NOTHING,
            blocks.note(wording.plain(experiment.path)),
            *map(blocks.note, _last_lines(experiment, now)),
            *(trials(seen, pictures) if seen is not None else []),
        ]
    )


def trials(seen: ExperimentSummary, pictures: Html = blocks.NOTHING) -> list[Html]:
    """The trials, the best first, failures by error, and the pictures or tables of the metric."""
    return [*map(static_tables.of_table, seen.tables), *sections(seen, pictures)]


def state(experiment: ExperimentSnapshot) -> Html:
    """Its shape and its word; one that runs has its colour."""
    known = {"failed": palette.FAILURE, "running": palette.colour(palette.HUES.of(experiment.name))}
    shape = blocks.sign(EXPERIMENT_SIGNS.get(experiment.state, "◌"), known.get(experiment.state, palette.WAITING))
    return Html(f'<span class="nbaccel-pill">{shape} {blocks.words(experiment.state)}</span>')


def _last_lines(experiment: ExperimentSnapshot, now: float) -> list[str]:
    """How to stop an experiment that is under way, or to go on with one that has not finished."""
    if experiment.is_under_way:
        return [
            "Stop: the notebook's Stop button; running trials end at their next report. Once again interrupts them",
            f"as of {wording.moment(now)}",
        ]
    return [] if experiment.state == "finished" else [f"Go on: tune.Tuner.restore({experiment.path!r}, trainable)"]


def table(snapshot: Snapshot) -> Html:
    """A row for each experiment of the cluster; "" without one."""
    experiments = experiment_snapshot.of_snapshot(snapshot)
    if not experiments:
        return blocks.NOTHING
    heads = [[blocks.name_cell(each.name), state(each)] for each in experiments]
    return blocks.table_with(heads, experiment_snapshot.table(snapshot))


MOST_PARAMETERS = 6
MOST_CURVES = 4
GROUPS = 4  # of a parameter's numbers


def sections(seen: ExperimentSummary, pictures: Html = blocks.NOTHING) -> list[Html]:
    """The metric over reports and by the values of each parameter."""
    found = [table for table in (_over_reports(seen), _by_parameter(seen)) if table]
    return page_pictures.with_table(pictures, found)


def _over_reports(seen: ExperimentSummary) -> Html:
    several = [each for each in seen.trials if len(each.points) > 1][:MOST_CURVES]
    if not several:
        return blocks.NOTHING
    lines = [curves.Series(short_trial(each.id), each.points, "") for each in several]
    return blocks.table(
        f"{wording.plain(seen.metric)} over reports", ["report", *(each.name for each in lines)], curves.rows(lines)
    )


def _by_parameter(seen: ExperimentSummary) -> Html:
    trials = [each for each in seen.trials if each.value is not None]
    names = [name for name in seen.names[:MOST_PARAMETERS] if any(name in each.params for each in trials)]
    if len(trials) < 2 or not names:
        return blocks.NOTHING
    metric = wording.plain(seen.metric)
    columns = ["Parameter", "Values", "Trials", f"Lowest {metric}", "Median", "Highest"]
    return blocks.table(f"{metric} by parameter", columns, [row for name in names for row in _rows(name, trials)])


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
            blocks.words(wording.plain(name)),
            blocks.words(said),
            blocks.words(str(len(found))),
            *(blocks.words(wording.number(each)) for each in (min(found), statistics.median(found), max(found))),
        ]
        for said, found in groups.items()
    ]


def _values(trials: Sequence[TrialSummary]) -> list[float]:
    return [each.value for each in trials if each.value is not None]


def are_numbers(values: Sequence[float | str]) -> bool:
    """Whether all values are finite numbers; a bool is a word."""
    return all(type(value) in (int, float) and math.isfinite(value) for value in values)  # type: ignore[arg-type]
