"""A RayCluster as an object of Kubernetes, from what a user says about its groups.

What KubeRay's operator adds by itself (addresses, ports, probes, `--block`) is not written. What the operator and Ray's
autoscaler read differently is written out, so that both see the same cluster.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

# ---- what is wrong with a manifest: where, in words, and whether the cluster would come all the same


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


# ---- worker groups: what a user says about one, in a line such as `name=gpu,gpus=1,cpu=3,memory=50Gi,min=0,max=5`


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


# ----


RAY_VERSION = "2.60.0"  # of the images, unless the Ray that is installed here has another
FIRST_WITH_TOKENS = (2, 52)
VISIBLE_GPUS = "NVIDIA_VISIBLE_DEVICES"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
ACCELERATOR_LABEL = "ray.io/accelerator-type"
NOTEBOOK_GROUP = "notebook"
MOST_NAME = 53  # the name of the head's service is longer, and Kubernetes takes 63 characters
CLUSTER_NAME = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_VERSION_OF_TAG = re.compile(r":(\d+\.\d+\.\d+)")
# JupyterLab listens inside of its pod only: kubectl port-forward reaches it, other pods do not.
_NOTEBOOK_SCRIPT = (
    "( command -v jupyter-lab >/dev/null || python -m pip install --quiet 'nbaccel[lab]'; "
    "exec jupyter lab --ip=127.0.0.1 --port=8888 --no-browser ) & "
    'eval "$KUBERAY_GEN_RAY_START_CMD"'
)


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """Everything that a manifest says, before it is one."""

    name: str
    groups: tuple[WorkerPods, ...]
    namespace: str = ""
    image: str = ""  # of every pod; Ray's own where it is not given
    ray_version: str = ""
    python_tag: str = "py311"
    head_cpu: str = "2"
    head_memory: str = "8Gi"
    head_node_selector: Mapping[str, str] = field(default_factory=dict)
    head_tolerations: tuple[Toleration, ...] = ()
    idle_s: int = 60
    autoscaling: bool | None = None  # on where a group's min is below its max
    tolerate_gpu_taints: bool = True
    hide_gpus: bool = True
    token: bool = True
    notebook: bool = False
    notebook_image: str = ""
    queue: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    image_pull_secrets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_names(self)
        if self.queue and self.grows:
            raise ValueError(
                "A queue (--queue) admits a fixed size: give min = max, or leave out --queue. Both together stay "
                "suspended without a word."
            )

    @property
    def grows(self) -> bool:
        """Whether Ray's autoscaler adds and removes pods."""
        if self.autoscaling is not None:
            return self.autoscaling
        return any(group.least < group.most for group in self.groups)

    @property
    def version(self) -> str:
        """The Ray version of the images: the one that is said, the one of an image's tag, or the one that is usual."""
        tagged = _VERSION_OF_TAG.search(self.image)
        return self.ray_version or (tagged[1] if tagged else RAY_VERSION)


def _check_names(plan: ClusterPlan) -> None:
    if not CLUSTER_NAME.match(plan.name) or len(plan.name) > MOST_NAME:
        raise ValueError(
            f"{plan.name!r} cannot be the name of a RayCluster. KubeRay takes small letters, digits and '-', beginning "
            f"with a letter; at most {MOST_NAME}."
        )
    names = [group.name for group in plan.groups] + ([NOTEBOOK_GROUP] if plan.notebook else [])
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Two worker groups are called {name}. Give each a name of its own: name=….")


def make_manifest(plan: ClusterPlan) -> dict[str, Any]:
    """The RayCluster."""
    spec: dict[str, Any] = {"rayVersion": plan.version, "enableInTreeAutoscaling": plan.grows}
    if plan.grows:
        spec["autoscalerOptions"] = {"version": "v2", "idleTimeoutSeconds": plan.idle_s, "upscalingMode": "Default"}
    if plan.token and _has_tokens(plan.version):
        spec["authOptions"] = {"mode": "token"}
    spec["headGroupSpec"] = _head(plan)
    spec["workerGroupSpecs"] = [_group(plan, group) for group in plan.groups]
    if plan.notebook:
        spec["workerGroupSpecs"].append(_notebook(plan))
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": _metadata(plan), "spec": spec}


