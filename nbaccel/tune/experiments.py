"""`tune.run_experiments`: several experiments, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbaccel.tune.entry import run
from nbaccel.tune.experiment import Experiment
from nbaccel.tune.trial import Trial

Given = Experiment | Mapping[str, Any] | Sequence[Experiment | Mapping[str, Any]]


def run_experiments(experiments: Given, **options: Any) -> list[Trial]:
    """Run experiments one after the other; returns all their trials.

    experiments  an Experiment, a dict {"name": {"run": f, "config": {…}}}, or a list of these
    options      of tune.run, for all: scheduler, verbose, callbacks, resume, …; concurrent is accepted, as they wait
                 for each other's resources in either case
    """
    options.pop("concurrent", None)
    found: list[Trial] = []
    for each in _listed(experiments):
        analysis = run(each.run, name=each.name, **{**each.spec, **options})
        found += analysis.trials
    return found


def _listed(given: Any) -> list[Experiment]:
    if isinstance(given, Experiment):
        return [given]
    if isinstance(given, Mapping):
        return [Experiment.from_json(name, spec) for name, spec in given.items()]
    if isinstance(given, (list, tuple)):
        return [one for each in given for one in _listed(each)]
    raise TypeError(f"run_experiments takes an Experiment, a dict of them by name, or a list, not {given!r}.")
