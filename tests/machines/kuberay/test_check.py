"""Each fault that can be planted into a manifest is one sentence with its path."""

# ruff: noqa: E501 -- a row of a table is a line

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel import cli
from nbaccel.machines.kuberay.check import check_cluster, check_documents, make_job, ray_cluster_schema, schema_faults
from nbaccel.machines.kuberay.manifest import ClusterPlan, make_manifest, read_group
from tools.raycluster_schema import derive

Change = Callable[[dict[str, Any]], Any]
GROUP = "spec.workerGroupSpecs[0]"
CONTAINER = f"{GROUP}.template.spec.containers[0]"


def good() -> dict[str, Any]:
    group = read_group("gpus=1,cpu=3,memory=50Gi,min=0,max=5,accelerator=A100", gpus=True)
    return make_manifest(ClusterPlan("notebook", (group,)))


def group(cluster: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = cluster["spec"]["workerGroupSpecs"][0]
    return found


def pod(cluster: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = group(cluster)["template"]["spec"]
    return found


def box(cluster: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod(cluster)["containers"][0]
    return found


def parameters(cluster: dict[str, Any], **further: Any) -> None:
    group(cluster)["rayStartParams"].update({name.replace("_", "-"): value for name, value in further.items()})


def amounts(cluster: dict[str, Any], **kinds: dict[str, Any]) -> None:
    box(cluster)["resources"] = kinds


def without_parameters(cluster: dict[str, Any], **limits: Any) -> None:
    group(cluster)["rayStartParams"] = {}
    amounts(cluster, limits={"cpu": 1, **{key.replace("__", "/").replace("_", "."): limits[key] for key in limits}})


def device(cluster: dict[str, Any], key: str) -> None:
    group(cluster)["rayStartParams"] = {}
    amounts(cluster, limits={"cpu": 1, key: 1})


# What is planted, the path where it is found, and words of its sentence.
SCHEMA: list[tuple[Change, str, str]] = [
    (lambda c: parameters(c, num_gpus=2), f"{GROUP}.rayStartParams.num-gpus", 'Write "2", in quotes'),
    (lambda c: c["spec"].update(enableInTreeAutoScaling=True), "spec.enableInTreeAutoScaling", "Did you mean enableInTreeAutoscaling?"),
    (lambda c: group(c).pop("groupName"), f"{GROUP}.groupName", "is missing"),
    (lambda c: box(c).update(env=[{"name": "A", "value": 1}]), f"{CONTAINER}.env[0].value", 'Write "1", in quotes'),
    (lambda c: amounts(c, limits={"cpu": 1, "memory": "50GB"}), f"{CONTAINER}.resources.limits.memory", "50Gi"),
    (lambda c: amounts(c, limits={"cpu": 0.5}), f"{CONTAINER}.resources.limits.cpu", 'Write "0.5", in quotes'),
    (lambda c: c["spec"].pop("headGroupSpec"), "spec.headGroupSpec", "is missing"),
    (lambda c: group(c).update(template=[]), f"{GROUP}.template", "is a list, but KubeRay takes fields"),
    (lambda c: pod(c).update(containers={}), f"{GROUP}.template.spec.containers", "a list here. Begin each item with '- '."),
    (lambda c: box(c).update(image=None), f"{CONTAINER}.image", "has no value"),
    (lambda c: group(c).update(maxReplicas="5"), f"{GROUP}.maxReplicas", "takes a whole number"),
    (lambda c: group(c).update(maxReplicas=2**31), f"{GROUP}.maxReplicas", "to 2147483647 is taken"),
    (lambda c: c["spec"]["authOptions"].update(mode="secret"), "spec.authOptions.mode", "one of disabled, token"),
    (lambda c: c["spec"].update(managedBy="me"), "spec.managedBy", "kueue.x-k8s.io/multikueue"),
    (lambda c: pod(c)["containers"].append(dict(box(c))), f"{GROUP}.template.spec.containers[1]", "has the name ray-worker of an item before it"),
    (lambda c: c.update(apiVersion="ray.io/v1alpha1"), "apiVersion", "ray.io/v1."),
]  # fmt: skip
OPERATOR: list[tuple[Change, str, str]] = [
    (lambda c: group(c).update(resources={"GPU": "1"}), f"{GROUP}.resources", "worker group gpu: rayStartParams has num-gpus and resources has GPU: KubeRay takes only one of them."),
    (lambda c: c["metadata"].update(name="n" * 54), "metadata.name", "at most 53"),
    (lambda c: c["metadata"].update(name="1st"), "metadata.name", "begin with a letter"),
    (lambda c: c["metadata"].pop("name"), "metadata.name", "is missing"),
    (lambda c: parameters(c, labels="a=b"), f"{GROUP}.rayStartParams.labels", f"Write them as {GROUP}.labels"),
    (lambda c: group(c).update(minReplicas=6), f"{GROUP}.minReplicas", "minReplicas 6 is more than maxReplicas 5"),
    (lambda c: group(c).update(minReplicas=-1), f"{GROUP}.minReplicas", "is less than 0"),
    (lambda c: pod(c).update(containers=[]), f"{GROUP}.template.spec.containers", "has no container"),
    (lambda c: pod(c).update(restartPolicy="Always"), f"{GROUP}.template.spec.restartPolicy", "Write Never"),
    (lambda c: box(c).update(env=[{"name": "RAY_enable_autoscaler_v2", "value": "1"}]), f"{CONTAINER}.env", "Leave the variable out"),
    (lambda c: c["spec"].pop("rayVersion"), "spec.authOptions.mode", "needs spec.rayVersion"),
    (lambda c: c["spec"].update(rayVersion="2.51.0"), "spec.authOptions.mode", "they came with Ray 2.52"),
    (lambda c: c["spec"].update(rayVersion="2.54.0", authOptions={"enableK8sTokenAuth": True}), "spec.authOptions.enableK8sTokenAuth", "Ray 2.55 is the first"),
    (lambda c: c["spec"].update(authOptions={"enableK8sTokenAuth": True, "secretName": "s"}), "spec.authOptions.secretName", "Leave one of them out"),
    (lambda c: group(c).update(suspend=True), f"{GROUP}.suspend", "KubeRay refuses both together"),
    (lambda c: c["spec"]["workerGroupSpecs"].append(copy.deepcopy(group(c))), "spec.workerGroupSpecs[1].groupName", "Two worker groups are called gpu"),
    (lambda c: group(c).update(groupName="headgroup"), f"{GROUP}.groupName", "the name of the head's group"),
    (lambda c: c["metadata"].update(labels={"kueue.x-k8s.io/queue-name": "q"}), "spec.enableInTreeAutoscaling", "Both together stay suspended without a word."),
]  # fmt: skip
READING: list[tuple[Change, str, str]] = [
    (lambda c: amounts(c, limits={"nvidia.com/gpu": 1}), f"{CONTAINER}.resources", "says nothing about CPUs"),
    (lambda c: device(c, "nvidia.com/mig-2g.20gb"), f"{CONTAINER}.resources.limits[nvidia.com/mig-2g.20gb]", 'num-gpus: "1"'),
    (lambda c: device(c, "gpu.intel.com/i915"), f"{CONTAINER}.resources.limits[gpu.intel.com/i915]", 'num-gpus: "1"'),
    (lambda c: device(c, "habana.ai/gaudi"), f"{CONTAINER}.resources.limits[habana.ai/gaudi]", r"""resources: "'{\"HPU\": 1}'" """.strip()),
    (lambda c: device(c, "google.com/tpu"), f"{GROUP}.template.spec.nodeSelector", "gke-tpu-topology"),
    (lambda c: amounts(c, requests={"cpu": 1, "nvidia.com/gpu": 1}), f"{CONTAINER}.resources.requests[nvidia.com/gpu]", "in limits"),
    (lambda c: amounts(c, limits={"cpu": 1, "nvidia.com/gpu": 1}, requests={"nvidia.com/gpu": 2}), f"{CONTAINER}.resources.requests[nvidia.com/gpu]", "both have to be the same"),
    (lambda c: parameters(c, num_cpus="1.5"), f"{GROUP}.rayStartParams.num-cpus", "is no whole number"),
    (lambda c: parameters(c, resources='{"HPU": 1}'), f"{GROUP}.rayStartParams.resources", "takes away the first and the last character"),
    (lambda c: parameters(c, resources="'{\"HPU\": 0.5}'"), f"{GROUP}.rayStartParams.resources", "whole numbers"),
    (lambda c: group(c).update(labels={"a b": "c"}), f"{GROUP}.labels.a b", "is no label"),
    (lambda c: c["spec"].pop("workerGroupSpecs"), "spec.workerGroupSpecs", "Ray's autoscaler ends"),
    (lambda c: box(c).update(image="rayproject/ray:2.9.0-py311-gpu"), f"{CONTAINER}.image", "a node joins only a head with the same Ray"),
    (lambda c: box(c).update(image="rayproject/ray:2.60.0-py312-gpu"), f"{CONTAINER}.image", "a node joins only a head with the same Python"),
]  # fmt: skip
WARNINGS: list[tuple[Change, str, str]] = [
    (lambda c: group(c).update(replicas=9), f"{GROUP}.replicas", "takes the nearest"),
    (lambda c: c["spec"].update(networkPolicy={}), "spec.networkPolicy", "a feature gate"),
    (lambda c: c["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0].pop("env"), "spec.headGroupSpec.template.spec.containers[0].env", "Set NVIDIA_VISIBLE_DEVICES to void"),
    (lambda c: (group(c).pop("replicas"), c["spec"].update(enableInTreeAutoscaling=False)), "spec.enableInTreeAutoscaling", "stays at 0, though its maxReplicas is 5"),
    (lambda c: (without_parameters(c), pod(c).update(resourceClaims=[{"name": "g"}])), f"{GROUP}.rayStartParams", "gets its devices by a claim"),
    (lambda c: group(c)["rayStartParams"].pop("resources"), f"{GROUP}.rayStartParams", r"""resources: "'{\"accelerator_type:A100\": 1}'" """.strip()),
]  # fmt: skip


def test_a_manifest_of_nbaccels_has_no_fault() -> None:
    assert check_cluster(good()) == []


def _words_only(value: object) -> str:
    """The same in every process: a lambda's text has its address."""
    return str(value)[-60:] if isinstance(value, str) else "change"


@pytest.mark.parametrize(("change", "path", "words"), SCHEMA + OPERATOR + READING, ids=_words_only)
def test_a_planted_fault_is_found_at_its_place(change: Change, path: str, words: str) -> None:
    cluster = good()
    change(cluster)
    found = [fault for fault in check_cluster(cluster) if fault.path == path and words in fault.sentence]
    assert len(found) == 1, [str(fault) for fault in check_cluster(cluster)]
    assert not found[0].warning


@pytest.mark.parametrize(("change", "path", "words"), WARNINGS, ids=_words_only)
def test_a_cluster_that_comes_but_not_as_meant_is_a_warning(change: Change, path: str, words: str) -> None:
    cluster = good()
    change(cluster)
    faults = check_cluster(cluster)
    assert [fault.path for fault in faults if words in fault.sentence] == [path], [str(fault) for fault in faults]
    assert all(fault.warning for fault in faults)


def test_the_sentence_for_every_planted_fault_is_alone() -> None:
    """A fault does not set off others: who mends one has mended it."""
    cluster = good()
    parameters(cluster, num_gpus=2)
    assert len(check_cluster(cluster)) == 1


@pytest.mark.parametrize(("change", "path", "words"), SCHEMA[:-1], ids=_words_only)
def test_a_library_for_json_schema_finds_the_same_places(change: Change, path: str, words: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    cluster = good()
    change(cluster)
    schema = ray_cluster_schema()
    theirs = jsonschema.Draft202012Validator(schema).is_valid(cluster)
    ours = [fault for fault in schema_faults(cluster, schema) if "of an item before it" not in fault.sentence]
    assert theirs == (ours == [])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in below for place in places(each, (*path, key)))]


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]), st.just({}),
    st.just([None]), st.just({1: {}}), st.just({"gpu": "1e9999"}), st.just("\U0001f600"), st.just([[]]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_manifest_is_too_odd_to_be_judged(data: st.DataObject) -> None:
    cluster = good()
    for _ in range(2):
        *way, last = data.draw(st.sampled_from(places(cluster)[1:]))
        parent = cluster
        for key in way:
            parent = parent[key]
        parent[last] = copy.deepcopy(data.draw(ODD))  # the next round may put something into it
    for fault in check_cluster(cluster):
        assert fault.path and fault.sentence


def checked(text: str, tmp_path: Path, *options: str) -> tuple[int, str, str]:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    done = CliRunner().invoke(cli.main, ["kuberay", "check", str(file), *options])
    return done.exit_code, done.stdout, done.stderr


def test_the_command_prints_a_line_for_each_fault_and_exits_with_one(tmp_path: Path) -> None:
    cluster = good()
    parameters(cluster, num_gpus=2)
    code, out, _ = checked(yaml.safe_dump(cluster), tmp_path)
    assert code == 1
    assert (
        out == f'{GROUP}.rayStartParams.num-gpus: is the number 2, but KubeRay takes text here. Write "2", in quotes.\n'
    )


def test_warnings_alone_fail_only_a_strict_check(tmp_path: Path) -> None:
    cluster = good()
    group(cluster).update(replicas=9)
    text = yaml.safe_dump(cluster)
    code, out, _ = checked(text, tmp_path)
    assert code == 0 and ": warning: " in out
    assert checked(text, tmp_path, "--strict")[0] == 1


def test_other_objects_of_a_file_are_named_and_left_alone(tmp_path: Path) -> None:
    text = yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, good()])
    code, _, told = checked(text, tmp_path)
    assert code == 0
    assert "Not checked: Secret s" in told and "RayCluster notebook" in told


def test_the_cluster_inside_of_a_job_is_judged() -> None:
    cluster = good()
    parameters(cluster, num_gpus=2)
    (fault,) = check_documents([make_job(cluster, "python train.py")]).faults
    assert fault.path == "spec.rayClusterSpec.workerGroupSpecs[0].rayStartParams.num-gpus"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "cannot be read as YAML in line"),
        ("spec: {a: 1}\nspec: {b: 2}", "'spec' is written twice, in lines 1 and 2"),
        ("", "has no RayCluster"),
        ("kind: Pod", "has no RayCluster"),
        ("just words", "has no kind"),
        ("a: !!python/object:os.system {}", "cannot be read as YAML"),
    ],
)
def test_a_file_without_a_readable_cluster_is_refused_in_words(text: str, words: str, tmp_path: Path) -> None:
    code, out, told = checked(text, tmp_path)
    assert code == 1
    assert words in out + told
    assert "Traceback" not in told


