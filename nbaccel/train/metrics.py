"""Checks the metrics of a report: numbers, texts, booleans, None, and dicts and lists of these.

A metric is written into the run's journal as JSON and sent to the driver, so it is made plain where it is reported:

    numpy scalars, tensors of one number ──► Python numbers          anything else ──► ValueError that names the key
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from nbaccel.train.saying import say

Metrics = dict[str, Any]
_LARGEST_TEXT = 10_000  # characters of one text; a metric is drawn and kept in memory
_MOST_BITS = 1_000  # of an int: a float can be made of it
_told: set[str] = set()  # the metrics of this process whose texts were cut


def plain(metrics: Any, who: str = "train.report()") -> Metrics:
    """The metrics as plain data. Raises ValueError unless they are a dict with texts as keys and allowed values.

    who  was given them, for the error: the function that the user has called
    """
    if not isinstance(metrics, Mapping):
        raise ValueError(f"{who} takes a dict of metrics, not {type(metrics).__name__}.")
    return {_key(key, who): _plain(str(key), value, who) for key, value in metrics.items()}


def packed(metrics: Metrics) -> bytes:
    """Plain metrics as bytes: a call with bytes is sent in half the time of one with nested dicts, which are searched
    for refs and classes.
    """
    return pickle.dumps(metrics, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Metrics:
    metrics: Metrics = pickle.loads(data)
    return metrics


def _key(key: Any, who: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{who}: the names of metrics are texts, not {key!r}.")
    return key


def _plain(path: str, value: Any, who: str) -> Any:
    if value is None or type(value) in (bool, float):
        return value
    if type(value) is int:
        return _int(path, value, who)
    if isinstance(value, str):
        return value if len(value) <= _LARGEST_TEXT else _cut(path, value, who)
    if isinstance(value, Mapping):
        return {_key(key, who): _plain(f"{path}/{key}", inner, who) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(f"{path}[{index}]", inner, who) for index, inner in enumerate(value)]
    return _number(path, value, who)


def _int(path: str, value: int, who: str) -> int:
    if value.bit_length() > _MOST_BITS:
        raise ValueError(
            f"{who}: the metric {path!r} is an int of {value.bit_length():,} bits, too large to be drawn or "
            "compared. Report it as a text, str(value)."
        )
    return value


def _cut(path: str, text: str, who: str) -> str:
    """The text's beginning. Says so once for each metric: the same metric of the next report is as long."""
    if path not in _told:
        _told.add(path)
        say(
            "train",
            f"{who}: the metric {path!r} is a text of {len(text):,} characters, of which the first "
            f"{_LARGEST_TEXT:,} are kept. Put longer texts into a file of a checkpoint.",
        )
    return text[:_LARGEST_TEXT]


def _number(path: str, value: Any, who: str) -> Any:
    """The number in a scalar of numpy or torch, recognised by its methods, so that neither has to be imported."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", None) is not None:
        count = value.size if isinstance(value.size, int) else getattr(value, "numel", lambda: 0)()
        if count == 1:
            found = item()
            if isinstance(found, (bool, int, float, str)):
                return found
        raise ValueError(
            f"{who}: the metric {path!r} is a {type(value).__module__}.{type(value).__name__} of {count} "
            "values. Report single numbers, such as loss.item() or x.mean().item()."
        )
    if isinstance(value, (int, float)):  # subclasses, such as IntEnum
        return float(value) if isinstance(value, float) else int(value)
    raise ValueError(
        f"{who}: the metric {path!r} is a {type(value).__name__}, {_short(value)}. Report numbers, texts, "
        "booleans, and dicts or lists of these; files go into a checkpoint."
    )


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's own __repr__
        return f"whose repr raises {type(error).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
