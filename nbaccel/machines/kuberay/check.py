"""Judge the RayClusters of a file: the schema first, then the operator's rules, then what Ray reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nbaccel.machines.kuberay.faults import ManifestFault, fields_of
from nbaccel.machines.kuberay.jobs import job_faults
from nbaccel.machines.kuberay.operator_rules import operator_faults
from nbaccel.machines.kuberay.ray_reading import reading_faults
from nbaccel.machines.kuberay.schema_check import ray_cluster_schema, schema_faults

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
