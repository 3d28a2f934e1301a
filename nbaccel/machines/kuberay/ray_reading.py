"""What Ray makes of a manifest that the operator takes: its autoscaler reads groups by itself, before any pod runs.

`autoscaler_reading` is Ray's own reading, written once more, because importing Ray takes a second and only the head's
image has to have it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from nbaccel.machines.kuberay.manifest import (
    GKE_TPU_SELECTORS,
    DevicePlugin,
    ManifestFault,
    PodGroup,
    fields_of,
    groups_of,
    joined,
    plugin_of,
    read_quantity,
    rounded_up,
    whole,
    worker_groups_of,
)

_LABEL_NAME = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
_RAY_IMAGE = re.compile(r"(?:^|/)rayproject/ray(?:-ml|-llm)?:(\d+\.\d+\.\d+)(?:-(py\d+))?")


def reading_faults(spec: dict[str, Any]) -> list[ManifestFault]:
    """Everything that Ray reads otherwise than it is meant, or cannot read at all."""
    found = [*_autoscaling_faults(spec), *_image_faults(spec)]
    hidden = any(_asks_for_nvidia(group) for group in groups_of(spec))
    for group in groups_of(spec):
        found += [*_parameter_faults(group), *_accelerator_faults(group), *_label_faults(group)]
        found += _type_faults(group)
        if spec.get("enableInTreeAutoscaling"):
            found += _cpu_faults(group)
        if hidden:
            found += _visibility_faults(group)
    return found


def autoscaler_reading(group: PodGroup) -> dict[str, int]:
    """What Ray's autoscaler takes one pod of the group to have; ValueError for what it cannot read."""
    own, parameters = group.resources, group.parameters
    reading = {"CPU": _amount(group, "CPU", "num-cpus", ("cpu",))}
    gpus = _amount(group, "GPU", "num-gpus", _gpu_keys(group))
    memory = _amount(group, "memory", "memory", ("memory",))
    tpus = _amount(group, "TPU", "", ("google.com/tpu",))
    for name, amount in (("GPU", gpus), ("memory", memory), ("TPU", tpus)):
        if amount is not None:
            reading[name] = amount
    if own:
        custom = {key: rounded_up(value) for key, value in own.items() if key not in ("CPU", "GPU", "TPU", "memory")}
    else:
        custom = read_resources(parameters["resources"]) if "resources" in parameters else {}
    if reading["CPU"] is None:
        raise ValueError("no CPUs")
    return {**reading, **custom}  # type: ignore[dict-item]


def _gpu_keys(group: PodGroup) -> tuple[str, ...]:
    return tuple(key for kind in ("limits", "requests") for key in group.amounts(kind) if key.endswith("gpu"))


def _amount(group: PodGroup, resource: str, parameter: str, keys: tuple[str, ...]) -> int | None:
    if resource in group.resources:
        return rounded_up(group.resources[resource])
    if parameter in group.parameters:
        return int(group.parameters[parameter])
    for kind in ("limits", "requests"):
        for key in keys:
            if key in group.amounts(kind):
                return rounded_up(group.amounts(kind)[key]) or None
    return None


def read_resources(text: str) -> dict[str, int]:
    """`rayStartParams.resources` as Ray reads it: without the first and the last character and without backslashes."""
    read = json.loads(text[1:-1].replace("\\", ""))
    if not isinstance(read, dict) or not all(type(value) is int for value in read.values()):
        raise ValueError("not names with whole numbers")
    return read


def _autoscaling_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    workers = list(worker_groups_of(spec))
    if spec.get("enableInTreeAutoscaling"):
        if not workers:
            yield ManifestFault(
                "spec.workerGroupSpecs", "Autoscaling is on, but there is no worker group: Ray's autoscaler ends."
            )
        return
    for group in workers:
        least, most = whole(group.fields.get("minReplicas"), 0), whole(group.fields.get("maxReplicas"), 0)
        if least < most and "replicas" not in group.fields:
            yield ManifestFault(
                "spec.enableInTreeAutoscaling",
                f"is not true: {group.title} stays at {least}, though its maxReplicas is {most}.",
                warning=True,
            )


