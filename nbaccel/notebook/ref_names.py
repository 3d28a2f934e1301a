"""The names under which a notebook holds refs: `model`, `refs[3]`, `Out[7]`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from nbaccel.handles.refs import ObjectRef

MOST_ITEMS = 1_000  # of one list or dict
OF_HISTORY = re.compile(r"_\d*|__|___|_i+\d*|_oh|_dh|_ih|In")  # IPython's second names of outputs


def names_of(ids: Iterable[str], namespace: Mapping[str, Any]) -> dict[str, str]:
    """The shortest way to each object, by its hex id; an object that no variable and no output holds is left out."""
    wanted, found = set(ids), dict[str, str]()
    for name, ref in _refs(namespace):
        id = ref.hex()
        if id in wanted and (id not in found or len(name) < len(found[id])):
            found[id] = name
    return found


def _refs(namespace: Mapping[str, Any]) -> Iterator[tuple[str, ObjectRef[Any]]]:
    for name, value in list(namespace.items()):
        if OF_HISTORY.fullmatch(name):
            continue
        if isinstance(value, ObjectRef):
            yield name, value
            continue
        for index, item in _items(value):
            if isinstance(item, ObjectRef):
                yield f"{name}[{index!r}]", item
            elif name == "Out":  # a cell whose value is a list of refs
                yield from (
                    (f"Out[{index}][{key!r}]", each) for key, each in _items(item) if isinstance(each, ObjectRef)
                )


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    if type(value) in (list, tuple):
        return enumerate(islice(value, MOST_ITEMS))
    if type(value) is dict:
        return list(islice(value.items(), MOST_ITEMS))
    return ()
