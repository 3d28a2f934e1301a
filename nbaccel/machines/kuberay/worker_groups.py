"""Worker groups: what a user says about one, in a line such as `name=gpu,gpus=1,cpu=3,memory=50Gi,min=0,max=5`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbaccel.machines.kuberay.device_plugins import GKE_TPU_SELECTORS, VENDORS, DevicePlugin, plugin_of
from nbaccel.machines.kuberay.kubernetes_quantities import read_quantity

NAME = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
# The words of a line whose field of a group has another name, and what the value is read as.
_WORDS: dict[str, str] = {
    "name": "name", "gpus": "accelerators", "count": "accelerators", "vendor": "vendor", "resource": "resource",
    "cpu": "cpu", "memory": "memory", "min": "least", "max": "most", "replicas": "replicas", "hosts": "hosts",
    "accelerator": "accelerator_type", "num-gpus": "num_gpus", "num-cpus": "num_cpus", "image": "image",
    "idle": "idle_s", "select": "node_selector", "tolerate": "tolerations", "env": "environment", "label": "labels",
}  # fmt: skip
_COUNTS = {"accelerators", "least", "most", "replicas", "hosts", "idle_s"}
_PAIRS = {"node_selector", "environment", "labels"}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Toleration:
    """A taint of nodes that the pods of a group tolerate."""

    key: str
    value: str | None = None  # any value if not given
    effect: str | None = None  # every effect if not given


@dataclass(frozen=True, slots=True)
class WorkerPods:
    """What a user wants of one group of worker pods. ValueError in words for what no cluster could be."""

    name: str
    accelerators: int = 0
    vendor: str = "nvidia"
    resource: str = ""  # the key of limits, where it is not the vendor's usual one
    cpu: str = "1"
    memory: str = "4Gi"
    least: int = 0
    most: int = 1
    replicas: int | None = None  # as many as `least` if not given
    hosts: int = 1  # pods of one replica
    accelerator_type: str = ""
    num_gpus: str = ""  # what Ray is told, if it is not what the limits say
    num_cpus: str = ""
    image: str = ""
    idle_s: int | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    ray_memory_bytes: str = ""
    custom_resources: Mapping[str, int] = field(default_factory=dict)  # that Ray counts and Kubernetes does not know
    priority: int | None = None  # of two groups that fit, the higher one is taken

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_sizes(self)
        _check_accelerators(self)

    @property
    def plugin(self) -> DevicePlugin | None:
        """Whose accelerators the pods ask for; None for a group without."""
        if not self.accelerators:
            return None
        return plugin_of(self.resource) if self.resource else VENDORS[self.vendor]

    @property
    def limit_key(self) -> str:
        """The key of the accelerators in limits and requests."""
        return self.resource or VENDORS[self.vendor].key


def read_group(line: str, *, gpus: bool) -> WorkerPods:
    """The group that a line describes; a GPU group has one GPU unless the line says otherwise."""
    said: dict[str, Any] = {"accelerators": 1} if gpus else {}
    for word in filter(None, (part.strip() for part in line.split(","))):
        name, equals, value = word.partition("=")
        if name not in _WORDS or not equals or not value:
            raise ValueError(f"{word!r} in {line!r} is not understood{_meant(name)}")
        _add(said, _WORDS[name], name, value)
    if "name" not in said:
        said["name"] = "gpu" if gpus else "cpu"
    said.setdefault("most", max(said.get("least", 0), said.get("replicas", 0), 1))
    return WorkerPods(**said)


def _meant(name: str) -> str:
    near = difflib.get_close_matches(name, _WORDS, n=1)
    known = ", ".join(f"{word}=…" for word in _WORDS)
    return f": did you mean {near[0]}=…?" if near and near[0] != name else f". A group is described by {known}."


def _add(said: dict[str, Any], target: str, name: str, value: str) -> None:
    if target in _COUNTS:
        if not value.isdecimal():
            raise ValueError(f"{name}={value}: write a whole number that is not negative, for example {name}=1.")
        said[target] = int(value)
    elif target in _PAIRS:
        key, equals, content = value.partition("=")
        if not equals:
            raise ValueError(f"{name}={value}: write {name}=KEY=VALUE.")
        said[target] = {**said.get(target, {}), key: content}
    elif target == "tolerations":
        said[target] = (*said.get(target, ()), read_toleration(value))
    else:
        said[target] = value


def read_toleration(text: str) -> Toleration:
    """KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, as kubectl taint writes a taint."""
    taint, colon, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    if not key or (colon and effect not in _EFFECTS):
        raise ValueError(f"tolerate={text}: write KEY=VALUE:EFFECT, where the effect is one of {', '.join(_EFFECTS)}.")
    return Toleration(key, value if equals else None, effect or None)


def _check_name(name: str) -> None:
    if not NAME.match(name) or len(name) > 50:
        raise ValueError(
            f"{name!r} cannot be the name of a worker group. Kubernetes takes small letters, digits and '-', beginning "
            "with a letter; at most 50."
        )
    if name == "headgroup":
        raise ValueError("'headgroup' is Ray's own name for the head's group. Give the worker group another name.")


def _check_sizes(group: WorkerPods) -> None:
    read_quantity(group.cpu)
    read_quantity(group.memory)
    if group.least > group.most:
        raise ValueError(f"worker group {group.name}: min={group.least} is more than max={group.most}.")
    if group.replicas is not None and not group.least <= group.replicas <= group.most:
        raise ValueError(
            f"worker group {group.name}: replicas={group.replicas} lies outside of min={group.least} to "
            f"max={group.most}."
        )
    if group.hosts < 1:
        raise ValueError(f"worker group {group.name}: hosts={group.hosts}; a replica has at least one pod.")
    for name, value in (("num-gpus", group.num_gpus), ("num-cpus", group.num_cpus)):
        if value and not value.isdecimal():
            raise ValueError(f"worker group {group.name}: {name}={value}; Ray's autoscaler takes only whole numbers.")


def _check_accelerators(group: WorkerPods) -> None:
    if group.vendor not in VENDORS:
        raise ValueError(f"vendor={group.vendor} is not known. The vendors are: {', '.join(VENDORS)}.")
    if group.resource and group.plugin is None and group.accelerators and not group.num_gpus:
        raise ValueError(
            f"worker group {group.name}: nbaccel does not know what Ray would call {group.resource}. Say how many GPUs "
            "a pod has for Ray: num-gpus=1."
        )
    missing = [key for key in GKE_TPU_SELECTORS if key not in group.node_selector]
    if group.plugin is not None and group.plugin.resource == "TPU" and missing:
        raise ValueError(
            f"worker group {group.name}: Ray's autoscaler needs the node selectors of a TPU slice. Add "
            + " and ".join(f"select={key}=…" for key in missing)
            + "."
        )
