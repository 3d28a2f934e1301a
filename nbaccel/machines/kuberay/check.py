"""Judge the RayClusters of a file: the schema first, then the operator's rules, then what Ray reads."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from nbaccel.machines.kuberay.manifest import (
    AMOUNTS,
    CLUSTER_NAME,
    MOST_NAME,
    QUEUE_LABEL,
    ManifestFault,
    PodGroup,
    fields_of,
    groups_of,
    joined,
    whole,
    worker_groups_of,
)
from nbaccel.machines.kuberay.ray_reading import reading_faults

API_VERSION = "ray.io/v1"
_INSIDE = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}  # where other kinds of KubeRay's have the spec


@dataclass(slots=True)
class CheckedFile:
    """What was found in a file."""

    clusters: list[str] = field(default_factory=list)  # the kinds and names that were checked
    skipped: list[str] = field(default_factory=list)
    faults: list[ManifestFault] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        return any(not fault.warning for fault in self.faults)


def check_documents(documents: list[Any]) -> CheckedFile:
    """Everything about every RayCluster among the documents; of other kinds only what KubeRay's hold."""
    found = CheckedFile()
    several = len(documents) > 1
    for number, document in enumerate(documents, 1):
        kind, name = fields_of(document).get("kind"), fields_of(fields_of(document).get("metadata")).get("name")
        title = f"{kind} {name}"
        if kind != "RayCluster" and kind not in _INSIDE:
            if isinstance(document, dict) and kind:
                found.skipped.append(title)
            else:
                found.faults.append(ManifestFault(f"document {number}", "has no kind: write kind: RayCluster."))
            continue
        found.clusters.append(title)
        faults = _faults_of(document, str(kind))
        found.faults += [_of_document(fault, title) if several else fault for fault in faults]
    if not found.clusters and not found.faults:
        found.faults.append(ManifestFault("the file", "has no RayCluster."))
    return found


def _faults_of(document: dict[str, Any], kind: str) -> list[ManifestFault]:
    if kind == "RayCluster":
        return check_cluster(document)
    if kind == "RayService":
        return _inside(document, _INSIDE[kind])
    faults = [*_version_faults(document), *job_faults(document)]
    if "rayClusterSpec" in fields_of(document.get("spec")):  # a job may run on a cluster that is there already
        faults += _inside(document, _INSIDE[kind])
    return sorted(faults, key=lambda fault: fault.warning)


def check_cluster(cluster: Any) -> list[ManifestFault]:
    """The faults of one RayCluster, the serious ones first."""
    faults = [*_version_faults(cluster), *schema_faults(cluster, ray_cluster_schema())]
    faults += [*operator_faults(cluster), *reading_faults(fields_of(cluster.get("spec")))]
    return sorted(faults, key=lambda fault: fault.warning)


def _version_faults(cluster: dict[str, Any]) -> list[ManifestFault]:
    version = cluster.get("apiVersion")
    if version == API_VERSION or version is None:  # the schema tells what is missing
        return []
    return [ManifestFault("apiVersion", f"is {version!r}; KubeRay's objects are {API_VERSION}.")]


def _inside(document: dict[str, Any], name: str) -> list[ManifestFault]:
    """The cluster of a RayJob or a RayService; the schema has no other part of them."""
    spec = fields_of(document.get("spec")).get(name)
    metadata = fields_of(document.get("metadata"))
    cluster = {"apiVersion": API_VERSION, "kind": "RayCluster", "metadata": metadata, "spec": spec}
    return [
        ManifestFault(f"spec.{name}{fault.path.removeprefix('spec')}", fault.sentence, fault.warning)
        if fault.path.startswith("spec")
        else fault
        for fault in check_cluster(cluster)
    ]


def _of_document(fault: ManifestFault, title: str) -> ManifestFault:
    return ManifestFault(f"{title}: {fault.path}", fault.sentence, fault.warning)


# ---- what KubeRay's operator refuses beyond the schema, so that kubectl applies it and no pod ever comes


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


# ---- judge a RayCluster as an API server does, and say each fault with its path
#
# The schema is a JSON Schema without the parts that RayCluster does not use. A library for all of JSON Schema takes
# three seconds to import where JupyterLab is installed, and its messages are about schemas.


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


# ---- A RayJob: a RayCluster that comes for one program, and goes with it
#
# The definition of a RayJob is not shipped: its cluster is judged by the schema of a RayCluster, and its own fields
# by the operator's rules that are written here.


MOST_JOB_NAME = MOST_NAME - 6  # KubeRay adds six characters for the name of the cluster
INTERACTIVE = "InteractiveMode"
_MODES = ("K8sJobMode", "HTTPMode", INTERACTIVE, "SidecarMode")
_SELECTOR = "ray.io/cluster"


