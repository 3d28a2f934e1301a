"""A RayJob has a cluster for one program, and what KubeRay refuses of it is told before."""

# ruff: noqa: E501 -- a row of a table is a line

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from nbaccel import cli
from nbaccel.machines.kuberay.check import check_documents, make_job
from nbaccel.machines.kuberay.manifest import ClusterPlan, make_manifest, read_group

PROGRAM = "python train.py"


def job() -> dict[str, Any]:
    plan = ClusterPlan(name="j", groups=(read_group("max=2", gpus=True),))
    return make_job(make_manifest(plan), PROGRAM)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["kuberay", "render", *arguments])


def test_a_job_runs_its_program_on_a_cluster_that_goes_with_it(tmp_path: Path) -> None:
    env = tmp_path / "env.yaml"
    env.write_text("pip: [torch]\n")
    done = run("j", "--kind", "rayjob", "--gpu-group", "max=2", "--entrypoint", PROGRAM, "--runtime-env", str(env))
    assert done.exit_code == 0, done.output
    made = yaml.safe_load(done.stdout)
    assert check_documents([made]).faults == []
    assert (made["kind"], made["spec"]["entrypoint"]) == ("RayJob", PROGRAM)
    assert made["spec"]["shutdownAfterJobFinishes"] is True
    assert yaml.safe_load(made["spec"]["runtimeEnvYAML"]) == {"pip": ["torch"]}
    assert made["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["groupName"] == "gpu"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--kind", "rayjob"), "A RayJob needs a program"),
        (("--entrypoint", PROGRAM), "add --kind rayjob"),
        (("--kind", "rayjob", "--entrypoint", PROGRAM, "--notebook"), "does not go with --kind rayjob"),
    ],
    ids=["no program", "no job", "a notebook"],
)
def test_what_no_job_can_be_is_refused(arguments: tuple[str, ...], words: str) -> None:
    done = run("j", "--gpu-group", "max=2", *arguments)
    assert done.exit_code != 0 and words in done.output


def test_a_name_that_leaves_no_room_for_the_name_of_the_cluster_is_refused() -> None:
    assert (
        "at most 47 characters"
        in run("j" * 48, "--kind", "rayjob", "--gpu-group", "max=2", "--entrypoint", PROGRAM).output
    )


FAULTS: list[tuple[Callable[[dict[str, Any]], object], str, str]] = [
    (lambda j: j["metadata"].update(name="j" * 48), "metadata.name", "at most 47 for a RayJob"),
    (lambda j: j["spec"].pop("entrypoint"), "spec.entrypoint", "is missing"),
    (lambda j: j["spec"].update(entrypoint=1), "spec.entrypoint", "takes text"),
    (lambda j: j["spec"].update(runtimeEnvYAML={}), "spec.runtimeEnvYAML", "is no text"),
    (lambda j: j["spec"].update(submissionMode="Mode"), "spec.submissionMode", "one of K8sJobMode, HTTPMode"),
    (lambda j: j["spec"].update(submissionMode="InteractiveMode", backoffLimit=1), "spec.backoffLimit", "does not go with InteractiveMode"),
    (lambda j: j["spec"].update(backoffLimit=-1), "spec.backoffLimit", "0 and more"),
    (lambda j: j["spec"].update(activeDeadlineSeconds=0), "spec.activeDeadlineSeconds", "1 and more"),
    (lambda j: j["spec"].update(shutdownAfterJobFinishes=False, ttlSecondsAfterFinished=9), "spec.ttlSecondsAfterFinished", "needs shutdownAfterJobFinishes"),
    (lambda j: j["spec"].update(shutdownAfterJobFinishes=False, suspend=True), "spec.suspend", "needs shutdownAfterJobFinishes"),
    (lambda j: j["spec"].update(clusterSelector={"a": "b"}), "spec.clusterSelector", "names no cluster"),
    (lambda j: j["spec"].update(clusterSelector={"ray.io/cluster": "c"}, suspend=True), "spec.suspend", "the cluster is not the job's"),
    (lambda j: j["spec"].update(clusterSelector={"ray.io/cluster": "c"}, submissionMode="SidecarMode"), "spec.submissionMode", "SidecarMode does not go"),
    (lambda j: j["spec"].pop("rayClusterSpec"), "spec.rayClusterSpec", "is missing"),
    (lambda j: j["spec"].update(rayClusterSpec=None), "spec.rayClusterSpec", "has no value"),
    (lambda j: j.update(apiVersion="ray.io/v1alpha1"), "apiVersion", "ray.io/v1."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "path", "words"), FAULTS, ids=lambda value: value[-40:] if isinstance(value, str) else "change"
)
def test_a_planted_fault_of_a_job_is_found(change: Callable[[dict[str, Any]], object], path: str, words: str) -> None:
    made = job()
    change(made)
    faults = check_documents([made]).faults
    assert [fault for fault in faults if fault.path == path and words in fault.sentence and not fault.warning], [
        str(each) for each in faults
    ]


def test_a_cluster_that_stays_after_its_program_is_a_warning() -> None:
    made = job()
    made["spec"].pop("shutdownAfterJobFinishes")
    (fault,) = check_documents([made]).faults
    assert fault.warning and "the cluster stays" in fault.sentence


def test_a_job_may_run_on_a_cluster_that_is_there() -> None:
    made = job()
    made["spec"].pop("rayClusterSpec")
    made["spec"] |= {"clusterSelector": {"ray.io/cluster": "c"}, "shutdownAfterJobFinishes": False}
    assert check_documents([made]).faults == []
