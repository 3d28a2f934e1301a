"""A RayJob: a RayCluster that comes for one program, and goes with it.

The definition of a RayJob is not shipped: its cluster is judged by the schema of a RayCluster, and its own fields by
the operator's rules that are written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nbaccel.machines.kuberay.faults import ManifestFault, fields_of
from nbaccel.machines.kuberay.manifest import MOST_NAME

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
    return [*_name_faults(job), *_program_faults(spec), *_ending_faults(spec), *_selector_faults(spec)]


def _name_faults(job: Mapping[str, Any]) -> Iterator[ManifestFault]:
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
