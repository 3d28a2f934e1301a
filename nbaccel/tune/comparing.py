"""Compares trials by a metric: the last value, the best one, or the mean of all or of the last ones. Reads numbers."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from nbaccel.views import wording

SCOPES = ("last", "all", "avg", "last-5-avg", "last-10-avg")
Compared = TypeVar("Compared")
_MEANS = {"last-5-avg": 5, "last-10-avg": 10}
_COMPARED = 10_000  # characters of a parameter


def check(metric: str | None, mode: str | None, scope: str = "last") -> tuple[str, str]:
    """The metric and the mode. Raises ValueError if one is missing or the scope is unknown."""
    if not metric or mode not in ("min", "max"):
        raise ValueError(
            f"Trials are compared by a metric and a mode, but they are {metric!r} and {mode!r}: pass "
            "metric='loss', mode='min', or give both to TuneConfig."
        )
    if scope not in SCOPES:
        raise ValueError(f"scope={scope!r} must be one of: {', '.join(SCOPES)}.")
    return metric, mode


def value_of(history: Sequence[dict[str, Any]], metric: str, mode: str, scope: str = "last") -> float | None:
    """The value by which a trial is compared; None if it never reported the metric."""
    found = [nested(metrics, metric) for metrics in history]
    values = [float(each) for each in found if isinstance(each, (int, float))]  # a bool counts, as in Ray
    if not values:
        return None
    if scope == "last":
        return values[-1]
    if scope == "all":
        finite = [each for each in values if math.isfinite(each)] or values
        return max(finite) if mode == "max" else min(finite)
    last = _MEANS.get(scope, len(values))
    return sum(values[-last:]) / len(values[-last:])


def analysis(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, float]:
    """The max, min, means and last value of a metric; {} if it is no number."""
    values = [float(row[name]) for row in rows if isinstance(row.get(name), (int, float))]
    if not values:
        return {}
    means = {scope: sum(values[-last:]) / len(values[-last:]) for scope, last in _MEANS.items()}
    return {"max": max(values), "min": min(values), "last": values[-1], "avg": sum(values) / len(values), **means}


def best(
    values: Iterable[tuple[float | None, Compared]], mode: str, *, filter_nan_and_inf: bool = True
) -> Compared | None:
    """What has the best value; None if nothing has one."""
    kept = [
        (value, what)
        for value, what in values
        if value is not None and (math.isfinite(value) or not filter_nan_and_inf)
    ]
    if not kept:
        return None
    worst = -math.inf if mode == "max" else math.inf
    key = lambda pair: worst if math.isnan(pair[0]) else pair[0]  # noqa: E731
    return (max if mode == "max" else min)(kept, key=key)[1]


def flat(metrics: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The metrics with nested names joined: {"eval/loss": 0.1, "config/lr": 0.01}."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{prefix}{name}/")
        else:
            found[f"{prefix}{name}"] = value
    return found


def varying(configs: Sequence[dict[str, Any]]) -> list[str]:
    """The names of the parameters that differ between configs; all of them if there is one config."""
    rows = [flat(config) for config in configs]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(rows) < 2:
        return names
    return [name for name in names if len({wording.text_of(row.get(name), _COMPARED, repr) for row in rows}) > 1]


def short_text(value: Any, most: int) -> str:
    """A parameter or a metric as short text: numbers with four digits."""
    text = wording.number(value) if type(value) is float else wording.encodable(wording.text_of(value, most + 1))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def nested(result: Mapping[str, Any], name: str) -> Any:
    """A value of a result; "eval/loss" also looks into nested dicts. None if it is missing."""
    if name in result or "/" not in name:
        return result.get(name)
    value: Any = result
    for part in name.split("/"):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def plain_number(value: Any) -> Any:
    """The int or float of a user's number, such as numpy's; anything else, also a bool, as it is."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value
