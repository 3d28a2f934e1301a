"""Metrics that are small arrays of numbers become lists, as the journal and result.json can hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 10_000  # values of an array; a larger one is refused, as by nbaccel.train
_PLAIN = (bool, int, float, str, type(None))


def with_lists(value: Any) -> Any:
    """The same metrics, with a list in the place of each array of more than one number; without one, as they are."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        made = {name: with_lists(each) for name, each in value.items()}
        return made if any(made[name] is not each for name, each in value.items()) else value
    if type(value) in (list, tuple):
        items = [with_lists(each) for each in value]
        return items if any(one is not each for one, each in zip(items, value, strict=True)) else value
    shape, to_list = getattr(value, "shape", None), getattr(value, "tolist", None)
    if not shape or not callable(to_list) or _size(shape) > MOST:
        return value
    return to_list()


def _size(shape: Any) -> int:
    size = 1
    for each in shape:
        size *= each
    return size
