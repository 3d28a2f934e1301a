"""Judge a RayCluster as an API server does, and say each fault with its path.

The schema is a JSON Schema without the parts that RayCluster does not use. A library for all of JSON Schema takes three
seconds to import where JupyterLab is installed (decision 39), and its messages are about schemas.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from nbaccel.machines.kuberay.faults import ManifestFault, joined

_WORDS = {
    "object": "fields", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
_LIST_KEYS = "x-kubernetes-list-map-keys"


@cache
def ray_cluster_schema() -> dict[str, Any]:
    """The strict schema that comes with nbaccel."""
    text = Path(__file__).with_name("raycluster.schema.json").read_text()
    return dict(json.loads(text))


def schema_faults(document: Any, schema: dict[str, Any]) -> list[ManifestFault]:
    """Every fault, in the order of the file."""
    return list(_judge(document, schema, "", schema["$defs"]))


def _judge(value: Any, part: dict[str, Any], path: str, shared: dict[str, Any]) -> Iterator[ManifestFault]:
    while "$ref" in part:
        part = shared[part["$ref"].rpartition("/")[2]]
    wrong = _type_fault(value, part, path)
    if wrong:
        yield wrong
        return
    yield from _value_faults(value, part, path)
    if isinstance(value, dict):
        yield from _field_faults(value, part, path, shared)
    elif isinstance(value, list) and "items" in part:
        yield from _repeated(value, part, path)
        for number, item in enumerate(value):
            yield from _judge(item, part["items"], joined(path, number), shared)


def _type_fault(value: Any, part: dict[str, Any], path: str) -> ManifestFault | None:
    wanted = part.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if not wanted or any(_is(value, each) for each in wanted):
        return None
    if value is None:
        return ManifestFault(
            path, f"has no value; KubeRay takes {_either(wanted)} here. Leave the field out, or fill it."
        )
    hint = ""
    if "string" in wanted and isinstance(value, int | float):
        hint = f' Write "{_as_written(value)}", in quotes.'
    elif wanted == ["array"]:
        hint = " Begin each item with '- '."
    return ManifestFault(path, f"is {_told(value)}, but KubeRay takes {_either(wanted)} here.{hint}")


def _is(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, types[kind])


def _value_faults(value: Any, part: dict[str, Any], path: str) -> Iterator[ManifestFault]:
    if "enum" in part and value not in part["enum"]:
        yield ManifestFault(path, f"is {_told(value)}; KubeRay takes one of {', '.join(map(str, part['enum']))}.")
    if isinstance(value, str):
        if "pattern" in part and not re.search(part["pattern"], value):
            yield ManifestFault(path, f"is {_told(value)}; {_pattern_words(part['pattern'], value)}")
        if len(value) < part.get("minLength", 0) or len(value) > part.get("maxLength", len(value)):
            yield ManifestFault(path, f"has {len(value)} characters; {_bounds(part, 'Length')} are taken.")
    elif _is(value, "integer") and not part.get("minimum", value) <= value <= part.get("maximum", value):
        yield ManifestFault(path, f"is {value}; {_bounds(part, 'imum')} is taken.")


def _pattern_words(pattern: str, value: str) -> str:
    if "KMGTPE" not in pattern:
        return f"it has to match {pattern}."
    number = re.match(r"[\d.]+", value)
    example = f"{number[0]}Gi" if number else "50Gi"
    return f"that is no quantity. Write a number with a unit of Kubernetes: {example} (1024 MiB each), 500m."


def _bounds(part: dict[str, Any], name: str) -> str:
    low, high = part.get(f"min{name}"), part.get(f"max{name}")
    return f"{low} to {high}" if None not in (low, high) else f"at least {low}" if high is None else f"at most {high}"


def _field_faults(
    value: dict[Any, Any], part: dict[str, Any], path: str, shared: dict[str, Any]
) -> Iterator[ManifestFault]:
    known, others = part.get("properties", {}), part.get("additionalProperties", True)
    for name in part.get("required", ()):
        if name not in value:
            yield ManifestFault(joined(path, name), "is missing; KubeRay needs it.")
    for key, content in value.items():
        if not isinstance(key, str):
            yield ManifestFault(
                joined(path, str(key)), f"is named by {_told(key)}; a name is text. Write it in quotes."
            )
        elif key in known:
            yield from _judge(content, known[key], joined(path, key), shared)
        elif isinstance(others, dict):
            yield from _judge(content, others, joined(path, key), shared)
        elif not others:
            near = difflib.get_close_matches(key, known, n=1)
            meant = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(sorted(known))}."
            yield ManifestFault(joined(path, key), f"is no field of KubeRay's. {meant}")


def _repeated(value: list[Any], part: dict[str, Any], path: str) -> Iterator[ManifestFault]:
    """Items of some lists are known by a name, which only one item may have."""
    keys = part.get(_LIST_KEYS)
    seen: set[str] = set()
    for number, item in enumerate(value):
        if not keys or not isinstance(item, dict):
            continue
        name = json.dumps([item.get(key) for key in keys], default=str)
        if name in seen:
            words = " and ".join(f"{key} {item.get(key)}" for key in keys if item.get(key) is not None)
            yield ManifestFault(joined(path, number), f"has the {words} of an item before it. Each has to be another.")
        seen.add(name)


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return _as_written(value)
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value[:80]!r}"
    return "a list" if isinstance(value, list) else "a set of fields"


def _as_written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _either(kinds: list[str]) -> str:
    return " or ".join(_WORDS[kind] for kind in kinds)
