"""A RayCluster as an object of Kubernetes, from what a user says about its groups.

What KubeRay's operator adds by itself (addresses, ports, probes, `--block`) is not written. What the operator and Ray's
autoscaler read differently is written out, so that both see the same cluster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbaccel.machines.kuberay.worker_groups import Toleration, WorkerPods

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