def make_job(cluster: Mapping[str, Any], entrypoint: str, runtime_env: str = "") -> dict[str, Any]:
    """The RayJob that runs `entrypoint` on such a cluster, which goes when the program ends.

    `runtime_env` is YAML, as Ray's runtime_env. Raises ValueError for what no job can be.
    """
    if not entrypoint.strip():
        raise ValueError("A RayJob needs a program: --entrypoint 'python train.py'.")
    metadata = dict(cluster["metadata"])
    if len(str(metadata.get("name"))) > MOST_JOB_NAME:
        raise ValueError(
            f"{metadata['name']!r} is too long for a RayJob: KubeRay takes at most {MOST_JOB_NAME} characters."
        )
    spec: dict[str, Any] = {"entrypoint": entrypoint, "shutdownAfterJobFinishes": True}
    if runtime_env:
        spec["runtimeEnvYAML"] = runtime_env
    spec["rayClusterSpec"] = cluster["spec"]
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec}


def job_faults(job: Mapping[str, Any]) -> list[ManifestFault]:
    """What KubeRay's operator refuses of a RayJob, beside its cluster."""
    spec = fields_of(job.get("spec"))
    return [*_job_name_faults(job), *_program_faults(spec), *_ending_faults(spec), *_selector_faults(spec)]


def _job_name_faults(job: Mapping[str, Any]) -> Iterator[ManifestFault]:
    name = fields_of(job.get("metadata")).get("name")
    if isinstance(name, str) and MOST_JOB_NAME < len(name) <= MOST_NAME:
        yield ManifestFault(
            "metadata.name",
            f"{name!r} has {len(name)} characters; KubeRay takes at most {MOST_JOB_NAME} for a RayJob, because its "
            "cluster has a longer name.",
        )


def _program_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    mode = spec.get("submissionMode", _MODES[0])
    if mode not in _MODES:
        yield ManifestFault("spec.submissionMode", f"is {mode!r}; KubeRay takes one of {', '.join(_MODES)}.")
    if not spec.get("entrypoint") and mode != INTERACTIVE:
        yield ManifestFault("spec.entrypoint", "is missing: a RayJob runs a program, for example python train.py.")
    elif not isinstance(spec.get("entrypoint", ""), str):
        yield ManifestFault("spec.entrypoint", f"is {spec['entrypoint']!r}; KubeRay takes text here.")
    if not isinstance(spec.get("runtimeEnvYAML", ""), str):
        yield ManifestFault("spec.runtimeEnvYAML", "is no text: write the YAML of the runtime_env after a '|'.")
    if mode == INTERACTIVE and _number(spec, "backoffLimit") > 0:
        yield ManifestFault("spec.backoffLimit", f"does not go with {INTERACTIVE}. Leave it out.")


def _ending_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    for name, least in (("ttlSecondsAfterFinished", 0), ("backoffLimit", 0), ("activeDeadlineSeconds", 1)):
        if name in spec and _number(spec, name, least) < least:
            yield ManifestFault(f"spec.{name}", f"is {spec[name]}; KubeRay takes {least} and more.")
    if not spec.get("shutdownAfterJobFinishes"):
        if _number(spec, "ttlSecondsAfterFinished") > 0:
            yield ManifestFault(
                "spec.ttlSecondsAfterFinished",
                "needs shutdownAfterJobFinishes: true: KubeRay refuses it without.",
            )
        if spec.get("suspend"):
            yield ManifestFault("spec.suspend", "needs shutdownAfterJobFinishes: true: KubeRay refuses it without.")
        elif "deletionStrategy" not in spec and not spec.get("clusterSelector"):
            yield ManifestFault(
                "spec.shutdownAfterJobFinishes",
                "is not true: the cluster stays when the program has ended, with its pods.",
                warning=True,
            )
    if "deletionStrategy" in spec:
        yield ManifestFault(
            "spec.deletionStrategy",
            "KubeRay's operator refuses this unless its administrator has switched the feature on (a feature gate).",
            warning=True,
        )


def _selector_faults(spec: dict[str, Any]) -> Iterator[ManifestFault]:
    selector = spec.get("clusterSelector")
    if not selector:
        if "rayClusterSpec" not in spec:
            yield ManifestFault(
                "spec.rayClusterSpec", "is missing: a RayJob has a cluster of its own, or a clusterSelector names one."
            )
        return
    if not fields_of(selector).get(_SELECTOR):
        yield ManifestFault("spec.clusterSelector", f"names no cluster. Write {_SELECTOR}: NAME.")
    if spec.get("suspend"):
        yield ManifestFault("spec.suspend", "does not go with clusterSelector: the cluster is not the job's.")
    if spec.get("submissionMode") == "SidecarMode":
        yield ManifestFault("spec.submissionMode", "SidecarMode does not go with clusterSelector.")


def _number(spec: dict[str, Any], name: str, default: int = 0) -> int:
    value = spec.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
