"""Examples of PyTorch, Lightning and Transformers, and JAX, in real workers; skipped where a library is missing."""

from __future__ import annotations

import importlib
import importlib.util
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel.train import RunConfig, ScalingConfig
from nbaccel.train.jax_trainer import JaxConfig, JaxTrainer
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.train import framework_loops

Kept = Callable[..., RunConfig]
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
LIBRARIES = {"lightning": "lightning.pytorch", "transformers": "transformers"}


@pytest.fixture(scope="module")
def workers() -> Iterator[None]:
    """Workers that have loaded the libraries that are installed."""
    place = Place()
    preload = ["torch", *(module for name, module in LIBRARIES.items() if importlib.util.find_spec(name))]
    with inside(place):
        nbaccel.init(num_cpus=2, preload=preload)
        yield
        assert_idle()


def example(name: str) -> Any:
    """The `main` of a program in examples/."""
    return runpy.run_path(str(EXAMPLES / f"train_{name}.py"), run_name=f"train_{name}")["main"]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples keep their runs in the test's folder."""
    monkeypatch.setenv("NBACCEL_STORAGE", str(tmp_path))


@pytest.mark.extra("torch")
def test_the_example_of_ddp_learns_and_goes_on_from_its_checkpoint(workers: None, results: None) -> None:
    main = example("ddp")
    assert main(epochs=2).checkpoint.load()["epoch"] == 1
    history = main(epochs=3).history
    assert [each["epoch"] for each in history] == [0, 1, 2] and history[2]["loss"] < history[0]["loss"]


@pytest.mark.extra("lightning")
@pytest.mark.slow
def test_lightning_trains_in_a_worker_group_and_goes_on_from_its_checkpoint(workers: None, results: None) -> None:
    main = example("lightning")
    result = main(epochs=2, accelerator="cpu")
    assert result.return_value == {"size": 2, "rank": 0, "batches": 2}  # half of the 4 batches
    assert [(each["epoch"], each["step"]) for each in result.history] == [(0, 2), (1, 4)]
    assert result.history[1]["loss"] < result.history[0]["loss"]
    assert os.listdir(result.checkpoint.path) == ["checkpoint.ckpt"]
    assert [each["epoch"] for each in main(epochs=3, accelerator="cpu").history] == [0, 1, 2]


@pytest.mark.extra("transformers")
@pytest.mark.extra("accelerate")
@pytest.mark.slow
def test_transformers_trains_in_a_worker_group_and_reports_what_it_logs(workers: None, results: None) -> None:
    result = example("transformers")(epochs=2, use_cpu=True)
    assert result.return_value == {"size": 2, "steps": 4}  # 16 rows, 2 ranks, 4 rows each, 2 epochs
    assert [each["step"] for each in result.history] == [2, 2, 4, 4, 4]
    assert {"loss", "epoch"} <= result.history[0].keys() and "train_runtime" in result.history[-1]
    assert result.history[0].keys() < result.metrics.keys()  # the latest value of each
    assert [each["step"] for _, each in result.best_checkpoints] == [2, 4]
    files = os.listdir(Path(result.checkpoint.path, "checkpoint"))
    assert {"model.safetensors", "trainer_state.json", "rng_state_0.pth", "rng_state_1.pth"} <= set(files)


@pytest.mark.extra("jax")
@pytest.mark.slow
def test_jax_connects_the_processes_of_a_worker_group(workers: None, kept: Kept) -> None:
    two = ScalingConfig(num_workers=2)
    result = JaxTrainer(framework_loops.jax, train_loop_config={}, scaling_config=two, run_config=kept()).fit()
    assert result.return_value == {"size": 2, "platform": "cpu", "sum": 6.0}


@pytest.mark.parametrize(
    ("module", "library", "wheel"),
    [
        ("nbaccel.train.lightning", ("lightning", "pytorch_lightning"), "pip install lightning"),
        ("nbaccel.train.huggingface.transformers", ("transformers",), r"pip install 'transformers\[torch\]'"),
    ],
)
def test_without_the_library_the_import_names_its_wheel(
    module: str, library: tuple[str, ...], wheel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in library:
        for loaded in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(ModuleNotFoundError, match=wheel):
        importlib.import_module(module)


def test_a_jax_trainer_takes_its_platform_from_the_scaling_config() -> None:
    trainer = JaxTrainer(print, scaling_config=ScalingConfig(num_workers=1, use_gpu=True))
    assert trainer.backend_config == JaxConfig(use_gpu=True)
    with pytest.raises(ValueError, match=r"jax_config takes nbaccel\.train\.v2\.jax\.JaxConfig, not dict"):
        JaxTrainer(print, jax_config={})  # type: ignore[arg-type]
