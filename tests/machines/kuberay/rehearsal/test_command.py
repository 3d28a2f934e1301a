"""The command plays one RayCluster of a file, and none that Kubernetes would refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from nbaccel import cli
from nbaccel.machines.kuberay.commands import chosen_cluster
from tests.machines.kuberay.rehearsal.manifests import manifest

OTHER = {**manifest(), "metadata": {"name": "other"}}
JOB = {"kind": "RayJob", "metadata": {"name": "job"}, "spec": {"rayClusterSpec": manifest()["spec"]}}
SECRET = {"kind": "Secret", "metadata": {"name": "s"}}


def test_the_cluster_of_a_file_is_found_among_other_objects() -> None:
    assert chosen_cluster([SECRET, OTHER], "")["metadata"]["name"] == "other"
    assert chosen_cluster([manifest(), OTHER], "c")["metadata"]["name"] == "c"


def test_the_cluster_of_a_job_is_played_under_the_name_of_the_job() -> None:
    found = chosen_cluster([JOB], "")
    assert (found["kind"], found["metadata"]["name"]) == ("RayCluster", "job")
    assert found["spec"] == manifest()["spec"]


@pytest.mark.parametrize(
    ("documents", "name", "words"),
    [
        ([SECRET], "", "The file has no RayCluster."),
        ([manifest(), OTHER], "", "The file has 2 RayClusters: c, other. Say which: --name."),
        ([manifest()], "x", "The file has no RayCluster x; it has c."),
    ],
    ids=["none", "several", "another name"],
)
def test_a_file_without_that_cluster_is_told(documents: list[Any], name: str, words: str) -> None:
    with pytest.raises(click.ClickException, match=words):
        chosen_cluster(documents, name)


def test_a_manifest_with_faults_is_refused_with_each_of_them(tmp_path: Path) -> None:
    cluster = manifest()
    cluster["spec"]["workerGroupSpecs"][0]["rayStartParams"]["num-gpus"] = 2
    cluster["spec"]["enableInTreeAutoScaling"] = True
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump(cluster))
    done = CliRunner().invoke(cli.main, ["kuberay", "rehearse", str(file)])
    assert done.exit_code == 1
    assert "The manifest would be refused:" in done.output
    assert "rayStartParams.num-gpus: is the number 2" in done.output
    assert "Did you mean enableInTreeAutoscaling?" in done.output
