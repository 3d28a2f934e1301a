"""Values of Ray's former Helm chart become a RayCluster, and every value has a sentence that says what it became."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nbaccel import cli
from nbaccel.machines.kuberay import legacy_values
from nbaccel.machines.kuberay.check import check_documents
from nbaccel.machines.kuberay.legacy_values import read_values
from nbaccel.machines.kuberay.manifest import make_manifest

VALUES = """
imagePullSecrets: []
image: example.org/ray-ray:nightly
operatorImage: example.org/ray-ray:nightly
podTypes:
  rayGPUWorkerType:
    memory: 10Gi
    maxWorkers: 4
    minWorkers: 1
    CPU: 1
    rayResources:
      CPU: 1
      GPU: 1
      memory: 1000000000
    nodeSelector:
      node.kubernetes.io/gpu: gpu
  rayWorkerType:
    memory: 10Gi
    maxWorkers: 4
    minWorkers: 1
    CPU: 1
  rayHeadType:
    memory: 3Gi
    CPU: 1
"""


@pytest.fixture
def values(tmp_path: Path) -> Path:
    file = tmp_path / "values.yaml"
    file.write_text(VALUES)
    return file


def cluster_of(values: dict[str, Any]) -> dict[str, Any]:
    legacy = read_values(values)
    return make_manifest(legacy_values.plan_of(legacy, name="c", groups=tuple(legacy.groups)))


def test_pod_types_become_groups(values: Path) -> None:
    done = CliRunner().invoke(cli.main, ["kuberay", "render", "c", "--from-values", str(values)])
    assert done.exit_code == 0, done.output
    document = yaml.safe_load(done.stdout)
    assert not check_documents([document]).refused
    gpu, cpu = document["spec"]["workerGroupSpecs"]
    assert gpu["groupName"] == "ray-gpu-worker-type"
    assert cpu["groupName"] == "ray-worker-type"
    assert (gpu["minReplicas"], gpu["maxReplicas"]) == (1, 4)
    assert gpu["rayStartParams"] == {"num-cpus": "1", "num-gpus": "1", "memory": "1000000000"}
    pod = gpu["template"]["spec"]
    assert pod["nodeSelector"] == {"node.kubernetes.io/gpu": "gpu"}
    assert pod["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "10Gi"}
    assert "env" not in pod["containers"][0], "Ray counts a GPU there, so that the pod has to see it"
    head = document["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert head["resources"]["limits"] == {"cpu": "1", "memory": "3Gi"}
    assert head["image"] == "example.org/ray-ray:nightly"


def test_each_value_is_told_what_it_became(values: Path) -> None:
    told = CliRunner().invoke(cli.main, ["kuberay", "render", "c", "--from-values", str(values)]).stderr
    for words in (
        "podTypes.rayGPUWorkerType: worker group ray-gpu-worker-type",
        'rayStartParams (num-cpus, num-gpus, memory): CPU as "1", GPU as "1", memory as "1000000000"',
        "podTypes.rayGPUWorkerType has GPUs for Ray and no GPU limit",
        "podTypes.rayHeadType: spec.headGroupSpec.",
        "operatorImage: left out, because an administrator installs KubeRay's operator",
        "Say --ray-version if the image has another Ray",
    ):
        assert words in told


def test_a_gpu_limit_idle_time_and_secrets_are_kept() -> None:
    pods = {
        "rayHeadType": {},
        "gpuWorker": {"GPU": 2, "maxWorkers": 3, "tolerations": [{"key": "a", "operator": "Exists"}]},
    }
    spec = cluster_of({"podTypes": pods, "idleTimeoutMinutes": 5, "imagePullSecrets": [{"name": "s"}]})["spec"]
    pod = spec["workerGroupSpecs"][0]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 2
    assert pod["tolerations"][-1] == {"key": "a", "operator": "Exists"}
    assert pod["imagePullSecrets"] == [{"name": "s"}]
    assert spec["autoscalerOptions"]["idleTimeoutSeconds"] == 300


def test_what_has_no_place_is_named() -> None:
    told = read_values(
        {"podTypes": {"w": {"CPU": 1, "hats": 3, "volumes": [{}]}}, "upscalingSpeed": 2, "odd": 1}
    ).became
    text = "\n".join(told)
    for words in (
        "podTypes.w.hats: left out",
        "podTypes.w.volumes: left out",
        "upscalingSpeed: left out",
        "odd: left out",
    ):
        assert words in text
    assert "podTypes.rayHeadType (the head): is not there" in text


@pytest.mark.parametrize("text", ["[]", "image: a", "podTypes: {w: 3}", "podTypes: {}: 3"])
def test_a_file_that_holds_no_values_is_refused_in_words(text: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)
    done = CliRunner().invoke(cli.main, ["kuberay", "render", "c", "--from-values", str(file)])
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert "Traceback" not in done.output
