"""Callbacks of other libraries, loggers, helpers, and the paths at which programs import Ray Tune's names."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from nbaccel import train, tune
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.tune import logger, utils
from tests.tune import trainables

Kept = Callable[..., tune.RunConfig]


@pytest.mark.parametrize(
    "path",
    [
        "analysis.ExperimentAnalysis", "callback.Callback", "error.TuneError", "experiment.Experiment",
        "experiment.Trial", "experiment.trial.Trial", "execution.placement_groups.PlacementGroupFactory",
        "execution.placement_groups.resource_dict_to_pg_factory", "execution.tune_controller.TuneController",
        "integration.ray_train.TuneReportCallback", "logger.LoggerCallback", "logger.csv.CSVLoggerCallback",
        "logger.json.JsonLoggerCallback", "logger.tensorboardx.TBXLoggerCallback", "logger.logger.pretty_print",
        "progress_reporter.CLIReporter", "registry.get_trainable_cls", "result.TRAINING_ITERATION",
        "result_grid.ResultGrid", "search.concurrency_limiter.ConcurrencyLimiter", "search.repeater.Repeater",
        "search.searcher.Searcher", "search.search_algorithm.SearchAlgorithm",
        "search.variant_generator.generate_variants", "stopper.NoopStopper", "syncer.SyncConfig",
        "trainable.Trainable", "trainable.trainable.Trainable", "trainable.with_parameters", "tune_config.TuneConfig",
        "tuner.Tuner", "utils.util.wait_for_gpu",
    ],
)  # fmt: skip
def test_programs_find_rays_names_where_they_look_for_them(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(f"nbaccel.tune.{module}"), name) is not None


@pytest.mark.parametrize("name", ["aim.AimLoggerCallback", "wandb.WandbLoggerCallback", "mlflow.MLflowLoggerCallback"])
def test_loggers_that_are_not_here_say_what_to_call(name: str) -> None:
    module, _, name = name.partition(".")
    found = getattr(importlib.import_module(f"nbaccel.tune.logger.{module}"), name)
    with pytest.raises(NotImplementedError, match="call it in the trainable"):
        found()


class Notes(logger.LoggerCallback):
    """Notes which of its methods were called."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def log_trial_start(self, trial: Any) -> None:
        self.seen.append(("start", os.path.isdir(trial.local_path)))

    def log_trial_result(self, iteration: int, trial: Any, result: dict[str, Any]) -> None:
        self.seen.append(("result", result["loss"]))

    def log_trial_save(self, trial: Any) -> None:
        self.seen.append("save")

    def log_trial_restore(self, trial: Any) -> None:
        self.seen.append("restore")

    def log_trial_end(self, trial: Any, failed: bool = False) -> None:
        self.seen.append(("end", failed))


@pytest.mark.usefixtures("cluster")
class TestInTrials:
    """One head serves them."""

    def test_a_logger_sees_what_happens(self, kept: Kept, tmp_path: Any) -> None:
        notes = Notes()
        space = {"x": 1, "steps": 2, "fails_in": 1, "how": "raise", "folder": str(tmp_path)}
        config = kept(callbacks=[notes], failure_config=tune.FailureConfig(max_failures=1))
        tune.Tuner(trainables.steps, param_space=space, run_config=config).fit()
        first = [("start", True), ("result", 1.0), "save", ("start", True), "restore", ("result", 0.5), "save"]
        assert notes.seen == [*first, ("end", False)]
        notes = Notes()
        tune.Tuner(trainables.raises, param_space={"x": 1}, run_config=kept("second", callbacks=[notes])).fit()
        assert notes.seen == [("start", True), ("end", True)]

    def test_numbers_are_written_for_tensorboard(self, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
        written: list[Any] = []

        class SummaryWriter:
            def __init__(self, folder: str, flush_secs: int) -> None:
                written.append(os.path.basename(folder))

            def add_scalar(self, name: str, value: float, global_step: int) -> None:
                written.append((name, value, global_step))

            def add_hparams(self, params: Any, metrics: Any) -> None:
                written.append((params, metrics["ray/tune/loss"]))

            def flush(self) -> None: ...
            def close(self) -> None: ...

        module = ModuleType("tensorboardX")
        module.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "tensorboardX", module)
        config = kept(callbacks=[logger.TBXLoggerCallback()])
        results = tune.Tuner(trainables.square, param_space={"x": tune.grid_search([3])}, run_config=config).fit()
        assert written[0] == os.path.basename(results[0].path)
        assert ("ray/tune/loss", 9, 1) in written and written[-1] == ({"x": 3}, 9)

    def test_a_run_in_a_trial_takes_rays_callback(self, kept: Kept) -> None:
        results = tune.Tuner(in_a_worker_group, param_space={"x": 2}, run_config=kept()).fit()
        assert [str(each) for each in results.errors] == [] and results[0].metrics["loss"] == 2  # type: ignore[index]

    def test_small_arrays_are_metrics(self, kept: Kept) -> None:
        (result,) = tune.Tuner(reports_arrays, run_config=kept()).fit()
        assert result.metrics is not None and result.metrics["values"] == [[0, 1], [2, 3]]
        assert result.metrics["deep"] == {"list": [[1.0, 2.0]]}


