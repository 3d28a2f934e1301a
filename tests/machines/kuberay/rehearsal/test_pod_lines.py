"""A pod is started with the resources that Ray's autoscaler reads from the manifest, and joins no other cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nbaccel.machines.kuberay.manifest import PodGroup, groups_of
from nbaccel.machines.kuberay.rehearsal import processes
from nbaccel.machines.kuberay.rehearsal.played_cluster import HEAD_GROUP, Certificate, PlayedCluster, Pod
from tests.machines.kuberay.rehearsal.manifests import manifest

POD = Pod("c-gpu-worker-abcde", "gpu", "127.0.0.7")
HEAD = Pod("c-head", HEAD_GROUP, "127.0.0.3")


def groups(*lines: str) -> list[PodGroup]:
    return list(groups_of(manifest(*lines)["spec"]))


def options(line: list[str]) -> dict[str, str]:
    """The options of a `ray start` line."""
    assert line[2:5] == ["ray.scripts.scripts", "start", "--block"]
    return dict(word.removeprefix("--").partition("=")[::2] for word in line[5:])


def test_a_worker_has_the_resources_and_labels_of_its_group() -> None:
    _, group = groups("gpus=2,cpu=2500m,memory=50Gi,max=2,accelerator=A100,label=zone=a")
    found = options(processes.worker_line(group, POD, "127.0.0.3:7000"))
    assert found["address"] == "127.0.0.3:7000" and found["node-ip-address"] == "127.0.0.7"
    assert (found["num-cpus"], found["num-gpus"], found["memory"]) == ("3", "2", str(50 << 30))
    assert json.loads(found["resources"]) == {"accelerator_type:A100": 1}
    assert set(found["labels"].split(",")) == {"zone=a", "ray.io/accelerator-type=A100"}
    assert processes.described_command(group) == "3 CPU, 2 GPU, 50 GiB, A100"


def test_accelerators_with_a_name_of_their_own_are_a_resource() -> None:
    _, group = groups("name=hpu,vendor=gaudi,gpus=8,max=2")
    found = options(processes.worker_line(group, POD, "h:1"))
    assert found["num-gpus"] == "0" and json.loads(found["resources"]) == {"HPU": 8}


def test_the_head_has_no_monitor_and_every_port_is_free(tmp_path: Path) -> None:
    head, group = groups()
    found = options(processes.head_line(head, HEAD, port=7000, client_port=7001, folder=tmp_path))
    assert {"head", "no-monitor"} <= found.keys() and "address" not in found
    assert (found["port"], found["ray-client-server-port"], found["temp-dir"]) == ("7000", "7001", str(tmp_path))
    assert (found["num-cpus"], found["num-gpus"]) == ("0", "0")
    for line in (found, options(processes.worker_line(group, POD, "h:1"))):
        assert line["min-worker-port"] == line["max-worker-port"] == line["dashboard-agent-listen-port"] == "0"
    without = options(processes.head_line(head, HEAD, port=7000, client_port=0, folder=tmp_path))
    assert "ray-client-server-port" not in without


def test_the_autoscaler_knows_a_pod_by_its_name_and_its_group() -> None:
    assert processes.pod_variables(POD) == {"RAY_CLOUD_INSTANCE_ID": POD.name, "RAY_NODE_TYPE_NAME": "gpu"}
    assert processes.pod_variables(HEAD)["RAY_enable_autoscaler_v2"] == "1"


def test_no_variable_leads_to_another_cluster_or_hides_a_device(tmp_path: Path) -> None:
    environ = {
        "RAY_ADDRESS": "elsewhere:1",
        "RAY_AUTH_TOKEN": "other",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": "/p",
        "A": "b",
    }
    found = processes.node_variables(environ, token_file=tmp_path / "token", mark="run/pod")
    assert not {"RAY_ADDRESS", "RAY_AUTH_TOKEN", "CUDA_VISIBLE_DEVICES"} & found.keys()
    assert (found["RAY_AUTH_MODE"], found["RAY_AUTH_TOKEN_PATH"]) == ("token", str(tmp_path / "token"))
    assert found["A"] == "b" and found[processes.MARK] == "run/pod"
    folder, rest = found["PYTHONPATH"].split(os.pathsep)
    assert rest == "/p" and Path(folder).is_dir()


def test_the_autoscaler_is_told_where_its_api_server_is(tmp_path: Path) -> None:
    cluster = PlayedCluster(manifest(namespace="ml"))
    assert processes.autoscaler_line(cluster, "h:1")[-3:] == ["c", "ml", "h:1"]
    shown: dict[str, Any] = processes.autoscaler_variables(cluster, Certificate(tmp_path / "c", tmp_path / "k"), 8443)
    assert (shown["KUBERNETES_SERVICE_HOST"], shown["KUBERNETES_SERVICE_PORT_HTTPS"]) == ("127.0.0.1", "8443")
    assert shown["RAY_HEAD_POD_NAME"] == "c-head"
    assert shown["RAY_KUBERAY_CLIENT_KEY_PATH"] == str(tmp_path / "k")