@pytest.mark.parametrize("command", [["check"], ["rehearse"], ["render", "c", "--from-values"]])
def test_a_file_that_is_no_text_is_refused_in_words(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_bytes(b"kind: \xff\xfe\x00")
    done = CliRunner().invoke(cli.main, ["kuberay", *command, str(file)])
    assert done.exit_code == 1
    assert "The file is no text: its byte 7 is not UTF-8. A manifest is YAML or JSON." in done.output


def test_the_schema_is_strict_short_and_says_whose_it_is() -> None:
    text = "type: string, description: long"
    definition = {
        "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "required": ["a", "b"], "description": text, "properties": {
                "a": {"type": "integer", "format": "int32", "default": 1},
                "b": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {}},
            }},
            "status": {"type": "object", "properties": {"x": {"type": "string"}}},
        }}}}]}
    }  # fmt: skip
    schema = derive(definition)
    spec = schema["properties"]["spec"]
    assert spec["additionalProperties"] is False
    assert spec["required"] == ["b"], "a field with a default may be missing"
    assert spec["properties"]["a"]["maximum"] == 2**31 - 1
    assert spec["properties"]["b"] == {"type": ["integer", "string"]}
    assert "additionalProperties" not in spec["properties"]["c"]
    assert "description" not in str(schema) and "KubeRay" in schema["$comment"]


