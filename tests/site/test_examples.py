"""Examples in docstrings run as doctests, in a cluster with four CPUs and two logical GPUs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import serve, train, tune
from tests.census import Place
from tests.heads import inside
from tools import reference_pages

# Examples that are parts of a program, or need what this machine may lack. This list may only become shorter.
DO_NOT_RUN = {
    "nbaccel.autoscaler.expected_growth",
    "nbaccel.ref_of",
    "nbaccel.serve.ingress",
}
NEEDS = {"nbaccel.serve": "uvicorn", "nbaccel.tune.search.ConcurrencyLimiter": "optuna"}
MOST_CALLED = {
    "nbaccel": "init shutdown remote get put wait cancel kill get_actor nodes probe explain get_gpu_ids",
    "nbaccel.util": "ActorPool placement_group remove_placement_group",
    "nbaccel.util.queue": "Queue",
    "nbaccel.train": "report get_checkpoint get_context get_dataset_shard ScalingConfig RunConfig Checkpoint",
    "nbaccel.train.torch": "TorchTrainer",
    "nbaccel.tune": "Tuner TuneConfig run report with_resources with_parameters choice uniform loguniform grid_search",
    "nbaccel.serve": "run deployment batch multiplexed status shutdown",
    "nbaccel.autoscaler": "held status",
}
OF_OTHERS = {"nbaccel.train.lightning", "nbaccel.train.huggingface.transformers", "nbaccel.util.dask"}


class _AsWritten(doctest.OutputChecker):
    """An example that shows no result promises none."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or super().check_output(want, got, optionflags)


def _docstring(value: Any) -> str:
    return inspect.getdoc(getattr(value, "__func__", value)) or ""


def examples() -> dict[str, tuple[str, dict[str, Any]]]:
    """The docstrings that have examples, by name, with the public names of their module."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for module in map(importlib.import_module, sorted(reference_pages.PACKAGES.keys() - OF_OTHERS)):
        names = {name: getattr(module, name) for name in reference_pages.public_names(module)}
        members = [
            (f"{name}.{inner}", member)
            for name, value in names.items()
            if inspect.isclass(value)
            for inner, member in vars(value).items()
            if not inner.startswith("_")
        ]
        for name, value in [*names.items(), *members]:
            text = _docstring(value)
            if ">>>" in text and not any(text == known for known, _ in found.values()):
                found[f"{module.__name__}.{name}"] = text, names
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with inside(Place()):
        os.environ["NBACCEL_STORAGE"] = tempfile.mkdtemp(dir=os.environ["TMPDIR"])
        yield


def failures_of(name: str, text: str, names: dict[str, Any]) -> str:
    given = {
        "nbaccel": nbaccel,
        "train": train,
        "tune": tune,
        "serve": serve,
        "os": os,
        **names,
        "__name__": "__main__",
    }
    test = doctest.DocTestParser().get_doctest(text, given, name, None, 0)
    written: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(_AsWritten(), verbose=False, optionflags=flags).run(test, out=written.append)
    return "".join(written)


def failed(room: str, but: str = "") -> dict[str, str]:
    """What the examples below a room did not do, by their names."""
    found = {}
    for name, (text, names) in examples().items():
        missing = [library for part, library in NEEDS.items() if name.startswith(part) and not find_spec(library)]
        if name in DO_NOT_RUN or missing or not name.startswith(room) or (but and name.startswith(but)):
            continue
        if name == "nbaccel.init":
            nbaccel.shutdown()
        elif not nbaccel.is_initialized():
            nbaccel.init(num_cpus=4, num_gpus=2)
        if words := failures_of(name, text, names):
            found[name] = words
    return found


def test_the_examples_of_docstrings_run(cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert failed("nbaccel", but="nbaccel.train.torch") == {}


@pytest.mark.slow
@pytest.mark.extra("torch")
def test_the_examples_with_torch_run(cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert failed("nbaccel.train.torch") == {}


def test_the_list_of_examples_that_do_not_run_has_no_name_too_many() -> None:
    assert DO_NOT_RUN - examples().keys() == set()


def test_the_names_that_programs_call_most_have_examples() -> None:
    shown = {text for text, _names in examples().values()}
    for room, names in MOST_CALLED.items():
        module = importlib.import_module(room)
        assert [name for name in names.split() if _docstring(getattr(module, name)) not in shown] == [], room
