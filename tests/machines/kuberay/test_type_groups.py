"""The node types that a program was tried with become groups of pods with the same amounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nbaccel import cli
from nbaccel.machines.kuberay.check import check_documents
from nbaccel.machines.kuberay.manifest import groups_of
from nbaccel.machines.kuberay.ray_reading import autoscaler_reading

TYPES = """
[types.gpu]
num_cpus = 4
num_gpus = 2
accelerator_type = "A100"
memory = "50GiB"
min = 1
max = 5
idle_s = 299.5
priority = 3
labels = {zone = "a"}
arrives_after_s = 8
[types.gpu.kubernetes]
image = "mine:1"
node_selector = {"nvidia.com/gpu.product" = "A100-SXM4-80GB"}
tolerations = ["team=ml:NoSchedule"]
[types.cpu]
num_cpus = 8
[types.hpu]
resources = {HPU = 8, licences = 2}
[types.ours]
num_gpus = 1
from = "slurm"
[types.ours.slurm]
directives = ["--gres=gpu:1"]
"""


def rendered(text: str, tmp_path: Path, *options: str) -> tuple[int, str, str]:
    file = tmp_path / "machines.toml"
    file.write_text(text)
    done = CliRunner().invoke(cli.main, ["kuberay", "render", "c", "--node-types", str(file), *options])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def groups(tmp_path: Path) -> dict[str, dict[str, Any]]:
    code, out, told = rendered(TYPES, tmp_path)
    assert code == 0, told
    document = yaml.safe_load(out)
    assert check_documents([document]).faults == []
    return {group["groupName"]: group for group in document["spec"]["workerGroupSpecs"]}


def test_a_type_is_a_group_with_its_amounts_and_its_bounds(groups: dict[str, dict[str, Any]]) -> None:
    gpu = groups["gpu"]
    assert [gpu[key] for key in ("replicas", "minReplicas", "maxReplicas")] == [1, 1, 5]
    assert (gpu["idleTimeoutSeconds"], gpu["priority"]) == (300, 3)
    assert gpu["labels"] == {"zone": "a", "ray.io/accelerator-type": "A100"}
    pod = gpu["template"]["spec"]
    amounts = {"cpu": "4", "memory": "50Gi", "nvidia.com/gpu": 2}
    assert pod["containers"][0]["resources"]["limits"] == amounts
    assert pod["containers"][0]["image"] == "mine:1"
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "A100-SXM4-80GB"}
    assert {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"} in pod["tolerations"]


def test_ray_counts_the_same_as_on_the_local_engine(groups: dict[str, dict[str, Any]]) -> None:
    read = {
        group.fields["groupName"]: autoscaler_reading(group)
        for group in groups_of({"workerGroupSpecs": [*groups.values()]})
        if not group.is_head
    }
    assert read["gpu"] == {"CPU": 4, "GPU": 2, "memory": 50 << 30, "accelerator_type:A100": 1}
    assert (read["cpu"]["CPU"], read["cpu"]["GPU"]) == (8, 0)
    assert (read["hpu"]["HPU"], read["hpu"]["licences"]) == (8, 2)
    assert groups["hpu"]["template"]["spec"]["containers"][0]["resources"]["limits"]["habana.ai/gaudi"] == 8


def test_what_has_no_place_is_told(tmp_path: Path) -> None:
    _, _, told = rendered(TYPES, tmp_path)
    assert "types.gpu.arrives_after_s: only virtual nodes have it." in told
    assert "types.ours: its nodes come by slurm, not from Kubernetes." in told


def test_groups_of_the_command_line_come_besides(tmp_path: Path) -> None:
    code, out, _ = rendered("[types.cpu]\nmax = 2", tmp_path, "--gpu-group", "max=1")
    assert code == 0
    assert [group["groupName"] for group in yaml.safe_load(out)["spec"]["workerGroupSpecs"]] == ["cpu", "gpu"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[types.gpu", "is no TOML"),
        ("", "has no node type: each begins with a line such as [types.gpu]"),
        ("[types]\ngpu = 1", "is a table of options such as num_gpus = 1"),
        ("[types.gpu]\nnum_gpu = 1", "has no option 'num_gpu'. Did you mean num_gpus?"),
        ("[types.gpu]\nmax = 0", "types.gpu"),
        ("[types.gpu]\nmin = 3", "min=3 is more than max=1"),
        ("[types.gpu.kubernetes]\nimages = 'x'", "types.gpu.kubernetes has no option 'images'. Did you mean image?"),
        ("[types.gpu]\nkubernetes = 1", "types.gpu.kubernetes is a table of options"),
        ("[types.gpu.kubernetes]\ntolerations = ['a:b']", "where the effect is one of"),
        ("[types.Big_One]\nmax = 1", "cannot be the name of a worker group"),
        ("[types.g]\nfrom = 'ssh'", "has no node type for Kubernetes"),
    ],
)
def test_a_file_that_cannot_be_groups_is_refused_in_words(text: str, words: str, tmp_path: Path) -> None:
    code, _, told = rendered(text, tmp_path)
    assert code == 1 and words in told, told
    assert "Traceback" not in told
