"""Callbacks of other libraries that report to a trial. Names as in Ray Tune."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import UserCallback
from nbaccel.tune.trial_session import report

Metrics = str | Sequence[str] | Mapping[str, str] | None


def chosen(metrics: Metrics, found: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the found metrics that are to be reported; None: all. A dict has their names in the report as keys."""
    if metrics is None:
        return dict(found)
    names = [metrics] if isinstance(metrics, str) else metrics
    wanted = dict(names) if isinstance(names, Mapping) else {name: name for name in names}
    return {name: found[source] for name, source in wanted.items() if source in found}


def send(metrics: Mapping[str, Any], checkpoint: Checkpoint | None = None) -> None:
    report(metrics, checkpoint=checkpoint)


PostProcess = Callable[[dict[str, Any]], dict[str, Any]]


# ---- of Ray Train


class TuneReportCallback(UserCallback):
    """Accepted, and not needed: rank 0's reports and checkpoints of a run in a trial are the trial's in any case."""