def _has_tokens(version: str) -> bool:
    major, minor = version.split(".")[:2]
    return not (major.isdecimal() and minor.isdecimal()) or (int(major), int(minor)) >= FIRST_WITH_TOKENS


def _metadata(plan: ClusterPlan) -> dict[str, Any]:
    labels = {**plan.labels, **({QUEUE_LABEL: plan.queue} if plan.queue else {})}
    metadata: dict[str, Any] = {"name": plan.name}
    if plan.namespace:
        metadata["namespace"] = plan.namespace
    if labels:
        metadata["labels"] = labels
    return metadata


def _head(plan: ClusterPlan) -> dict[str, Any]:
    """The head runs no tasks: its memory is the cluster's, and its end would be everybody's."""
    amounts: dict[str, str | int] = {"cpu": plan.head_cpu, "memory": plan.head_memory}
    container = _container("ray-head", plan.image or _ray_image(plan, ""), amounts, _hidden_gpus(plan))
    pod = _pod(plan, container, plan.head_node_selector, plan.head_tolerations)
    return {"rayStartParams": {"num-cpus": "0", "num-gpus": "0"}, "template": {"spec": pod}}


def _group(plan: ClusterPlan, group: WorkerPods) -> dict[str, Any]:
    made: dict[str, Any] = {
        "groupName": group.name,
        "replicas": group.least if group.replicas is None else group.replicas,
        "minReplicas": group.least,
        "maxReplicas": group.most,
        "numOfHosts": group.hosts,
    }
    labels = {**group.labels, **({ACCELERATOR_LABEL: group.accelerator_type} if group.accelerator_type else {})}
    if group.idle_s is not None and plan.grows:
        made["idleTimeoutSeconds"] = group.idle_s
    if group.priority is not None:
        made["priority"] = group.priority
    if labels:
        made["labels"] = labels
    made["rayStartParams"] = _ray_start_params(group)
    environment = [{"name": name, "value": value} for name, value in group.environment.items()]
    if not group.accelerators and not group.num_gpus and VISIBLE_GPUS not in group.environment:
        environment += _hidden_gpus(plan)
    container = _container("ray-worker", _image(plan, group), _amounts(group), environment)
    made["template"] = {"spec": _pod(plan, container, group.node_selector, _tolerations(plan, group))}
    return made


def _ray_start_params(group: WorkerPods) -> dict[str, str]:
    """All values are text: numbers are refused by Kubernetes."""
    parameters, custom = {}, dict(group.custom_resources)
    plugin = group.plugin
    if group.num_cpus:
        parameters["num-cpus"] = group.num_cpus
    if group.num_gpus:
        parameters["num-gpus"] = group.num_gpus
    elif plugin is None or plugin.resource == "GPU":
        parameters["num-gpus"] = str(group.accelerators)
    elif not plugin.counted:
        custom[plugin.resource] = group.accelerators
    if group.accelerator_type:
        # What accelerator_type= of a task asks for: Ray's autoscaler does not make it from the label.
        custom[f"accelerator_type:{group.accelerator_type}"] = 1
    if custom:
        # Ray takes away the first and the last character before it reads the rest as JSON.
        parameters["resources"] = f"'{json.dumps(custom)}'"
    if group.ray_memory_bytes:
        parameters["memory"] = group.ray_memory_bytes
    return parameters


def _amounts(group: WorkerPods) -> dict[str, str | int]:
    held: dict[str, str | int] = {"cpu": group.cpu, "memory": group.memory}
    return {**held, group.limit_key: group.accelerators} if group.accelerators else held


