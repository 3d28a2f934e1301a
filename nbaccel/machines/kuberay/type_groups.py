"""Worker groups from a machines.toml: the node types that a program was tried with become groups of pods.

```toml
[types.gpu]
num_cpus = 4
num_gpus = 1
accelerator_type = "A100"
memory = "50GiB"
max = 5
[types.gpu.kubernetes]            # what only Kubernetes knows
image = "rayproject/ray:2.60.0-py311-gpu"
node_selector = {"nvidia.com/gpu.product" = "A100-SXM4-80GB"}
tolerations = ["team=ml:NoSchedule"]
```
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbaccel.handles import option_checks as checks
from nbaccel.handles.node_types import DEFAULT_MOST, NODE_TYPE_OPTIONS
from nbaccel.machines.kuberay.manifest import PLUGINS, WorkerPods, read_toleration

_OWN = "kubernetes"  # the table of a type, and where such a type comes from
_ELSEWHERE = ("ssh", "slurm")
_FROM_TYPE = "virtual"  # a type that was only tried becomes a group as well
# What only a virtual node has: how long it takes to come, and whether it fails.
_TRIED = {"arrives_after_s", "fails"}
_POD_OPTIONS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "image": ("image", checks.nonempty_word),
    "cpu": ("cpu", checks.nonempty_word),
    "memory": ("memory", checks.nonempty_word),
    "vendor": ("vendor", checks.nonempty_word),
    "resource": ("resource", checks.nonempty_word),
    "replicas": ("replicas", checks.whole_number(0)),
    "hosts": ("hosts", checks.whole_number(1, none=1)),
    "node_selector": ("node_selector", checks.string_dict),
    "environment": ("environment", checks.string_dict),
    "tolerations": ("tolerations", checks.words),
}


@dataclass(slots=True)
class TypeGroups:
    """The groups of a file, and a sentence for each thing that has no place in them."""

    groups: list[WorkerPods] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def read_types(file: Path) -> TypeGroups:
    """The groups that a machines.toml describes. Raises ValueError in words for what cannot be one."""
    try:
        read = tomllib.loads(file.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is no TOML: {error}. A node type begins with a line such as [types.gpu].") from None
    types = read.get("types")
    if not isinstance(types, Mapping) or not types:
        raise ValueError(f"{file} has no node type: each begins with a line such as [types.gpu].")
    found = TypeGroups()
    for name, options in types.items():
        _read_type(f"{file}: types.{name}", name, options, found)
    if not found.groups:
        raise ValueError(f"{file} has no node type for Kubernetes. {' '.join(found.left_out)}")
    return found


def _read_type(where: str, name: str, options: Any, found: TypeGroups) -> None:
    if not isinstance(options, Mapping):
        raise ValueError(f"{where} is a table of options such as num_gpus = 1, but got {options!r}.")
    source = options.get("from", _FROM_TYPE)
    if source in _ELSEWHERE:
        found.left_out.append(f"{where}: its nodes come by {source}, not from Kubernetes.")
        return
    own = {key: value for key, value in options.items() if key not in (_OWN, *_ELSEWHERE)}
    checked = _checked(where, own, NODE_TYPE_OPTIONS)
    pods = _checked(
        f"{where}.{_OWN}", options.get(_OWN) or {}, {key: check for key, (_, check) in _POD_OPTIONS.items()}
    )
    found.left_out += [f"{where}.{key}: only virtual nodes have it." for key in own if key in _TRIED]
    try:
        found.groups.append(_group(name, checked, pods))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _group(name: str, options: dict[str, Any], pods: dict[str, Any]) -> WorkerPods:
    """The words of Kubernetes go before those of every engine."""
    said: dict[str, Any] = {"name": name, **_devices(options), **_amounts(options)}
    said |= {"least": options.get("min") or 0, "most": options.get("max") or DEFAULT_MOST}
    said |= {"labels": options.get("labels") or {}, "accelerator_type": options.get("accelerator_type") or ""}
    if options.get("idle_s") is not None:
        said["idle_s"] = math.ceil(options["idle_s"])
    if options.get("priority"):
        said["priority"] = options["priority"]
    said |= {_POD_OPTIONS[key][0]: value for key, value in pods.items() if value is not None and key != "tolerations"}
    return WorkerPods(**said, tolerations=tuple(read_toleration(text) for text in pods.get("tolerations") or ()))


def _amounts(options: dict[str, Any]) -> dict[str, Any]:
    said = {}
    if options.get("num_cpus") is not None:
        said["cpu"] = said["num_cpus"] = f"{options['num_cpus']:g}"
        if not options["num_cpus"]:
            said["cpu"] = "1"  # a pod needs some, whatever its tasks may use
    if options.get("memory") is not None:
        said["memory"] = _memory(options["memory"])
    return said


def _memory(size_bytes: int) -> str:
    for unit, power in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if size_bytes % (1 << power) == 0:
            return f"{size_bytes >> power}{unit}"
    return str(size_bytes)


def _devices(options: dict[str, Any]) -> dict[str, Any]:
    """Accelerators by the vendor's name; what no device plugin announces is a resource that Ray only counts."""
    resources = {key: int(amount) for key, amount in (options.get("resources") or {}).items()}
    said: dict[str, Any] = {}
    if options.get("num_gpus"):
        said["accelerators"] = int(options["num_gpus"])
    else:
        plugin = next((each for each in PLUGINS if each.resource != "GPU" and resources.get(each.resource)), None)
        if plugin is not None:
            said |= {"accelerators": resources.pop(plugin.resource), "vendor": plugin.vendor}
    return {**said, "custom_resources": resources}


def _checked(where: str, given: Any, known: Mapping[str, Callable[[str, Any], Any]]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} is a table of options, but got {given!r}.")
    for key in given:
        if key not in known:
            hint = checks.did_you_mean(str(key), known)
            raise ValueError(f"{where} has no option {key!r}.{hint} The options are {', '.join(known)}.")
    try:
        return {key: known[key](key, value) for key, value in given.items()}
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None
