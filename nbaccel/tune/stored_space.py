"""A search space as JSON, for the journal, so that an experiment is given more samples without its space.

Only what comes back exactly is stored: plain values, dicts, lists and tuples of them, and every domain but
`sample_from`, which is a function. Of any other space the journal has None, and it is given again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from nbaccel.tune.experiment_journal import MOST_BITS
from nbaccel.tune.search.sample import Categorical, Domain, Float, Integer, Normal

MOST_BYTES = 256_000  # of a space; one with larger lists of values is given again
_DOMAIN, _TUPLE = "__domain__", "__tuple__"


class _NotStored(Exception):
    """The space holds something that JSON cannot give back."""


def stored(space: Mapping[str, Any]) -> Any:
    """The space as JSON; None if a part of it would not come back as it is."""
    try:
        found = {name: _stored(value) for name, value in space.items() if _is_name(name)}
        return found if len(json.dumps(found)) <= MOST_BYTES else None
    except _NotStored:
        return None


def read(stored_space: Any) -> dict[str, Any] | None:
    """The space that `stored` made into JSON; None if the journal has none."""
    return None if stored_space is None else {name: _read(value) for name, value in stored_space.items()}


def _stored(value: Any) -> Any:
    kind = type(value)
    if kind is int and value.bit_length() > MOST_BITS:
        raise _NotStored
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is dict:
        return {name: _stored(each) for name, each in value.items() if _is_name(name)}
    if kind is list:
        return [_stored(each) for each in value]
    if kind is tuple:
        return {_TUPLE: [_stored(each) for each in value]}
    if isinstance(value, Domain):
        return {_DOMAIN: _of_domain(value)}
    raise _NotStored


def _is_name(name: Any) -> bool:
    """Whether this is a name of a parameter. Raises _NotStored for what JSON or this module would read otherwise."""
    if type(name) is not str or name in (_DOMAIN, _TUPLE):
        raise _NotStored
    return True


def _of_domain(domain: Domain) -> list[Any]:
    kind = type(domain)
    if kind in (Float, Integer):
        parts = [domain.name, domain.lower, domain.upper, domain.q, domain.log]  # type: ignore[attr-defined]
    elif kind is Normal:
        parts = [domain.mean, domain.sd, domain.q]  # type: ignore[attr-defined]
    elif kind is Categorical:
        parts = [domain.categories]  # type: ignore[attr-defined]
    else:
        raise _NotStored
    return [kind.__name__, *map(_stored, parts)]


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_TUPLE}:
        return tuple(_read(each) for each in value[_TUPLE])
    if value.keys() == {_DOMAIN}:
        return _domain(*map(_read, value[_DOMAIN]))
    return {name: _read(each) for name, each in value.items()}


def _domain(kind: str, *parts: Any) -> Domain:
    if kind == Categorical.__name__:
        return Categorical(*parts)
    if kind == Normal.__name__:
        return Normal(*parts)
    name, lower, upper, q, log = parts
    return (Float if kind == Float.__name__ else Integer)(name, lower, upper, q, log=log)