def test_the_licence_of_the_schema_comes_with_it() -> None:
    folder = Path(cli.__file__).parent / "machines/kuberay"
    text = (folder / "LICENSE-KubeRay").read_text()
    assert "KubeRay authors" in text and "Apache License" in text and "It was changed" in text


@pytest.mark.parametrize("command", ["render", "check"])
def test_the_commands_import_nothing_of_heads_views_or_nodes(tmp_path: Path, command: str) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump(good()))
    arguments = ["render", "notebook", "--gpu-group", "gpus=1", "-o", str(file)] if command == "render" else [str(file)]
    program = (
        f"import sys\nsys.argv[1:] = ['kuberay', {command!r}, *{[each for each in arguments if each != 'render']}]\n"
        "from nbaccel.command import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] in ('nbaccel', 'ray', 'msgspec', 'importlib')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    imported = done.stdout.split()
    assert f"nbaccel.machines.kuberay.{'manifest' if command == 'render' else 'check'}" in imported
    ours = {name for name in imported if name.startswith("nbaccel.") and not name.startswith("nbaccel.machines")}
    light = {"command", "elsewhere", "exceptions", "views", "views.notebook_hooks"}
    assert ours == {f"nbaccel.{name}" for name in light}
    assert {name.split(".")[2] for name in imported if name.startswith("nbaccel.machines.")} == {"kuberay"}
    assert "nbaccel.machines.kuberay.connecting" not in imported
    assert not {"ray", "msgspec", "importlib.metadata", "importlib.resources"} & set(imported)
