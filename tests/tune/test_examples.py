"""The programs of examples/ that tune, with fewer trials, in real workers; skipped where a library is missing."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples keep their experiments in the test's folder."""
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path))


def example(name: str) -> Any:
    """The `main` of a program in examples/."""
    return runpy.run_path(str(EXAMPLES / f"tune_{name}.py"), run_name=f"tune_{name}")["main"]


@pytest.mark.extra("sklearn")
@pytest.mark.slow
@pytest.mark.timeout(300)  # the workers import the library on a busy machine
def test_the_example_of_scikit_learn_finds_a_classifier(cluster: Any, results: None) -> None:
    found = example("scikit_learn")(num_samples=3, most_trees=8)
    assert len(found) == 3 and not found.errors
    best = found.get_best_result()
    assert best.metrics["accuracy"] == max(each.metrics["accuracy"] for each in found) > 0.5
    assert set(best.config) == {"n_estimators", "max_depth", "min_samples_leaf"}


@pytest.mark.extra("torch")
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_example_of_pytorch_learns_and_keeps_a_checkpoint_of_the_best(cluster: Any, results: None) -> None:
    found = example("pytorch")(num_samples=3, epochs=4)
    assert len(found) == 3 and not found.errors
    best = found.get_best_result(scope="all")
    assert best.history[-1]["loss"] < best.history[0]["loss"]
    assert best.checkpoint.load()["epoch"] == best.metrics["training_iteration"] - 1
