"""A training function and a trial found neither classes of the notebook by name nor the source of their cell."""

# %%
import inspect
import pickle
import tempfile
import traceback
from dataclasses import dataclass

import nbaccel as ray
from nbaccel import train, tune
from nbaccel.train import RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

ray.init(num_cpus=4)


# %%
@dataclass(slots=True)
class Conf:
    rate: float


def step(rate: float) -> float:
    return rate * 2  # of a cell


def facts() -> dict:
    assert pickle.loads(pickle.dumps(Conf(1.0))) == Conf(1.0)
    assert pickle.loads(pickle.dumps(step)) is step
    assert "# of a cell" in inspect.getsource(step)
    try:
        step(None)
    except TypeError:
        assert "return rate * 2  # of a cell" in traceback.format_exc()
    return {"loss": step(0.5)}


# %%
def fit(config: dict) -> None:
    assert config["conf"].rate == 0.5
    train.report(facts())


with tempfile.TemporaryDirectory() as folder:
    trainer = DataParallelTrainer(
        fit,
        train_loop_config={"conf": Conf(0.5)},
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=folder),
    )
    assert trainer.fit().metrics["loss"] == 1.0

# %%
with tempfile.TemporaryDirectory() as folder:
    tuner = tune.Tuner(
        lambda config: tune.report(facts()),
        param_space={"rate": tune.grid_search([1, 2])},
        run_config=RunConfig(storage_path=folder),
    )
    results = tuner.fit()
    assert [each.metrics["loss"] for each in results] == [1.0, 1.0] and not results.errors