def _cpu_faults(group: PodGroup) -> Iterator[ManifestFault]:
    said = "CPU" in group.resources or "num-cpus" in group.parameters
    if not said and not any("cpu" in group.amounts(kind) for kind in ("limits", "requests")):
        yield ManifestFault(
            f"{group.container_path}.resources",
            f"{group.title} says nothing about CPUs: Ray's autoscaler ends with an error. Write a limit or a request "
            "of cpu.",
        )


def _parameter_faults(group: PodGroup) -> Iterator[ManifestFault]:
    for name in ("num-cpus", "num-gpus", "memory"):
        value = group.parameters.get(name)
        if isinstance(value, str) and not re.fullmatch(r"\s*\d+\s*", value):
            yield ManifestFault(
                f"{group.path}.rayStartParams.{name}",
                f"{group.title}: {value!r} is no whole number, and Ray's autoscaler ends with an error.",
            )
    text = group.parameters.get("resources")
    if not isinstance(text, str):
        return
    try:
        read_resources(text)
    except ValueError as error:
        yield ManifestFault(
            f"{group.path}.rayStartParams.resources",
            f"{group.title}: Ray cannot read {text!r} ({error}). It takes away the first and the last character and "
            'reads the rest as JSON: write "\'{\\"HPU\\": 1}\'", with whole numbers.',
        )


def _accelerator_faults(group: PodGroup) -> Iterator[ManifestFault]:
    for key, amount in {**group.amounts("requests"), **group.amounts("limits")}.items():
        plugin = plugin_of(key)
        if plugin is None or not _positive(amount):
            continue
        yield from _limit_faults(group, key, plugin)
        yield from _uncounted(group, key, plugin, amount)
        yield from _tpu_faults(group, plugin)
    if (group.pod.get("resourceClaims") or fields_of(group.ray_container.get("resources")).get("claims")) and (
        "num-gpus" not in group.parameters and "GPU" not in group.resources
    ):
        yield ManifestFault(
            f"{group.path}.rayStartParams",
            f"{group.title} gets its devices by a claim, which neither KubeRay nor Ray counts. Write how many GPUs a "
            'pod has: num-gpus: "1".',
            warning=True,
        )


def _limit_faults(group: PodGroup, key: str, plugin: DevicePlugin) -> Iterator[ManifestFault]:
    """Kubernetes gives out devices by limits; a request alone, or another number, is refused with the pod."""
    limit, request = group.amounts("limits").get(key), group.amounts("requests").get(key)
    if limit is None:
        yield ManifestFault(
            group.amount_path("requests", key),
            f"{group.title} requests {plugin.what} without a limit: Kubernetes refuses the pod. Write {key} in limits.",
        )
    elif _positive(request) and _positive(limit) and _amount_of(request) != _amount_of(limit):
        yield ManifestFault(
            group.amount_path("requests", key),
            f"{group.title} requests {request} and has a limit of {limit}: for devices, both have to be the same.",
        )


def _uncounted(group: PodGroup, key: str, plugin: DevicePlugin, amount: Any) -> Iterator[ManifestFault]:
    if plugin.counted or _says(group, plugin.resource):
        return
    if plugin.resource == "GPU":
        cure = f'num-gpus: "{amount}"'
    else:
        cure = 'resources: "\'{\\"' + plugin.resource + f'\\": {amount}' + "}'\""
    yield ManifestFault(
        group.amount_path("limits", key),
        f"{group.title}: Ray's autoscaler does not count {key}, so that work for {plugin.what} brings no pod. Write "
        f"{cure} in its rayStartParams.",
    )


def _says(group: PodGroup, resource: str) -> bool:
    """Whether the group itself says how many of this resource of Ray's a pod has."""
    if resource in group.resources or (resource == "GPU" and "num-gpus" in group.parameters):
        return True
    try:
        return resource in read_resources(str(group.parameters.get("resources", "'{}'")))
    except ValueError:  # it has its own sentence
        return True


