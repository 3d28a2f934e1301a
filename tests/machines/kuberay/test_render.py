"""The manifest says everything that Kubernetes, KubeRay and Ray each need, and each of them takes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from nbaccel import cli
from nbaccel.machines.kuberay.check import check_documents
from nbaccel.machines.kuberay.manifest import VENDORS, groups_of
from nbaccel.machines.kuberay.ray_reading import autoscaler_reading

SEED_GROUP = "name=gpu-group,gpus=1,cpu=3,memory=50Gi,replicas=0,min=0,max=5"
TPU_SLICE = "select=cloud.google.com/gke-tpu-accelerator=tpu-v4-podslice,select=cloud.google.com/gke-tpu-topology=2x2x2"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["kuberay", *arguments])


def rendered(*arguments: str) -> dict[str, Any]:
    done = run("render", "c", *arguments)
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = yaml.safe_load(done.stdout)
    assert check_documents([document]).faults == []
    return document


def group_of(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(group for group in document["spec"]["workerGroupSpecs"] if group["groupName"] == name)


def pod_of(group: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = group["template"]["spec"]
    return pod


def container_of(group: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = pod_of(group)["containers"][0]
    return container


def test_a_gpu_group_has_limits_requests_sizes_and_autoscaling() -> None:
    document = rendered("--gpu-group", SEED_GROUP)
    group = group_of(document, "gpu-group")
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"]) == (0, 0, 5)
    amounts = {"cpu": "3", "memory": "50Gi", "nvidia.com/gpu": 1}
    assert container_of(group)["resources"] == {"limits": amounts, "requests": amounts}
    assert document["spec"]["enableInTreeAutoscaling"] is True
    assert document["spec"]["autoscalerOptions"]["idleTimeoutSeconds"] == 60


def test_a_group_of_a_fixed_size_has_no_autoscaling() -> None:
    spec = rendered("--gpu-group", "min=2,max=2")["spec"]
    assert spec["enableInTreeAutoscaling"] is False
    assert "autoscalerOptions" not in spec
    assert spec["workerGroupSpecs"][0]["replicas"] == 2


def test_what_ray_is_told_is_text_and_may_differ_from_the_limit() -> None:
    group = group_of(rendered("--gpu-group", "gpus=1,num-gpus=2"), "gpu")
    assert group["rayStartParams"] == {"num-gpus": "2"}
    assert container_of(group)["resources"]["limits"]["nvidia.com/gpu"] == 1


def test_pods_without_gpus_see_none_and_the_head_is_one_of_them() -> None:
    spec = rendered("--gpu-group", "max=1", "--cpu-group", "max=1")["spec"]
    hidden = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}
    assert container_of(spec["headGroupSpec"])["env"] == [hidden]
    assert container_of(group_of({"spec": spec}, "cpu"))["env"] == [hidden]
    assert "env" not in container_of(group_of({"spec": spec}, "gpu"))
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_a_variable_that_the_user_sets_is_left_as_it_is() -> None:
    group = group_of(rendered("--cpu-group", "env=NVIDIA_VISIBLE_DEVICES=all,env=A=b"), "cpu")
    assert container_of(group)["env"] == [
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
        {"name": "A", "value": "b"},
    ]


def test_gpu_pods_tolerate_the_taint_of_gpu_nodes_unless_told_not_to() -> None:
    taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    further = {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoExecute"}
    line = "tolerate=team=ml:NoExecute"
    assert pod_of(group_of(rendered("--gpu-group", line), "gpu"))["tolerations"] == [taint, further]
    assert pod_of(group_of(rendered("--gpu-group", line, "--no-gpu-tolerations"), "gpu"))["tolerations"] == [further]


def test_node_selectors_images_labels_and_idle_times_are_written_for_each_group() -> None:
    line = "image=mine:1,idle=300,accelerator=A100,select=nvidia.com/gpu.product=A100-SXM4-80GB"
    group = group_of(rendered("--gpu-group", line, "--idle", "20"), "gpu")
    assert pod_of(group)["nodeSelector"] == {"nvidia.com/gpu.product": "A100-SXM4-80GB"}
    assert container_of(group)["image"] == "mine:1"
    assert group["idleTimeoutSeconds"] == 300
    assert group["labels"] == {"ray.io/accelerator-type": "A100"}
    (groups,) = [each for each in groups_of(rendered("--gpu-group", line)["spec"]) if not each.is_head]
    assert autoscaler_reading(groups)["accelerator_type:A100"] == 1, "work with accelerator_type= brings a pod"


def test_images_have_the_ray_and_the_python_of_this_machine() -> None:
    spec = rendered("--gpu-group", "max=1", "--ray-version", "2.61.0")["spec"]
    tag = f"py{sys.version_info.major}{sys.version_info.minor}"
    assert spec["rayVersion"] == "2.61.0"
    assert container_of(spec["headGroupSpec"])["image"] == f"rayproject/ray:2.61.0-{tag}"
    assert container_of(spec["workerGroupSpecs"][0])["image"] == f"rayproject/ray:2.61.0-{tag}-gpu"


def test_the_version_of_a_given_image_is_the_clusters() -> None:
    spec = rendered("--cpu-group", "max=1", "--image", "rayproject/ray:2.51.2-py311")["spec"]
    assert spec["rayVersion"] == "2.51.2"
    assert "authOptions" not in spec, "Ray 2.51 has no tokens"


def test_nobody_joins_without_a_token() -> None:
    assert rendered("--cpu-group", "max=1")["spec"]["authOptions"] == {"mode": "token"}
    assert "authOptions" not in rendered("--cpu-group", "max=1", "--no-token")["spec"]


def test_a_notebook_pod_offers_no_cpus_and_listens_only_inside() -> None:
    group = group_of(rendered("--gpu-group", "max=1", "--notebook"), "notebook")
    assert group["rayStartParams"]["num-cpus"] == "0"
    assert (group["minReplicas"], group["maxReplicas"]) == (1, 1)
    assert group["template"]["metadata"]["annotations"] == {"ray.io/overwrite-container-cmd": "true"}
    script = container_of(group)["args"][0]
    assert "--ip=127.0.0.1" in script and script.endswith('eval "$KUBERAY_GEN_RAY_START_CMD"')


def test_a_queue_and_autoscaling_are_refused_together() -> None:
    done = run("render", "c", "--gpu-group", "max=2", "--queue", "team")
    assert done.exit_code == 1
    assert "give min = max, or leave out --queue" in done.output
    document = rendered("--gpu-group", "min=2,max=2", "--queue", "team")
    assert document["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}


WHAT_RAY_SEES = {
    "nvidia": {"GPU": 2},
    "amd": {"GPU": 2},
    "intel": {"GPU": 2},
    "intel-xe": {"GPU": 2},
    "gaudi": {"HPU": 2},
    "neuron": {"neuron_cores": 2},
    "ascend": {"NPU": 2},
    "tpu": {"TPU": 2},
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_ray_counts_the_accelerators_of_every_vendor(vendor: str) -> None:
    line = f"vendor={vendor},gpus=2,cpu=1500m,memory=1Gi" + (f",{TPU_SLICE}" if vendor == "tpu" else "")
    document = rendered("--gpu-group", line)
    _, group = groups_of(document["spec"])
    reading = autoscaler_reading(group)
    assert reading == {"CPU": 2, "memory": 1 << 30, **WHAT_RAY_SEES[vendor]}


def test_parts_of_gpus_are_counted_and_tolerated_as_gpus() -> None:
    group = group_of(rendered("--gpu-group", "resource=nvidia.com/mig-2g.20gb"), "gpu")
    assert container_of(group)["resources"]["limits"]["nvidia.com/mig-2g.20gb"] == 1
    assert group["rayStartParams"] == {"num-gpus": "1"}
    assert pod_of(group)["tolerations"][0]["key"] == "nvidia.com/gpu"


@pytest.mark.ray
def test_rays_own_autoscaler_reads_the_same() -> None:
    config = pytest.importorskip("ray.autoscaler._private.kuberay.autoscaling_config")
    lines = [f"name={name},vendor={name},gpus=2,cpu=1500m" for name in VENDORS if name != "tpu"]
    lines += ["name=mig,resource=nvidia.com/mig-1g.5gb", f"name=tpu,vendor=tpu,{TPU_SLICE}", "name=told,num-gpus=3"]
    document = rendered(*(word for line in lines for word in ("--gpu-group", line)), "--notebook", "--namespace", "ml")
    theirs = config._derive_autoscaling_config_from_ray_cr(document)["available_node_types"]
    for group in groups_of(document["spec"]):
        resources = theirs["headgroup" if group.is_head else group.fields["groupName"]]["resources"]
        counted = {name: amount for name, amount in resources.items() if not name.endswith("-head")}
        assert counted == autoscaler_reading(group), group.title


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gpu=1", "did you mean gpus=…?"),
        ("min=3,max=2", "min=3 is more than max=2"),
        ("min=1,max=2,replicas=5", "replicas=5 lies outside of min=1 to max=2"),
        ("max=-1", "write a whole number"),
        ("memory=50GB", "'50GB' is no quantity"),
        ("name=GPU", "small letters"),
        ("name=headgroup", "Ray's own name"),
        ("vendor=acme", "vendor=acme is not known"),
        ("resource=acme.com/thing", "num-gpus=1"),
        ("vendor=tpu", "select=cloud.google.com/gke-tpu-topology=…"),
        ("num-gpus=half", "only whole numbers"),
        ("tolerate=a:Never", "NoSchedule, PreferNoSchedule, NoExecute"),
        ("select=a", "write select=KEY=VALUE"),
    ],
)
def test_a_group_that_no_cluster_could_have_is_refused_in_words(line: str, words: str) -> None:
    done = run("render", "c", "--gpu-group", line)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["My_Cluster"], "cannot be the name of a RayCluster"),
        (["c" * 54], "at most 53"),
        (["c", "--gpu-group", "name=a", "--cpu-group", "name=a"], "Two worker groups are called a"),
        (["c", "--cpu-group", "name=notebook", "--notebook"], "Two worker groups are called notebook"),
    ],
)
def test_a_cluster_that_kuberay_would_refuse_is_refused_before(arguments: list[str], words: str) -> None:
    done = run("render", *arguments)
    assert done.exit_code == 1
    assert words in done.output


def test_a_cluster_without_workers_is_written_with_a_warning() -> None:
    done = run("render", "c")
    assert done.exit_code == 0 and yaml.safe_load(done.stdout)["spec"]["workerGroupSpecs"] == []
    assert "The cluster c has no workers, and its head runs no tasks: add --gpu-group max=" in done.stderr
    assert "no workers" not in run("render", "c", "--cpu-group", "max=1").stderr


def test_a_file_is_written_and_the_next_commands_are_named(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    done = run("render", "c", "--gpu-group", "max=1", "-o", str(file))
    assert done.stdout == ""
    assert f"kubectl apply -f {file}" in done.stderr
    assert run("check", str(file)).exit_code == 0


def test_without_a_yaml_library_the_way_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    done = run("render", "c", "--gpu-group", "max=1")
    assert done.exit_code == 1
    assert "pip install 'nbaccel[kubernetes]'" in done.output
