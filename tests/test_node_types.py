"""The checks of node types, given as a dict or as a machines.toml, and the variables that name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbaccel import init_variables
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
    assert init_variables.joined_with(None, {}) == {"address": "here"}
    assert init_variables.joined_with("local", {}) == {"address": "local", "node_types": "machines.toml"}
    assert init_variables.joined_with(None, {"num_cpus": 1}) == {
        "address": None, "num_cpus": 1, "node_types": "machines.toml",
    }  # fmt: skip
    assert init_variables.joined_with("there", {}) == {"address": "there"}
    assert init_variables.joined_with(None, {"engine": "ray"}) == {"address": None, "engine": "ray"}
    monkeypatch.delenv("NBACCEL_ADDRESS")
    assert init_variables.joined_with(None, {"node_types": None})["node_types"] is None
