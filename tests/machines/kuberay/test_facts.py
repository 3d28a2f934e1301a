"""What KubeRay documents of RayClusters, as manifests: each passes the strict schema, and what it does not take does not."""

# ruff: noqa: E501 -- a row of a table is a line

from __future__ import annotations

import copy
from typing import Any

import pytest

from nbaccel.machines.kuberay.check import ray_cluster_schema, schema_faults

Fields = dict[str, Any]


def cluster() -> Fields:
    """One of KubeRay's smallest: a head, a group, and what its API server would fill in written out."""
    pod = {
        "spec": {
            "containers": [{"name": "ray", "image": "rayproject/ray:2.60.0", "resources": {"limits": {"cpu": "1"}}}]
        }
    }
    group = {
        "groupName": "gpu",
        "replicas": 0,
        "minReplicas": 0,
        "maxReplicas": 2,
        "numOfHosts": 1,
        "template": copy.deepcopy(pod),
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "c"},
        "spec": {"headGroupSpec": {"template": pod}, "workerGroupSpecs": [group]},
    }


def of_cluster(**fields: Any) -> Fields:
    made = cluster()
    made["spec"].update(fields)
    return made


def of_group(**fields: Any) -> Fields:
    made = cluster()
    made["spec"]["workerGroupSpecs"][0].update(fields)
    return made


def of_pod(**fields: Any) -> Fields:
    made = cluster()
    made["spec"]["workerGroupSpecs"][0]["template"]["spec"].update(fields)
    return made


def of_container(**fields: Any) -> Fields:
    made = cluster()
    made["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0].update(fields)
    return made


def limits(key: str, amount: Any = 1) -> Fields:
    return of_container(resources={"limits": {"cpu": "4", "memory": "8Gi", key: amount}, "requests": {"cpu": "500m"}})


def labelled(**labels: str) -> Fields:
    made = cluster()
    made["metadata"]["labels"] = {name.replace("__", "/").replace("_", "."): value for name, value in labels.items()}
    return made


AUTOSCALER = {
    "version": "v2", "idleTimeoutSeconds": 60, "upscalingMode": "Default", "image": "rayproject/ray:2.60.0",
    "imagePullPolicy": "IfNotPresent", "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}}, "env": [{"name": "A", "value": "1"}],
    "envFrom": [{"configMapRef": {"name": "m"}}], "command": ["ray"], "args": ["kuberay-autoscaler"], "securityContext": {"runAsNonRoot": True},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}  # fmt: skip
TAINT = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
PORTS = [
    {"containerPort": port, "name": name}
    for port, name in ((6379, "gcs-server"), (10001, "client"), (8265, "dashboard"), (8080, "metrics"), (8000, "serve"))
]

FACTS: dict[str, Fields] = {
    "the smallest cluster": cluster(),
    "no worker group": of_cluster(workerGroupSpecs=[]),
    "a Ray version": of_cluster(rayVersion="2.60.0"),
    "autoscaling in the tree": of_cluster(enableInTreeAutoscaling=True, autoscalerOptions=AUTOSCALER),
    **{f"upscaling {mode}": of_cluster(autoscalerOptions={"upscalingMode": mode}) for mode in ("Default", "Aggressive", "Conservative")},
    "the first autoscaler": of_cluster(autoscalerOptions={"version": "v1"}),
    "a token": of_cluster(rayVersion="2.60.0", authOptions={"mode": "token"}),
    "a token of a Secret": of_cluster(rayVersion="2.60.0", authOptions={"mode": "token", "secretName": "s"}),
    "tokens of Kubernetes": of_cluster(rayVersion="2.60.0", authOptions={"mode": "token", "enableK8sTokenAuth": True}),
    "no token": of_cluster(authOptions={"mode": "disabled"}),
    "suspended by Kueue": of_cluster(suspend=True),
    "a queue of Kueue's": labelled(kueue_x_k8s_io__queue_name="q"),
    "a queue of Volcano's": labelled(volcano_sh__queue_name="q"),
    **{f"managed by {who}": of_cluster(managedBy=who) for who in ("ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue")},
    "annotations of the head's service": of_cluster(headServiceAnnotations={"a": "b"}),
    "fault tolerance of the GCS": of_cluster(gcsFaultToleranceOptions={"redisAddress": "redis:6379", "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "r", "key": "p"}}}}),
    "upgrades": of_cluster(upgradeStrategy={"type": "Recreate"}),
    "parameters as text": of_group(rayStartParams={"num-cpus": "0", "num-gpus": "1", "resources": '"{\\"NPU\\": 1}"'}),
    "resources of a group": of_group(resources={"GPU": "1", "CPU": "4"}),
    "labels of a group": of_group(labels={"ray.io/accelerator-type": "A100"}),
    "a time to be idle": of_group(idleTimeoutSeconds=10),
    "a priority": of_group(priority=3),
    "several hosts": of_group(numOfHosts=4),
    "a suspended group": of_group(suspend=True),
    "nodes to be deleted": of_group(scaleStrategy={"workersToDelete": ["c-gpu-1"]}),
    "the most that an API server fills in": of_group(maxReplicas=2**31 - 1),
    **{
        f"a limit of {key}": limits(key)
        for key in (
            "nvidia.com/gpu", "nvidia.com/mig-2g.20gb", "amd.com/gpu", "intel.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe",
            "habana.ai/gaudi", "aws.amazon.com/neuroncore", "huawei.com/Ascend910", "huawei.com/npu", "google.com/tpu",
        )
    },
    "an amount as text": limits("nvidia.com/gpu", "1"),
    "a taint of GPU nodes": of_pod(tolerations=TAINT),
    "a GPU's product": of_pod(nodeSelector={"nvidia.com/gpu.product": "A100-SXM4-80GB"}),
    "a TPU slice": of_pod(nodeSelector={"cloud.google.com/gke-tpu-topology": "2x2x1", "cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice"}),
    "nodes of GKE and Karpenter": of_pod(nodeSelector={"cloud.google.com/gke-accelerator": "nvidia-l4", "karpenter.k8s.aws/instance-gpu-name": "l4"}),
    "a pod that is never restarted": of_pod(restartPolicy="Never"),
    "room for shared memory": of_pod(volumes=[{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]),
    "a file of a Secret": of_pod(volumes=[{"name": "s", "secret": {"secretName": "s", "items": [{"key": "auth_token", "path": "token"}]}}]),
    "a claim of DRA": of_pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}]),
    "a container's claim of DRA": of_container(resources={"limits": {"cpu": "1"}, "claims": [{"name": "gpu"}]}),
    "no GPU to be seen": of_container(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]),
    "a command of one's own": of_container(command=["/bin/bash", "-c"], args=['jupyter lab & eval "$KUBERAY_GEN_RAY_START_CMD"']),
    "the ports of a head": of_container(ports=PORTS),
    "a hook before the end": of_container(lifecycle={"preStop": {"exec": {"command": ["ray", "stop"]}}}),
    "a probe": of_container(livenessProbe={"httpGet": {"path": "/", "port": "dashboard"}, "periodSeconds": 5}),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTS)
