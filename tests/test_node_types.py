"""The checks of node types, given as a dict or as a machines.toml, and the variables that name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbaccel import api
from nbaccel.handles.node_types import machine_types
from nbaccel.handles.options import init_options


def test_a_file_gives_the_same_types_as_a_dict(tmp_path: Path) -> None:
    path = tmp_path / "machines.toml"
    path.write_text(
        '[types.gpu]\nnum_gpus = 1\nmemory = "2GiB"\nmax = 5\nfrom = "virtual"\n[types.gpu.kubernetes]\nimage = "x"\n'
    )
    given = {"gpu": {"num_gpus": 1, "memory": "2GiB", "max": 5, "from": "virtual"}}
    assert init_options(node_types=str(path)).node_types == init_options(node_types=given).node_types
    assert init_options(node_types=path).node_types["gpu"]["memory"] == 2 << 30


@pytest.mark.parametrize(
    ("types", "kind", "said"),
    [
        ({"gpu": {"num_gpu": 1}}, ValueError, "no option 'num_gpu'. Did you mean num_gpus?"),
        ({"gpu": {"num_gpus": 0.5}}, ValueError, "gpu: .*whole numbers"),
        ({"gpu": {"min": 3, "max": 2}}, ValueError, "min=3 is more than max=2"),
        ({"gpu": {"from": "slurm"}}, ValueError, "from='slurm' brings machines to a Ray cluster"),
        ({"gpu": {"from": "moon"}}, ValueError, "must be one of"),
        ({"gpu": 2}, TypeError, "takes a dict of options"),
        ({1: {}}, TypeError, "name of a node type is a string"),
        (["gpu"], TypeError, "a dict of node types, or the path"),
    ],
)
def test_a_mistake_in_a_type_is_named(types: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        init_options(node_types=types)


def machines(tmp_path: Path, text: str) -> dict[str, dict[str, Any]]:
    path = tmp_path / "machines.toml"
    path.write_text(text)
    return machine_types(str(path))


def test_types_of_real_machines_keep_the_options_of_their_source(tmp_path: Path) -> None:
    types = machines(
        tmp_path,
        '[types.gpu]\nfrom = "slurm"\nnum_gpus = 1\nmax = 4\n[types.gpu.slurm]\ndirectives = ["--partition=gpu"]\n'
        '[types.desk]\nfrom = "ssh"\nmin = 2\n[types.desk.ssh]\nhosts = ["gpu1", "me@[fe80::1%eth0]"]\n'
        '[types.cpu]\nfrom = "slurm"\n',
    )
    assert types["gpu"]["slurm"] == {"directives": ("--partition=gpu",), "python": None}
    assert types["desk"]["ssh"]["hosts"] == ("gpu1", "me@[fe80::1%eth0]")
    assert types["cpu"]["slurm"]["directives"] == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "say where its machines come from"),
        ('from = "kubernetes"', "nbaccel kuberay render"),
        ('from = "ssh"', "names no machine"),
        ('from = "ssh"\nssh = {hosts = ["a", "a"]}', "names a machine twice"),
        ('from = "ssh"\nssh = {hosts = ["-oProxyCommand=id"]}', "is no name of a machine"),
        ('from = "ssh"\nssh = {hosts = ["a; id"]}', "is no name of a machine"),
        ('from = "ssh"\nmin = 2\nssh = {hosts = ["a"]}', "min=2 is more than max=1"),
        ('from = "ssh"\nssh = {host = ["a"]}', "no option 'host'. Did you mean hosts?"),
        ('from = "ssh"\nssh = {hosts = "a"}', "hosts"),
        ('from = "ssh"\nssh = 1', "takes a table of options"),
        ('from = "slurm"\nslurm = {directives = ["gpu"]}', "an option of sbatch"),
        ('from = "slurm"\nslurm = {directives = ["--a\\nrm -rf"]}', "an option of sbatch"),
    ],
)
def test_a_mistake_in_a_type_of_real_machines_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        machines(tmp_path, f"[types.gpu]\n{text}\n")


@pytest.mark.parametrize(
    ("text", "said"), [("[types.gpu", "is no TOML"), ("x = 1", "has no node type"), (None, "cannot be read")]
)
def test_a_file_that_gives_no_types_is_named(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "machines.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=said):
        init_options(node_types=str(path))


@pytest.mark.parametrize("joins", [{"address": "auto"}, {"engine": "ray"}, {"engine": "debug"}])
def test_types_are_refused_where_no_local_head_starts(joins: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="node_types"):
        init_options(node_types={"gpu": {}}, **joins)


def test_the_variables_count_only_where_the_program_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBACCEL_ADDRESS", "here")
    monkeypatch.setenv("NBACCEL_NODE_TYPES", "machines.toml")
    assert api.joined_with(None, {}) == {"address": "here"}
    assert api.joined_with("local", {}) == {"address": "local", "node_types": "machines.toml"}
    assert api.joined_with(None, {"num_cpus": 1}) == {
        "address": None, "num_cpus": 1, "node_types": "machines.toml",
    }  # fmt: skip
    assert api.joined_with("there", {}) == {"address": "there"}
    assert api.joined_with(None, {"engine": "ray"}) == {"address": None, "engine": "ray"}
    monkeypatch.delenv("NBACCEL_ADDRESS")
    assert api.joined_with(None, {"node_types": None})["node_types"] is None
