"""Environment variables as runtime_env writes them: `${NAME}` in a value stands for what the process had before.

>>> take_on({"LD_LIBRARY_PATH": "${LD_LIBRARY_PATH}:/opt/lib"})
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

# A process that gets its variables by exec reads here how the user wrote them.
TAKEN_ON = "NBACCEL_TAKEN_ON"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_taken_on: dict[str, str] = {}
_before: dict[str, str | None] = {}  # what `follow` has replaced


def expanded(value: str, environ: Mapping[str, str]) -> str:
    """A value with each `${NAME}` in place; what is not set is empty."""
    return _REFERENCE.sub(lambda found: environ.get(found[1], ""), value) if "${" in value else value


def take_on(variables: Mapping[str, str]) -> None:
    """Set variables in this process. What was set from the same words before is left: it must not grow."""
    if not _taken_on:
        _taken_on.update(json.loads(os.environ.pop(TAKEN_ON, "{}")))
    for name, value in variables.items():
        if _taken_on.get(name) != value or "${" not in value:
            os.environ[name] = expanded(value, os.environ)
            _taken_on[name] = value


def follow(changed: Mapping[str, str | None]) -> None:
    """Have the variables that the notebook has changed, and no longer those that it had changed before.

    What a runtime_env has set stays.
    """
    if not _taken_on:
        _taken_on.update(json.loads(os.environ.pop(TAKEN_ON, "{}")))
    wanted = {**_before, **changed}
    for name in changed:
        _before.setdefault(name, os.environ.get(name))
    for name, value in wanted.items():
        if name in _taken_on:
            continue
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def for_exec(variables: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What to set for a process that is executed with these variables."""
    if not any("${" in value for value in variables.values()):
        return dict(variables)
    ready = {name: expanded(value, environ) for name, value in variables.items()}
    return ready | {TAKEN_ON: json.dumps(dict(variables))}
