"""What KubeRay's operator refuses beyond the schema, so that kubectl applies it and no pod ever comes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nbaccel.machines.kuberay.faults import ManifestFault, fields_of
from nbaccel.machines.kuberay.manifest import CLUSTER_NAME, MOST_NAME, QUEUE_LABEL
from nbaccel.machines.kuberay.pod_groups import AMOUNTS, PodGroup, groups_of, whole, worker_groups_of

_V2_SWITCH = "RAY_enable_autoscaler_v2"
_FEATURES = ("networkPolicy", "tlsOptions", "historyServerOptions")
_VERSION = re.compile(r"^(\d+)\.(\d+)")


def operator_faults(cluster: dict[str, Any]) -> list[ManifestFault]:
    """Every rule of the operator's that this RayCluster breaks."""
    spec = fields_of(cluster.get("spec"))
    found = [*_name_faults(cluster), *_group_names(spec), *_token_faults(spec), *_feature_faults(spec)]
    for group in groups_of(spec):
        found += [*_resource_faults(group), *_pod_faults(group, spec)]
    for group in worker_groups_of(spec):
        found += _size_faults(group)
        if group.fields.get("suspend") and spec.get("enableInTreeAutoscaling"):
            found.append(
                ManifestFault(
                    f"{group.path}.suspend",
                    f"{group.title} is suspended while enableInTreeAutoscaling is true: KubeRay refuses both together. "
                    "Set replicas, minReplicas and maxReplicas to 0 instead.",
                )
            )
    return [*found, *_queue_faults(cluster, spec)]


def _name_faults(cluster: dict[str, Any]) -> Iterator[ManifestFault]:
    name = fields_of(cluster.get("metadata")).get("name")
    if name is None:
        if not fields_of(cluster.get("metadata")).get("generateName"):
            yield ManifestFault("metadata.name", "is missing; KubeRay names the service and the Secret after it.")
        return
    if len(str(name)) > MOST_NAME:
        yield ManifestFault(
            "metadata.name",
            f"{str(name)!r} has {len(str(name))} characters; KubeRay takes at most {MOST_NAME}, because the head's "
            "service has a longer name.",
        )
    elif not CLUSTER_NAME.match(str(name)):
        yield ManifestFault(
            "metadata.name",
            f"{str(name)!r} is no name for a service: write small letters, digits and '-', and begin with a letter.",
        )