def _tpu_faults(group: PodGroup, plugin: DevicePlugin) -> Iterator[ManifestFault]:
    missing = [key for key in GKE_TPU_SELECTORS if key not in fields_of(group.pod.get("nodeSelector"))]
    if plugin.resource == "TPU" and missing:
        yield ManifestFault(
            f"{group.pod_path}.nodeSelector",
            f"{group.title} has TPUs and no node selector {' and '.join(missing)}: Ray cannot tell the slice's kind.",
        )


def _visibility_faults(group: PodGroup) -> Iterator[ManifestFault]:
    """A container without a limit sees every GPU of its node, unless this variable hides them."""
    gpus = [key for key in group.amounts("limits") if (plugin := plugin_of(key)) and plugin.vendor != "other"]
    claimed = group.pod.get("resourceClaims") or group.parameters.get("num-gpus", "0") != "0"
    if group.ray_container and not gpus and not claimed and "NVIDIA_VISIBLE_DEVICES" not in group.variables():
        yield ManifestFault(
            f"{group.container_path}.env",
            f"{group.title} asks for no GPU, but on a node with GPUs its pods see all of them. Set "
            "NVIDIA_VISIBLE_DEVICES to void.",
            warning=True,
        )


def _asks_for_nvidia(group: PodGroup) -> bool:
    return any(key.startswith("nvidia.com/") for key in group.amounts("limits"))


def _label_faults(group: PodGroup) -> Iterator[ManifestFault]:
    for key, value in fields_of(group.fields.get("labels")).items():
        prefix, _, name = str(key).rpartition("/")
        wrong = not _LABEL_NAME.match(name) or len(prefix) > 253
        if wrong or (isinstance(value, str) and value and not _LABEL_NAME.match(value)):
            yield ManifestFault(
                joined(f"{group.path}.labels", str(key)),
                f"{group.title}: {key}: {value} is no label: names and values have letters, digits, '-', '_' and '.', "
                "at most 63, and begin and end with a letter or a digit.",
            )


def _type_faults(group: PodGroup) -> Iterator[ManifestFault]:
    """A task with `accelerator_type=` asks for a resource of that name, which no label gives."""
    kind = fields_of(group.fields.get("labels")).get("ray.io/accelerator-type")
    resource = f"accelerator_type:{kind}"
    if isinstance(kind, str) and not group.is_head and not _says(group, resource):
        yield ManifestFault(
            f"{group.path}.rayStartParams",
            f"{group.title} has a label for {kind}, but work with accelerator_type={kind!r} brings no pod of it: Ray's "
            f'autoscaler looks for a resource. Write resources: "\'{{\\"{resource}\\": 1}}\'".',
            warning=True,
        )


def _image_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    """Nodes of one cluster need the same Ray and the same Python."""
    said = spec.get("rayVersion")
    first: tuple[str, str | None, PodGroup] | None = None
    for group in groups_of(spec):
        found = _RAY_IMAGE.search(str(group.ray_container.get("image", "")))
        if found is None:
            continue
        path = f"{group.container_path}.image"
        if said and found[1] != str(said):
            yield ManifestFault(path, f"{group.title} has Ray {found[1]}, but spec.rayVersion is {said}.", warning=True)
        if first is None:
            first = (found[1], found[2], group)
        elif found[1] != first[0]:
            yield ManifestFault(
                path,
                f"{group.title} has Ray {found[1]}, and {first[2].title} has {first[0]}: a node joins only a head with "
                "the same Ray.",
            )
        elif None not in (found[2], first[1]) and found[2] != first[1]:
            yield ManifestFault(
                path,
                f"{group.title} has Python {found[2]}, and {first[2].title} has {first[1]}: a node joins only a head "
                "with the same Python.",
            )


def _amount_of(amount: Any) -> Decimal:
    try:
        return read_quantity(amount)
    except ValueError:  # the schema tells
        return Decimal(0)


def _positive(amount: Any) -> bool:
    return _amount_of(amount) > 0
