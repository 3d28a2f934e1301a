"""Finds the task that people mean by a short id, a long id, a name, or a variable that holds a ref."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from nbaccel.actor import ActorHandle
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.views import wording
from nbaccel.views.snapshot import Snapshot, TaskRow

TASKS = (ObjectRef, ObjectRefGenerator, ActorHandle)  # values that stand for a task
_HEX = re.compile(r"[0-9a-f]{48,56}")
_GROUP_HEX = re.compile(r"(?<![0-9a-f])[0-9a-f]{36}(?![0-9a-f])")


Find = Callable[[str], list[TaskRow]]  # finds all tasks that contain a word; a snapshot holds only some


def explained_id(word: str, snapshot: Snapshot, variables: Mapping[str, Any], find: Find) -> str:
    """Like `task_id`; also accepts a placement group, which can be explained like a task."""
    value = variables.get(word)
    if isinstance(value, PlacementGroup):
        return str(value.id.hex())
    typed = _GROUP_HEX.search(word)  # also inside PlacementGroup(…), which is what {group} becomes
    return typed.group() if typed is not None else task_id(word, snapshot, variables, find)


def task_id(word: str, snapshot: Snapshot, variables: Mapping[str, Any], find: Find) -> str:
    """The full id, 48 hex digits, of the task that is meant. Raises TypingMistake with the nearest one.

    A name that tasks of several notebooks share means this notebook's task.
    """
    named = _id_of_value(variables[word]) if word in variables else None
    if named is not None:
        return named
    word = word.removeprefix("#")  # as the cockpit writes an id
    known = {wording.short_id(row.task_id): row.task_id for row in snapshot.tasks}
    if word in known:
        return known[word]
    typed = _HEX.search(word)  # also inside ObjectRef(…), which is what {ref} becomes
    if typed is not None:
        return typed.group()[:48]
    rows = find(word)
    by_id = [row.task_id for row in rows if wording.short_id(row.task_id) == word]
    called = [row for row in rows if row.name == word]
    own = [row for row in called if row.job == snapshot.runtime.job]
    by_name = by_id or [row.task_id for row in own or called]
    if len(by_name) == 1:
        return by_name[0]
    if by_name:
        raise TypingMistake(f"{len(by_name)} tasks are called '{word}'; %accel_tasks shows their ids.")
    raise TypingMistake(_not_a_task(word, known, variables))


def _not_a_task(word: str, known: Iterable[str], variables: Mapping[str, Any]) -> str:
    if word in variables:
        kind = type(variables[word]).__name__
        return f"'{word}' is of type {kind}, which is not a task, ref, stream or actor. %accel_tasks shows the ids."
    refs = [name for name, value in variables.items() if isinstance(value, TASKS)]
    near = difflib.get_close_matches(word, [*known, *refs], n=1, cutoff=0.6)
    hint = f"Did you mean '{near[0]}'?" if near else "%accel_tasks shows the ids."
    return f"'{word}' is neither a task nor a variable with a ref. {hint}"


def _id_of_value(value: Any) -> str | None:
    """The id of a ref, a stream of refs or an actor (the engine takes its id as well); None for any other value."""
    for name in ("task_id", "_actor_id"):
        found = getattr(value, name, None)
        found = found() if callable(found) else found
        if found is not None and hasattr(found, "hex"):
            return str(found.hex())
    return None


# ---- the names under which a notebook holds refs: `model`, `refs[3]`, `Out[7]`


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