def _group_names(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    seen: set[str] = set()
    for group in worker_groups_of(spec):
        name = group.fields.get("groupName")
        path = f"{group.path}.groupName"
        if not isinstance(name, str):
            continue
        if name in seen:
            yield ManifestFault(
                path, f"Two worker groups are called {name}: Ray's autoscaler would see only the last of them."
            )
        if name == "headgroup":
            yield ManifestFault(path, "'headgroup' is the name of the head's group. Give the worker group another one.")
        seen.add(name)


def _resource_faults(group: PodGroup) -> Iterator[ManifestFault]:
    both = [key for key in AMOUNTS if key in group.parameters]
    if both and group.resources:
        there = next((name for key in both if (name := AMOUNTS[key]) in group.resources), next(iter(group.resources)))
        yield ManifestFault(
            f"{group.path}.resources",
            f"{group.title}: rayStartParams has {both[0]} and resources has {there}: KubeRay takes only one of them.",
        )
    if "labels" in group.parameters:
        yield ManifestFault(
            f"{group.path}.rayStartParams.labels",
            f"{group.title}: KubeRay takes no labels in rayStartParams. Write them as {group.path}.labels.",
        )


def _size_faults(group: PodGroup) -> Iterator[ManifestFault]:
    for name in ("replicas", "minReplicas", "maxReplicas", "numOfHosts", "idleTimeoutSeconds"):
        if whole(group.fields.get(name), 0) < 0:
            yield ManifestFault(f"{group.path}.{name}", f"{group.title}: {group.fields[name]} is less than 0.")
    least = whole(group.fields.get("minReplicas"), 0)
    most = whole(group.fields.get("maxReplicas"), 2**31 - 1)
    replicas = whole(group.fields.get("replicas"), least)
    if least > most:
        yield ManifestFault(
            f"{group.path}.minReplicas", f"{group.title}: minReplicas {least} is more than maxReplicas {most}."
        )
    elif not least <= replicas <= most:
        yield ManifestFault(
            f"{group.path}.replicas",
            f"{group.title}: replicas {replicas} lies outside of minReplicas {least} to maxReplicas {most}; KubeRay "
            "takes the nearest of them.",
            warning=True,
        )


def _pod_faults(group: PodGroup, spec: dict[str, Any]) -> Iterator[ManifestFault]:
    if isinstance(group.pod.get("containers"), list) and not group.containers:
        yield ManifestFault(f"{group.pod_path}.containers", f"{group.title} has no container; the first one runs Ray.")
    options = fields_of(spec.get("autoscalerOptions"))
    policy = group.pod.get("restartPolicy", "Never")
    if spec.get("enableInTreeAutoscaling") and options.get("version") == "v2" and policy != "Never":
        yield ManifestFault(
            f"{group.pod_path}.restartPolicy",
            f"{group.title}: {policy} does not go with autoscaler v2. Write Never, or leave restartPolicy out.",
        )
    if _V2_SWITCH in group.variables() and "version" in options:
        yield ManifestFault(
            f"{group.container_path}.env",
            f"{group.title} sets {_V2_SWITCH} and spec.autoscalerOptions has version: KubeRay takes only one of them. "
            "Leave the variable out.",
        )


def _token_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    options = fields_of(spec.get("authOptions"))
    version = spec.get("rayVersion")
    if options.get("mode") == "token" and not version:
        yield ManifestFault("spec.authOptions.mode", "token needs spec.rayVersion: KubeRay refuses it without.")
    if options.get("mode") == "token" and _older(version, (2, 52)):
        yield ManifestFault(
            "spec.authOptions.mode",
            f"Ray {version} has no tokens; they came with Ray 2.52. Take a newer image, or leave authOptions out.",
        )
    if options.get("enableK8sTokenAuth") and _older(version, (2, 55)):
        yield ManifestFault(
            "spec.authOptions.enableK8sTokenAuth",
            f"Ray {version} does not take tokens of Kubernetes; Ray 2.55 is the first that does.",
        )
    if options.get("enableK8sTokenAuth") and options.get("secretName"):
        yield ManifestFault(
            "spec.authOptions.secretName",
            "goes with a token of Ray's own, and enableK8sTokenAuth with Kubernetes' tokens. Leave one of them out.",
        )


def _older(version: Any, than: tuple[int, int]) -> bool:
    match = _VERSION.match(str(version))
    return match is not None and (int(match[1]), int(match[2])) < than


def _feature_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    for name in _FEATURES:
        if name in spec:
            yield _behind_a_gate(f"spec.{name}")
    if fields_of(spec.get("gcsFaultToleranceOptions")).get("backend") == "rocksdb":
        yield _behind_a_gate("spec.gcsFaultToleranceOptions.backend")


def _behind_a_gate(path: str) -> ManifestFault:
    return ManifestFault(
        path,
        "KubeRay's operator refuses this unless its administrator has switched the feature on (a feature gate).",
        warning=True,
    )


def _queue_faults(cluster: dict[str, Any], spec: dict[str, Any]) -> Iterator[ManifestFault]:
    queue = fields_of(fields_of(cluster.get("metadata")).get("labels")).get(QUEUE_LABEL)
    if queue and spec.get("enableInTreeAutoscaling"):
        yield ManifestFault(
            "spec.enableInTreeAutoscaling",
            f"A queue (the label {QUEUE_LABEL}) admits a fixed size: set min = max and leave out autoscaling, or leave "
            "out the queue. Both together stay suspended without a word.",
        )
