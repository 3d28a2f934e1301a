"""What people type to mean a task: the short id of a table, the long one, or a variable that holds a ref."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from nbaccel import wording
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.snapshot import Snapshot

_HEX = re.compile(r"[0-9a-f]{48,56}")


def task_id(word: str, picture: Snapshot, variables: Mapping[str, Any]) -> str:
    """The full id, 48 hex digits, of the task that is meant. Raises TypingMistake with the nearest one."""
    named = _id_of_value(variables[word]) if word in variables else None
    if named is not None:
        return named
    known = {wording.short_id(row.task_id): row.task_id for row in picture.tasks}
    if word in known:
        return known[word]
    typed = _HEX.search(word)  # also inside ObjectRef(…), which is what {ref} becomes
    if typed is not None:
        return typed.group()[:48]
    by_name = [row.task_id for row in picture.tasks if row.name == word]
    if len(by_name) == 1:
        return by_name[0]
    if by_name:
        raise TypingMistake(f"{len(by_name)} tasks are called '{word}'; %accel_tasks shows their ids.")
    near = difflib.get_close_matches(word, [*known, *variables], n=1, cutoff=0.6)
    hint = f"Did you mean '{near[0]}'?" if near else "%accel_tasks shows the ids."
    raise TypingMistake(f"'{word}' is no task and no variable with a ref. {hint}")


def _id_of_value(value: Any) -> str | None:
    """Of refs, streams of refs and actors (whose id the engine takes as well)."""
    for name in ("task_id", "_actor_id"):
        found = getattr(value, name, None)
        found = found() if callable(found) else found
        if found is not None and hasattr(found, "hex"):
            return str(found.hex())
    return None
