"""Derive the strict schema of a RayCluster that nbaccel ships from the definition that KubeRay gives to Kubernetes.

    python tools/raycluster_schema.py ray.io_rayclusters.yaml > nbaccel/machines/kuberay/raycluster.schema.json

The file is `ray-operator/config/crd/bases/ray.io_rayclusters.yaml` of KubeRay's repository. The result is a JSON Schema
that judges as an API server does: unknown fields are faults, fields with a default may be missing, quantities are
numbers or text. Descriptions, the status and everything that only a server needs are left out, and parts that occur
several times stand once, under `$defs`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import yaml

KEPT = ("type", "required", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
LIST_KEYS = "x-kubernetes-list-map-keys"  # an extension: the fields that make an item of a list unique
SHARED_CHARACTERS = 120  # a smaller part is cheaper to repeat than to name
# One rule of the definition is an expression of Kubernetes' own language about a single value.
MANAGERS = ["ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"]


def derive(definition: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    """The strict schema of this version of a CustomResourceDefinition."""
    versions = definition["spec"]["versions"]
    given = next(each for each in versions if each["name"] == version)["schema"]["openAPIV3Schema"]
    schema = strict({**given, "properties": {k: v for k, v in given["properties"].items() if k != "status"}})
    schema["properties"]["status"] = {"type": "object"}
    schema["required"] = ["apiVersion", "kind", "metadata", "spec"]
    shared = shared_parts(schema)
    names = {text: f"part{number}" for number, text in enumerate(shared)}
    parts = {name: with_refs(json.loads(text), names, top=True) for text, name in names.items()}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Derived from KubeRay's RayCluster by tools/raycluster_schema.py. Licence: LICENSE-KubeRay.",
    }
    return {**head, **with_refs(schema, names, top=True), "$defs": parts}


def strict(given: dict[str, Any]) -> dict[str, Any]:
    """One part of the schema, and all that is below it."""
    part = {key: given[key] for key in KEPT if key in given}
    if given.get("x-kubernetes-int-or-string"):
        part["type"] = ["integer", "string"]
    if given.get("nullable") and "type" in part:
        part["type"] = [part["type"], "null"]
    if given.get("format") in RANGES and part.get("type") == "integer":
        low, high = RANGES[given["format"]]
        part.setdefault("minimum", low)
        part.setdefault("maximum", high)
    if any("managedBy field value" in rule.get("message", "") for rule in given.get("x-kubernetes-validations", ())):
        part["enum"] = MANAGERS
    if LIST_KEYS in given:
        part[LIST_KEYS] = given[LIST_KEYS]
    if "items" in given:
        part["items"] = strict(given["items"])
    _add_fields(part, given)
    return part


def _add_fields(part: dict[str, Any], given: dict[str, Any]) -> None:
    fields = given.get("properties")
    if fields is not None:
        part["properties"] = {name: strict(field) for name, field in fields.items()}
        needed = [name for name in given.get("required", ()) if "default" not in fields.get(name, {})]
        part.pop("required", None)
        if needed:
            part["required"] = needed
    others = given.get("additionalProperties")
    if isinstance(others, dict):
        part["additionalProperties"] = strict(others)
    elif fields is not None and not given.get("x-kubernetes-preserve-unknown-fields"):
        part["additionalProperties"] = False


def shared_parts(schema: dict[str, Any]) -> list[str]:
    """The parts that occur more than once, as text."""
    seen: Counter[str] = Counter()
    _count(schema, seen)
    return sorted(text for text, times in seen.items() if times > 1 and len(text) >= SHARED_CHARACTERS)


def _count(part: dict[str, Any], seen: Counter[str]) -> None:
    text = json.dumps(part, sort_keys=True)
    seen[text] += 1
    if seen[text] > 1:  # what is inside of a repeated part stands in that part alone
        return
    for below in _parts_below(part):
        _count(below, seen)


def _parts_below(part: dict[str, Any]) -> list[dict[str, Any]]:
    below = [*part.get("properties", {}).values()]
    return below + [part[key] for key in ("items", "additionalProperties") if isinstance(part.get(key), dict)]


def with_refs(part: dict[str, Any], names: dict[str, str], top: bool = False) -> dict[str, Any]:
    """The same part, in which shared parts are named instead of written out."""
    name = names.get(json.dumps(part, sort_keys=True))
    if name is not None and not top:
        return {"$ref": f"#/$defs/{name}"}
    copy = dict(part)
    if "properties" in copy:
        copy["properties"] = {key: with_refs(value, names) for key, value in copy["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(copy.get(key), dict):
            copy[key] = with_refs(copy[key], names)
    return copy


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        sys.stdout.write(json.dumps(derive(yaml.safe_load(file)), separators=(",", ":"), sort_keys=True) + "\n")
