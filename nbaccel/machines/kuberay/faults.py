"""What is wrong with a manifest: where, in words, and whether the cluster would come all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ManifestFault:
    """One thing that is wrong. A warning is about a cluster that comes, and is not what its author expects."""

    path: str  # as `kubectl explain` writes it, with the numbers of list items: spec.workerGroupSpecs[0].groupName
    sentence: str
    warning: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {'warning: ' if self.warning else ''}{self.sentence}"


def joined(path: str, key: str | int) -> str:
    """The path of what is below: a number is an item of a list, a name with dots or slashes is in brackets."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if not path:
        return key
    return f"{path}[{key}]" if "." in key or "/" in key else f"{path}.{key}"


def fields_of(value: Any) -> dict[str, Any]:
    """The value if it has fields; nothing if it is missing or of another type, which the schema tells."""
    return value if isinstance(value, dict) else {}


def items_of(value: Any) -> list[Any]:
    """The value if it is a list; nothing if it is missing or of another type."""
    return value if isinstance(value, list) else []