def test_what_kuberay_takes_passes_the_strict_schema(name: str) -> None:
    assert list(schema_faults(FACTS[name], ray_cluster_schema())) == []


# The same places, with a word or a type that KubeRay does not take.
REFUSED: dict[str, Fields] = {
    "autoscalerOptions.idleTimeoutSeconds": of_cluster(autoscalerOptions={"idleTimeoutSeconds": "60"}),
    "autoscalerOptions.upscalingMode": of_cluster(autoscalerOptions={"upscalingMode": "Fast"}),
    "autoscalerOptions.version": of_cluster(autoscalerOptions={"version": "v3"}),
    "authOptions.enableK8STokenAuth": of_cluster(authOptions={"enableK8STokenAuth": True}),
    "headServiceAnnotations.a": of_cluster(headServiceAnnotations={"a": 1}),
    "gcsFaultToleranceOptions.redisAdress": of_cluster(gcsFaultToleranceOptions={"redisAdress": "redis:6379"}),
    "workerGroupSpecs[0].labels.zone": of_group(labels={"zone": 1}),
    "workerGroupSpecs[0].resources.GPU": of_group(resources={"GPU": 1}),
    "workerGroupSpecs[0].numOfHosts": of_group(numOfHosts="4"),
    "workerGroupSpecs[0].scaleStrategy.workersToDelete": of_group(scaleStrategy={"workersToDelete": "c-gpu-1"}),
    "workerGroupSpecs[0].maxReplicas": of_group(maxReplicas=2**31),
    "workerGroupSpecs[0].template.spec.tolerations[0].effects": of_pod(tolerations=[{"effects": "NoSchedule"}]),
    "workerGroupSpecs[0].template.spec.nodeSelector.gpu": of_pod(nodeSelector={"gpu": True}),
    "workerGroupSpecs[0].template.spec.resourceClaims[0].claimTemplate": of_pod(resourceClaims=[{"name": "gpu", "claimTemplate": "one"}]),
    "workerGroupSpecs[0].template.spec.containers[0].resources.limits[nvidia.com/gpu]": limits("nvidia.com/gpu", "one"),
    "workerGroupSpecs[0].template.spec.containers[0].env[0].value": of_container(env=[{"name": "A", "value": True}]),
    "workerGroupSpecs[0].template.spec.containers[0].ports[0].containerPort": of_container(ports=[{"containerPort": "6379"}]),
}  # fmt: skip


@pytest.mark.parametrize("path", REFUSED)
def test_what_kuberay_does_not_take_is_named_with_its_path(path: str) -> None:
    (fault,) = schema_faults(REFUSED[path], ray_cluster_schema())
    assert fault.path == f"spec.{path}"