def _tolerations(plan: ClusterPlan, group: WorkerPods) -> tuple[Toleration, ...]:
    """The taint of a GPU node has the name of what the pods ask for; NVIDIA's is the same for parts of GPUs."""
    if not group.accelerators or not plan.tolerate_gpu_taints:
        return group.tolerations
    key = "nvidia.com/gpu" if group.limit_key.startswith("nvidia.com/") else group.limit_key
    return (Toleration(key, effect="NoSchedule"), *group.tolerations)


def _image(plan: ClusterPlan, group: WorkerPods) -> str:
    plugin = group.plugin
    return group.image or plan.image or _ray_image(plan, plugin.image_suffix if plugin else "")


def _ray_image(plan: ClusterPlan, suffix: str) -> str:
    return f"rayproject/ray:{plan.version}-{plan.python_tag}{suffix}"


def _container(
    name: str, image: str, amounts: dict[str, str | int], environment: list[dict[str, str]]
) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "image": image}
    if environment:
        made["env"] = environment
    return {**made, "resources": {"limits": dict(amounts), "requests": dict(amounts)}}


def _pod(
    plan: ClusterPlan,
    container: dict[str, Any],
    node_selector: Mapping[str, str],
    tolerations: tuple[Toleration, ...],
) -> dict[str, Any]:
    pod: dict[str, Any] = {}
    if plan.grows:
        pod["restartPolicy"] = "Never"  # a pod that starts again would be another node under the same name
    if plan.image_pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in plan.image_pull_secrets]
    if node_selector:
        pod["nodeSelector"] = dict(node_selector)
    if tolerations:
        pod["tolerations"] = [_toleration(each) for each in tolerations]
    return {**pod, "containers": [container]}


def _hidden_gpus(plan: ClusterPlan) -> list[dict[str, str]]:
    """NVIDIA's runtime shows every GPU of a node to a container that asks for none, unless this says otherwise."""
    return [{"name": VISIBLE_GPUS, "value": "void"}] if plan.hide_gpus else []


def _toleration(given: Toleration) -> dict[str, str]:
    made = {"key": given.key, "operator": "Exists" if given.value is None else "Equal"}
    if given.value is not None:
        made["value"] = given.value
    return {**made, "effect": given.effect} if given.effect else made


def _notebook(plan: ClusterPlan) -> dict[str, Any]:
    """One pod in which JupyterLab runs beside a Ray node that takes no tasks; `%accel_init address=auto` joins."""
    image = plan.notebook_image or plan.image or _ray_image(plan, "")
    environment = _hidden_gpus(plan)
    container = _container("ray-worker", image, {"cpu": plan.head_cpu, "memory": plan.head_memory}, environment)
    container |= {"command": ["/bin/bash", "-lc", "--"], "args": [_NOTEBOOK_SCRIPT]}
    return {
        "groupName": NOTEBOOK_GROUP,
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 1,
        "numOfHosts": 1,
        "rayStartParams": {"num-cpus": "0", "num-gpus": "0"},
        "template": {
            "metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}},
            "spec": _pod(plan, container, {}, ()),
        },
    }


# ---- the head's group and the worker groups of a manifest, with what the checks ask of each
#
# Everything is read with care: a manifest with faults is read as far as it goes, and the schema tells the rest.


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


# ---- the names that accelerators have in Kubernetes, what Ray calls them, and what Ray's autoscaler counts by itself
#
# The operator and the autoscaler read a manifest apart: what one of them does not recognise has to stand in
# `rayStartParams`, or a group that has no pod yet never gets one.


