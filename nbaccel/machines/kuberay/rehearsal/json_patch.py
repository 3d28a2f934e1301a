"""Changes of an object as an API server takes them: JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386)."""

from __future__ import annotations

import copy
from typing import Any


class Unpatchable(ValueError):
    """The change does not fit the object."""


def patched(document: dict[str, Any], operations: Any) -> dict[str, Any]:
    """The object after a JSON Patch; the one that is given stays as it is. Raises Unpatchable."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise Unpatchable("A JSON Patch is a list of operations.")
    changed = copy.deepcopy(document)
    for operation in operations:
        _apply(changed, operation)
    return changed


def merged(document: dict[str, Any], changes: Any) -> dict[str, Any]:
    """The object after a JSON Merge Patch. Raises Unpatchable."""
    if not isinstance(changes, dict):
        raise Unpatchable("A merge patch is a set of fields.")
    return _merged(document, changes)


def _merged(document: Any, changes: dict[str, Any]) -> dict[str, Any]:
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value) if isinstance(value, dict) else copy.deepcopy(value)
    return result


def _apply(document: dict[str, Any], operation: dict[str, Any]) -> None:
    kind, path = operation.get("op"), operation.get("path")
    if not isinstance(path, str) or not path.startswith("/"):
        raise Unpatchable(f"{path!r} is no path of a field.")
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    holder: Any = document
    for part in parents:
        holder = _inside(holder, part, path)
    if kind == "test":
        if _inside(holder, last, path) != operation.get("value"):
            raise Unpatchable(f"{path} is not {operation.get('value')!r}.")
    elif kind == "remove":
        del holder[_key(holder, last, path, exists=True)]
    elif kind == "replace":
        holder[_key(holder, last, path, exists=True)] = operation.get("value")
    elif kind == "add" and isinstance(holder, list):
        holder.insert(len(holder) if last == "-" else _key(holder, last, path, exists=False), operation.get("value"))
    elif kind == "add":
        holder[_key(holder, last, path, exists=False)] = operation.get("value")
    else:
        raise Unpatchable(f"The operation {kind!r} is not known here.")


def _inside(holder: Any, part: str, path: str) -> Any:
    return holder[_key(holder, part, path, exists=True)]


def _key(holder: Any, part: str, path: str, *, exists: bool) -> Any:
    if isinstance(holder, dict):
        if exists and part not in holder:
            raise Unpatchable(f"{path}: there is no {part!r}.")
        return part
    if isinstance(holder, list) and part.isdecimal() and int(part) < len(holder) + (not exists):
        return int(part)
    raise Unpatchable(f"{path}: there is no {part!r}.")
