"""Values of Ray's former Helm chart (`podTypes`), and what each of them became in a RayCluster.

The chart was Ray's own before KubeRay. Its operator does not exist any more, so a value either has a place in a
RayCluster, or the user is told why it has none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbaccel.machines.kuberay.manifest import ClusterPlan, Toleration, WorkerPods

# What the chart had for its own operator and objects; a user installs KubeRay's operator instead.
_GONE = {
    "operatorImage": "an administrator installs KubeRay's operator, which has an image of its own",
    "operatorNamespace": "an administrator installs KubeRay's operator",
    "namespacedOperator": "an administrator installs KubeRay's operator",
    "operatorOnly": "an administrator installs KubeRay's operator",
    "clusterOnly": "the manifest holds nothing but the cluster",
    "upscalingSpeed": "KubeRay has three speeds instead, spec.autoscalerOptions.upscalingMode",
}
_READ = {"image", "imagePullSecrets", "podTypes", "headPodType", "idleTimeoutMinutes"}
_POD_FIELDS = {
    "CPU", "GPU", "memory", "minWorkers", "maxWorkers", "rayResources", "nodeSelector", "tolerations", "volumes",
    "volumeMounts",
}  # fmt: skip
_RAYS = {"CPU", "GPU", "memory"}  # what `rayResources` may hold and `rayStartParams` has a field for


@dataclass(slots=True)
class LegacyCluster:
    """The groups and the options of a plan, and a sentence for each value that was read."""

    groups: list[WorkerPods] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    became: list[str] = field(default_factory=list)


def read_values(values: Any) -> LegacyCluster:
    """The cluster of a values file; ValueError in words for what is none."""
    if not isinstance(values, dict) or not isinstance(values.get("podTypes"), dict):
        raise ValueError("The file has no podTypes: it holds no values of Ray's former Helm chart.")
    cluster = LegacyCluster()
    _read_options(values, cluster)
    head = str(values.get("headPodType", "rayHeadType"))
    for name, pod in values["podTypes"].items():
        if not isinstance(pod, dict):
            raise ValueError(f"podTypes.{name} is {pod!r}; a pod type has fields such as CPU and memory.")
        if name == head:
            _read_head(name, pod, cluster)
        else:
            cluster.groups.append(_read_group(str(name), pod, cluster))
    if head not in values["podTypes"]:
        cluster.became.append(f"podTypes.{head} (the head): is not there; the head is nbaccel's usual one.")
    return cluster


def plan_of(cluster: LegacyCluster, **further: Any) -> ClusterPlan:
    """The plan, with what the command line says besides; that has the last word."""
    return ClusterPlan(**{**cluster.options, **further})


def _read_options(values: Mapping[str, Any], cluster: LegacyCluster) -> None:
    said = cluster.became
    if values.get("image"):
        cluster.options["image"] = str(values["image"])
        said.append(f"image: {values['image']}, in every pod; it has to hold the Ray that spec.rayVersion says.")
    secrets = values.get("imagePullSecrets") or []
    if secrets:
        names = tuple(str(each.get("name") if isinstance(each, dict) else each) for each in secrets)
        cluster.options["image_pull_secrets"] = names
        said.append(f"imagePullSecrets: {', '.join(names)}, in every pod.")
    if values.get("idleTimeoutMinutes") is not None:
        cluster.options["idle_s"] = round(float(values["idleTimeoutMinutes"]) * 60)
        said.append(f"idleTimeoutMinutes: spec.autoscalerOptions.idleTimeoutSeconds: {cluster.options['idle_s']}.")
    for name in values:
        if name in _GONE:
            said.append(f"{name}: left out, because {_GONE[name]}.")
        elif name not in _READ:
            said.append(f"{name}: left out, because the chart had no such value.")


def _read_head(name: str, pod: Mapping[str, Any], cluster: LegacyCluster) -> None:
    cluster.options |= {
        "head_cpu": str(pod.get("CPU", 1)),
        "head_memory": str(pod.get("memory", "2Gi")),
        "head_node_selector": _texts(pod.get("nodeSelector")),
        "head_tolerations": _read_tolerations(pod.get("tolerations")),
    }
    cluster.became.append(
        f'podTypes.{name}: spec.headGroupSpec. It offers no CPUs to tasks any more (num-cpus: "0"), so that none '
        "takes the head's memory."
    )
    if pod.get("GPU"):
        cluster.became.append(f"podTypes.{name}.GPU: left out; add a worker group for GPUs.")
    _tell_unread(name, pod, cluster)


def _read_group(name: str, pod: Mapping[str, Any], cluster: LegacyCluster) -> WorkerPods:
    least, most = int(pod.get("minWorkers", 0)), int(pod.get("maxWorkers", 0))
    rays = dict(pod.get("rayResources") or {})
    gpus = int(pod.get("GPU") or 0)
    group = WorkerPods(
        name=_group_name(name),
        accelerators=gpus,
        cpu=str(pod.get("CPU", 1)),
        memory=str(pod.get("memory", "2Gi")),
        least=least,
        most=max(least, most),
        num_cpus=str(rays["CPU"]) if "CPU" in rays else "",
        num_gpus=str(rays["GPU"]) if "GPU" in rays else "",
        ray_memory_bytes=str(rays["memory"]) if "memory" in rays else "",
        node_selector=_texts(pod.get("nodeSelector")),
        tolerations=_read_tolerations(pod.get("tolerations")),
    )
    _tell(name, group, rays, cluster)
    _tell_unread(name, pod, cluster)
    return group


def _tell(name: str, group: WorkerPods, rays: Mapping[str, Any], cluster: LegacyCluster) -> None:
    said = cluster.became
    said.append(
        f"podTypes.{name}: worker group {group.name}, minWorkers {group.least} as minReplicas and maxWorkers "
        f"{group.most} as maxReplicas."
    )
    known = [f'{key} as "{rays[key]}"' for key in rays if key in _RAYS]
    if known:
        said.append(f"podTypes.{name}.rayResources: rayStartParams (num-cpus, num-gpus, memory): {', '.join(known)}.")
    for key in sorted(set(rays) - _RAYS):
        said.append(f"podTypes.{name}.rayResources.{key}: left out; write it into rayStartParams.resources.")
    if group.num_gpus not in ("", "0") and not group.accelerators:
        said.append(
            f"podTypes.{name} has GPUs for Ray and no GPU limit: Kubernetes gives its pods no GPU of their own, and "
            "every pod sees all GPUs of its node. With NVIDIA's device plugin, write GPU: 1 besides."
        )


def _tell_unread(name: str, pod: Mapping[str, Any], cluster: LegacyCluster) -> None:
    for key in ("volumes", "volumeMounts"):
        if pod.get(key):
            cluster.became.append(f"podTypes.{name}.{key}: left out; add them to the group's template by hand.")
    for key in sorted(set(pod) - _POD_FIELDS):
        cluster.became.append(f"podTypes.{name}.{key}: left out, because the chart had no such value.")


def _texts(given: Any) -> dict[str, str]:
    return {str(key): str(value) for key, value in (given or {}).items()}


def _read_tolerations(given: Any) -> tuple[Toleration, ...]:
    made = []
    for each in given or []:
        equal = each.get("operator", "Equal") != "Exists"
        made.append(
            Toleration(str(each.get("key", "")), str(each.get("value", "")) if equal else None, each.get("effect"))
        )
    return tuple(made)


def _group_name(name: str) -> str:
    """rayGPUWorkerType: ray-gpu-worker-type, as Kubernetes takes names."""
    parts = re.sub(r"([a-z0-9])([A-Z])|([A-Z]+)([A-Z][a-z])", r"\1\3-\2\4", name)
    return re.sub(r"[^a-z0-9]+", "-", parts.lower()).strip("-")