_MIG = re.compile(r"^nvidia\.com/mig-\d+g\.\d+gb(\.[a-z0-9.]+)?$")
GKE_TPU_SELECTORS = ("cloud.google.com/gke-tpu-accelerator", "cloud.google.com/gke-tpu-topology")


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """One family of accelerators, as its device plugin announces it to Kubernetes."""

    vendor: str  # the word of `vendor=`
    key: str  # of limits and requests
    resource: str  # Ray's name
    counted: bool  # whether Ray's autoscaler counts the key without help
    what: str  # for people
    image_suffix: str = ""  # of rayproject/ray, where Ray publishes an image with the vendor's libraries


PLUGINS = (
    DevicePlugin("nvidia", "nvidia.com/gpu", "GPU", True, "NVIDIA GPUs", "-gpu"),
    DevicePlugin("amd", "amd.com/gpu", "GPU", True, "AMD GPUs"),
    DevicePlugin("intel", "gpu.intel.com/i915", "GPU", False, "Intel GPUs"),
    DevicePlugin("intel-xe", "gpu.intel.com/xe", "GPU", False, "Intel GPUs of the driver xe"),
    DevicePlugin("gaudi", "habana.ai/gaudi", "HPU", False, "Intel Gaudi"),
    DevicePlugin("neuron", "aws.amazon.com/neuroncore", "neuron_cores", False, "AWS Neuron cores"),
    DevicePlugin("ascend", "huawei.com/Ascend910", "NPU", False, "Huawei Ascend"),
    DevicePlugin("tpu", "google.com/tpu", "TPU", True, "Google TPUs"),
)
VENDORS = {plugin.vendor: plugin for plugin in PLUGINS}
_BY_KEY = {plugin.key: plugin for plugin in PLUGINS} | {
    "huawei.com/npu": DevicePlugin("ascend", "huawei.com/npu", "NPU", False, "Huawei Ascend"),
    "aws.amazon.com/neuron": DevicePlugin("neuron", "aws.amazon.com/neuron", "neuron_cores", False, "AWS Neuron"),
}


def plugin_of(key: str) -> DevicePlugin | None:
    """The plugin that announces this key of limits; None for a key that is no accelerator's."""
    if key in _BY_KEY:
        return _BY_KEY[key]
    if _MIG.match(key):
        return DevicePlugin("nvidia", key, "GPU", False, "parts of NVIDIA GPUs (MIG)", "-gpu")
    if key.endswith("gpu") and "/" in key:
        return DevicePlugin("nvidia" if key.startswith("nvidia.com/") else "other", key, "GPU", True, "GPUs")
    return None


# ---- quantities as Kubernetes writes them: "500m" of a CPU, "50Gi" of memory


_QUANTITY = re.compile(r"^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d{1,3}))?$")
_THOUSANDS = {"n": -3, "u": -2, "m": -1, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY: dict[str, int] = {unit: 1024 ** (power + 1) for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}


def read_quantity(text: str | int | float) -> Decimal:
    """The number that a quantity means; ValueError for what is none."""
    match = _QUANTITY.match(str(text))
    if match is None:
        raise ValueError(f"{text!r} is no quantity. Write 3, 500m, 50Gi (1024 MiB each) or 50G (1000 MB each).")
    number, binary, decimal, exponent = match.groups()
    if binary:
        return Decimal(number) * Decimal(_BINARY[binary])
    if decimal:
        return Decimal(number).scaleb(3 * _THOUSANDS[decimal])
    return Decimal(number).scaleb(int(exponent or 0))


def rounded_up(text: str | int | float) -> int:
    """The quantity as Ray counts it: whole units, rounded up."""
    return math.ceil(read_quantity(text))


# ---- which Ray is installed here, without importing it


_BEFORE, _AFTER = "ray-", ".dist-info"


def installed_ray() -> str:
    """The version of this machine's Ray; empty where there is none.

    It stands in the name of the folder that describes the distribution; importlib.metadata, which reads the same, takes
    longer to import than a manifest takes to be written.
    """
    for folder in sys.path:
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.startswith(_BEFORE) and name.endswith(_AFTER):
                    return name.removeprefix(_BEFORE).removesuffix(_AFTER)
    return ""
