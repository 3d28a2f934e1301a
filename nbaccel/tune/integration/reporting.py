"""What the callbacks of other libraries have in common: which metrics they report, under which names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbaccel.train.checkpoint import Checkpoint
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
