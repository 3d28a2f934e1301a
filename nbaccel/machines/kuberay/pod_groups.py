"""The head's group and the worker groups of a manifest, with what the checks ask of each.

Everything is read with care: a manifest with faults is read as far as it goes, and the schema tells the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbaccel.machines.kuberay.faults import fields_of, items_of, joined

HEAD_PATH = "spec.headGroupSpec"
# What `rayStartParams` calls the amounts that a group's `resources` has as well.
AMOUNTS = {"num-cpus": "CPU", "num-gpus": "GPU", "memory": "memory", "resources": ""}


@dataclass(frozen=True, slots=True)
class PodGroup:
    """One group of a manifest."""

    path: str
    fields: dict[str, Any]
    is_head: bool

    @property
    def title(self) -> str:
        return "the head's group" if self.is_head else f"worker group {self.fields.get('groupName')}"

    @property
    def parameters(self) -> dict[str, Any]:
        return _named(self.fields.get("rayStartParams"))

    @property
    def resources(self) -> dict[str, Any]:
        """What the group itself says that Ray has; not what the pod asks of Kubernetes."""
        return _named(self.fields.get("resources"))

    @property
    def pod(self) -> dict[str, Any]:
        return fields_of(fields_of(self.fields.get("template")).get("spec"))

    @property
    def containers(self) -> list[dict[str, Any]]:
        return [fields_of(each) for each in items_of(self.pod.get("containers"))]

    @property
    def ray_container(self) -> dict[str, Any]:
        """KubeRay runs Ray in the first container."""
        return self.containers[0] if self.containers else {}

    @property
    def container_path(self) -> str:
        return f"{self.pod_path}.containers[0]"

    @property
    def pod_path(self) -> str:
        return f"{self.path}.template.spec"

    def amounts(self, kind: str) -> dict[str, Any]:
        """The `limits` or `requests` of the container that runs Ray."""
        return _named(fields_of(self.ray_container.get("resources")).get(kind))

    def amount_path(self, kind: str, key: str) -> str:
        return joined(f"{self.container_path}.resources.{kind}", key)

    def variables(self) -> dict[str, Any]:
        named = (fields_of(each) for each in items_of(self.ray_container.get("env")))
        return {str(each.get("name")): each.get("value") for each in named}


def groups_of(spec: dict[str, Any]) -> Iterator[PodGroup]:
    """The head's group, then the worker groups."""
    yield PodGroup(HEAD_PATH, fields_of(spec.get("headGroupSpec")), True)
    yield from worker_groups_of(spec)


def worker_groups_of(spec: dict[str, Any]) -> Iterator[PodGroup]:
    for number, group in enumerate(items_of(spec.get("workerGroupSpecs"))):
        yield PodGroup(joined("spec.workerGroupSpecs", number), fields_of(group), False)


def whole(value: Any, default: int) -> int:
    """The number, or the default for what is missing or none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _named(value: Any) -> dict[str, Any]:
    """The fields whose name is text; the schema tells of the others."""
    return {name: content for name, content in fields_of(value).items() if isinstance(name, str)}
