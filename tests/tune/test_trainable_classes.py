"""Trials as classes: steps, checkpoints, what goes on from them, names for trainables, Ray's other ways to begin."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune.result_grid import result_of
from nbaccel.tune.schedulers import PopulationBasedTraining
from nbaccel.tune.trainable import TrainingResult
from tests.census import Place
from tests.tune import trainables
from tests.tune.class_trainables import Asks, Counts, Files, Overrides, Reused, calls

Kept = Callable[..., tune.RunConfig]


def fit(cls: Any, space: dict[str, Any], run_config: tune.RunConfig, **options: Any) -> tune.ResultGrid:
    return tune.Tuner(cls, param_space=space, tune_config=tune.TuneConfig(**options), run_config=run_config).fit()


# ---- alone


def test_an_object_counts_its_steps_and_goes_on_from_what_it_saved() -> None:
    made = Counts({"x": 2})
    first = made.train()
    assert (first["score"], first["training_iteration"], first["done"], first["trial_id"]) == (2, 1, False, "default")
    saved = made.save()
    assert isinstance(saved, TrainingResult) and saved.metrics["score"] == 2
    made.train()
    for given in (saved, saved.checkpoint, saved.checkpoint.path):
        made.restore(given)
        assert (made.count, made.iteration, made.training_iteration) == (1, 1, 1)
    assert made.train()["iterations_since_restore"] == 1 and not made.is_actor()
    assert len(made.train_buffered(1e9, 3)) == 3 and made.get_config() == {"x": 2}
    assert made.export_model("text")["text"].endswith("model.txt") and not made.reset({"x": 3})
    made.stop()
    assert calls(made.logdir)[-1] == "cleanup"
    with pytest.raises(FileNotFoundError, match="no checkpoint at /nowhere"):
        made.restore("/nowhere")


def test_a_class_without_a_step_and_one_with_a_wrong_step_are_told() -> None:
    class Nothing(tune.Trainable): ...

    class Wrong(tune.Trainable):
        def step(self) -> Any:
            return 3

    with pytest.raises(NotImplementedError, match=r"Nothing has no step\(self\)"):
        Nothing().train()
    with pytest.raises(ValueError, match=r"Wrong.step\(\) returns a dict of metrics, not 3"):
        Wrong().train()
    with pytest.raises(NotImplementedError, match="Nothing has no save_checkpoint"):
        Nothing().save()


def test_episodes_and_timesteps_are_added_up() -> None:
    class Steps(tune.Trainable):
        def step(self) -> dict[str, Any]:
            return {"timesteps_this_iter": 10, "episodes_total": 7}

    made = Steps()
    made.train()
    result = made.train()
    assert (result["timesteps_total"], result["episodes_total"]) == (20, 7)


def test_an_object_shows_its_counters_and_its_process() -> None:
    made = Counts({"x": 2})
    made.train()
    state = made.get_state()
    assert (state["iteration"], state["last_result"]["score"]) == (1, 2) and state["time_total"] > 0
    assert made.get_current_ip_pid()[1] == os.getpid()


# ---- as trials


@pytest.mark.usefixtures("cluster")
class TestTrials:
    """One head serves them."""

    def test_a_class_is_stepped_until_it_is_done_and_saves_as_often_as_asked(self, kept: Kept) -> None:
        config = kept(checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=2, checkpoint_at_end=True))
        results = fit(Counts, {"x": tune.grid_search([1, 2]), "steps": 5}, config)
        for result in results:
            names = [os.path.basename(each.path) for each, _ in result.best_checkpoints]
            assert names == ["checkpoint_000000", "checkpoint_000001", "checkpoint_000002"]
            assert calls(result.path) == ["setup", "cleanup"] and result.state == "done"
            assert result.metrics is not None and result.metrics["score"] == 5 * result.config["x"]
            assert [each["training_iteration"] for each in result.history] == [1, 2, 3, 4, 5]

    def test_a_stop_rule_ends_a_class_after_exactly_its_report(self, kept: Kept) -> None:
        for setting, expected in ((False, 0), (True, 1)):
            keeping = tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=setting)
            config = kept(f"e{setting}", stop={"training_iteration": 3}, checkpoint_config=keeping)
            (result,) = fit(Counts, {"x": 1}, config)
            assert (len(result.history), len(result.best_checkpoints), result.state) == (3, expected, "stopped")

    def test_a_tuner_saves_a_class_at_the_end_and_tune_run_does_not(self, kept: Kept) -> None:
        (result,) = fit(Counts, {"x": 1, "steps": 3}, kept())
        assert [metrics["score"] for _, metrics in result.best_checkpoints] == [3]
        analysis = tune.run(Counts, config={"x": 1, "steps": 3}, storage_path=kept().storage_path, verbose=0)
        assert analysis.trials[0].checkpoint is None

    def test_older_names_of_options_about_checkpoints_act_and_warn(self, kept: Kept) -> None:
        options: dict[str, Any] = {"checkpoint_freq": 1, "checkpoint_at_end": True, "keep_checkpoints_num": 2}
        with pytest.warns(DeprecationWarning, match=r"pass checkpoint_config=tune.CheckpointConfig\(num_to_keep=2, "):
            analysis = tune.run(
                Counts,
                config={"x": 1, "steps": 5},
                storage_path=kept().storage_path,
                verbose=0,
                checkpoint_score_attr="min-score",
                **options,
            )
        found = result_of(analysis.experiment_path, analysis.trials[0])
        assert [metrics["score"] for _, metrics in found.best_checkpoints] == [2, 1]

    @pytest.mark.parametrize("cls", [Counts, Files])
    def test_a_failed_class_goes_on_from_its_checkpoint(self, kept: Kept, cls: Any) -> None:
        config = kept(
            failure_config=tune.FailureConfig(max_failures=1),
            checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
        )
        (result,) = fit(cls, {"x": 1, "steps": 4, "fails_in": 3}, config)
        assert result.error is None and [each["count"] for each in result.history] == [1, 2, 3, 4]
        assert [each["training_iteration"] for each in result.history] == [1, 2, 3, 4]
        assert calls(result.path).count("cleanup") == 2, "also after the failure"

    def test_an_interrupted_experiment_of_a_class_is_restored(self, kept: Kept) -> None:
        config = kept(checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1), stop={"training_iteration": 2})
        results = fit(Counts, {"x": 1}, config)
        again = tune.Tuner.restore(results.experiment_path, Counts)
        for name in ("score", "done", "config", "experiment_tag", "checkpoint_dir_name", "date"):
            assert again.get_results()[0].metrics[name] == results[0].metrics[name]  # type: ignore[index]
        assert len(again.fit()[0].history) == 2, "it has ended"

    def test_a_class_that_does_not_save_says_so_when_a_checkpoint_is_wanted(self, kept: Kept) -> None:
        class NoSave(tune.Trainable):
            def step(self) -> dict[str, Any]:
                return {"a": 1}

        (result,) = fit(NoSave, {}, kept(checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1)))
        assert "NoSave has no save_checkpoint(self, checkpoint_dir), and a checkpoint is wanted" in str(result.error)
        (result,) = fit(NoSave, {}, kept("fine", stop={"training_iteration": 2}))
        assert result.error is None, "nobody wanted one"

    def test_a_function_makes_its_checkpoints_itself(self, kept: Kept) -> None:
        for given in ({"checkpoint_frequency": 1}, {"checkpoint_at_end": True}):
            with pytest.raises(ValueError, match="a function makes its checkpoints itself"):
                fit(trainables.square, {"x": 1}, kept(checkpoint_config=tune.CheckpointConfig(**given)))
        harmless = tune.CheckpointConfig(checkpoint_frequency=0, checkpoint_at_end=False)
        assert fit(trainables.square, {"x": 1}, kept("fine", checkpoint_config=harmless)).num_errors == 0

    def test_one_object_serves_several_trials_if_it_can_be_reset(self, kept: Kept) -> None:
        space = {"x": tune.grid_search([1, 2, 3]), "steps": 2}
        for cls, reuses, expected in ((Reused, True, "reset"), (Reused, False, "setup"), (Counts, True, "setup")):
            options = {"reuse_actors": reuses, "max_concurrent_trials": 1}
            results = fit(cls, space, kept(f"{cls.__name__}-{reuses}"), **options)
            assert [each.metrics["score"] for each in results] == [2, 4, 6]  # type: ignore[index]
            assert expected in calls(results[2].path)

    def test_weak_objects_go_on_from_what_strong_ones_have_saved(self, kept: Kept) -> None:
        for waits in (False, True):
            scheduler = PopulationBasedTraining(
                "training_iteration", perturbation_interval=2, hyperparam_mutations={"x": [1, 5]}, synch=waits, seed=1
            )
            config = kept(f"waits-{waits}", stop={"training_iteration": 12})
            space = {"x": tune.grid_search([1, 2, 3, 50])}
            options = {"metric": "score", "mode": "max", "scheduler": scheduler, "max_concurrent_trials": 2}
            results = fit(Counts, space, config, **options)
            assert [str(each) for each in results.errors] == [] and scheduler.num_perturbations > 0
            assert [each.metrics["training_iteration"] for each in results] == [12] * 4  # type: ignore[index]

    def test_a_class_may_ask_for_its_resources_and_take_large_parameters(self, kept: Kept) -> None:
        results = fit(Asks, {"x": tune.grid_search([1, 2]), "steps": 1}, kept())
        assert [each.placement_group_factory.required_resources for each in results._trials] == [{"CPU": 1}, {"CPU": 2}]
        bound = tune.with_parameters(tune.with_resources(Counts, {"cpu": 2}), data=[1, 2, 3])
        (result,) = fit(bound, {"x": 1, "steps": 1}, kept("bound"))
        assert result.error is None and result.metrics is not None and result.metrics["score"] == 1

    def test_trainables_have_names_and_experiments_are_run_one_after_the_other(self, kept: Kept) -> None:
        tune.register_trainable("counts", Counts)
        storage = kept().storage_path
        analysis = tune.run(
            "counts",
            config={"x": 1, "steps": 2},
            storage_path=storage,
            export_formats=["text"],
            name="exports",
        )
        assert (Path(analysis.trials[0].local_path) / "model.txt").read_text() == "text"
        (result,) = fit("counts", {"x": 2, "steps": 1}, kept("by_name"))
        assert result.metrics is not None and result.metrics["score"] == 2
        spec = {"run": "counts", "config": {"x": 3, "steps": 1}, "storage_path": storage}
        second = tune.Experiment("second", Counts, config={"x": 1}, stop={"score": 2}, storage_path=storage)
        trials = tune.run_experiments([{"first": spec}, second], verbose=0)
        assert [(str(each)[:7], each.last_result["score"]) for each in trials] == [("Counts_", 3), ("Counts_", 2)]

    def test_methods_that_are_rarely_overridden_are_called(self, kept: Kept) -> None:
        options: dict[str, Any] = {"storage_path": kept().storage_path, "export_formats": ["onnx"]}
        (trial,) = tune.run(Overrides, config={"x": 1, "steps": 2}, **options).trials
        assert calls(trial.local_path) == ["setup", "log 1", "log 2", "export ['onnx']", "cleanup"]

    def test_trials_may_begin_from_a_checkpoint_of_another_experiment(self, kept: Kept) -> None:
        keeping = tune.CheckpointConfig(checkpoint_at_end=True)
        (result,) = fit(Counts, {"x": 1, "steps": 3}, kept(checkpoint_config=keeping))
        assert result.checkpoint is not None
        restored = {"restore": result.checkpoint.path, "storage_path": kept().storage_path}
        analysis = tune.run(Counts, config={"x": 1, "steps": 5}, **restored)
        assert [each["metrics"]["count"] for each in analysis.trials[0].reports] == [4, 5]


def test_what_setup_would_lack_is_told_when_the_tuner_is_made(cluster: Place) -> None:
    class Wants(tune.Trainable):
        def setup(self, config: dict[str, Any], data: Any) -> None: ...

    with pytest.raises(ValueError, match=r"Wants.setup has the arguments data .*with_parameters\(Wants, data="):
        tune.Tuner(Wants)
    with pytest.raises(ValueError, match=r"Wants.setup has no argument 'dta'. Did you mean data"):
        tune.Tuner(tune.with_parameters(Wants, data=1, dta=2))
    tune.Tuner(tune.with_parameters(Wants, data=1))