def in_a_worker_group(config: dict[str, Any]) -> None:
    from nbaccel.tune.integration import TuneReportCallback

    run_config = train.RunConfig(name="inner", callbacks=[TuneReportCallback()])
    scaling = train.ScalingConfig(num_workers=1)
    DataParallelTrainer(reports, train_loop_config=config, scaling_config=scaling, run_config=run_config).fit()


def reports(config: dict[str, Any]) -> None:
    train.report({"loss": config["x"]})


def reports_arrays(config: dict[str, Any]) -> None:
    import numpy as np

    tune.report({"values": np.arange(4).reshape(2, 2), "deep": {"list": [np.array([1.0, 2.0])]}})


@pytest.mark.extra("lightning")
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_lightning_reports_with_and_without_a_checkpoint(kept: Kept) -> None:
    pytest.importorskip("lightning")
    results = tune.Tuner(
        lightning_steps, param_space={"saves": tune.grid_search([True, False])}, run_config=kept()
    ).fit()
    assert [str(each) for each in results.errors] == []
    assert [(len(each.history), each.checkpoint is not None) for each in results] == [(2, True), (2, False)]


def lightning_steps(config: dict[str, Any]) -> None:
    import lightning.pytorch as pl
    import torch
    from lightning.pytorch.demos.boring_classes import BoringModel

    from nbaccel.tune.integration.pytorch_lightning import TuneReportCallback, TuneReportCheckpointCallback

    class Model(BoringModel):  # type: ignore[misc]
        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", self.layer(batch).sum())

    kind = TuneReportCheckpointCallback if config["saves"] else TuneReportCallback
    torch.manual_seed(0)
    trainer = pl.Trainer(
        max_epochs=2, limit_train_batches=1, limit_val_batches=1, accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, callbacks=[kind({"loss": "val_loss"})],
    )  # fmt: skip
    trainer.fit(Model())


@pytest.mark.extra("xgboost")
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_xgboost_and_lightgbm_report_each_round_and_their_models(kept: Kept) -> None:
    pytest.importorskip("xgboost")
    pytest.importorskip("lightgbm")
    for name, trainable in (("xgboost", xgboost_rounds), ("lightgbm", lightgbm_rounds)):
        (result,) = tune.Tuner(trainable, run_config=kept(name)).fit()
        assert result.error is None and result.checkpoint is not None
        module = importlib.import_module(f"nbaccel.tune.integration.{name}")
        assert module.TuneReportCheckpointCallback.get_model(result.checkpoint) is not None
        assert len([each for each in result.history if "loss" in each]) >= 3


def xgboost_rounds(config: dict[str, Any]) -> None:
    import numpy as np
    import xgboost

    from nbaccel.tune.integration.xgboost import TuneReportCheckpointCallback

    data = xgboost.DMatrix(np.arange(20.0).reshape(10, 2), label=np.arange(10) % 2)
    callback = TuneReportCheckpointCallback({"loss": "eval-logloss"}, frequency=2)
    options = {"objective": "binary:logistic", "eval_metric": "logloss"}
    xgboost.train(options, data, 3, evals=[(data, "eval")], verbose_eval=False, callbacks=[callback])


def lightgbm_rounds(config: dict[str, Any]) -> None:
    import lightgbm
    import numpy as np

    from nbaccel.tune.integration.lightgbm import TuneReportCheckpointCallback

    data = lightgbm.Dataset(np.arange(80.0).reshape(40, 2), label=np.arange(40) % 2)
    callback = TuneReportCheckpointCallback({"loss": "eval-binary_logloss"})
    options = {"objective": "binary", "metric": "binary_logloss", "verbose": -1, "min_data_in_leaf": 1}
    lightgbm.train(options, data, 3, valid_sets=[data], valid_names=["eval"], callbacks=[callback])


# ---- helpers


def test_dicts_are_flattened_merged_and_looked_up() -> None:
    nested = {"a": {"b": 1, "c": {}}, "d": [1, {"e": 2}]}
    flat = utils.flatten_dict(nested)
    assert flat == {"a/b": 1, "a/c": {}, "d": [1, {"e": 2}]} and utils.unflatten_dict(flat) == nested
    assert utils.flatten_dict({"d": [1, {"e": 2}]}, flatten_list=True) == {"d/0": 1, "d/1/e": 2}
    assert utils.merge_dicts({"a": {"b": 1}}, {"a": {"c": 2}, "d": 3}) == {"a": {"b": 1, "c": 2}, "d": 3}
    assert utils.unflattened_lookup("a/b", nested) == 1 and utils.unflattened_lookup("a/x", nested, default=0) == 0
    with pytest.raises(ValueError, match="The dict has no 'z'"):
        utils.deep_update({"a": 1}, {"z": 1})


def test_a_class_that_loses_its_state_is_found() -> None:
    from tests.tune.class_trainables import Counts, Files

    assert utils.validate_save_restore(Counts, {"x": 1}) and utils.validate_save_restore(Files, {"x": 1})
    assert utils.diagnose_serialization(len) is True


def test_a_result_is_printed_a_name_in_a_line() -> None:
    assert logger.pretty_print({"b": 1, "a": {"c": 2}, "config": {}, "none": None}) == 'a: {"c": 2}\nb: 1\n'
