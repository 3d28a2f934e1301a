"""Population based training with real workers: whose checkpoint a trial begins with, and what its result says."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune import experiment_journal
from nbaccel.tune.schedulers import PopulationBasedTraining, PopulationBasedTrainingReplay
from nbaccel.tune.schedulers.trial_scheduler import CONTINUE, Decision, Result, TrialScheduler
from tests.rig import wait_until

Kept = Callable[..., tune.RunConfig]

pytestmark = pytest.mark.usefixtures("cluster")


def wanders(config: dict[str, Any]) -> None:
    """Scores at random, so that trials overtake each other again and again."""
    checkpoint = tune.get_checkpoint()
    first = checkpoint.load()["step"] + 1 if checkpoint is not None else 0
    for step in range(first, 60):
        tune.report({"score": random.random(), "x": config["x"]}, checkpoint=tune.Checkpoint.save({"step": step}))


def exchanges(config: dict[str, Any]) -> dict[str, Any] | None:
    """Trial a takes over what b has; then b takes over what a has, which has reported nothing since."""
    folder, name = Path(config["folder"]), config["name"]
    checkpoint = tune.get_checkpoint()
    if checkpoint is not None:
        (folder / f"{name}-again").touch()
        wait_until(lambda: (folder / "b-again").exists())
        return {"of": checkpoint.load()["of"], "name": name} if config["returns"] else None
    if name == "a":
        wait_until(lambda: (folder / "b-there").exists())
    tune.report({"of": name, "name": name}, checkpoint=tune.Checkpoint.save({"of": name}))
    (folder / "b-there").touch()
    wait_until(lambda: (folder / "a-again").exists())
    tune.report({"of": name, "name": name})
    return None


class Exchanging(TrialScheduler):
    """Lets a take over from b at its first report, and b from a at its second."""

    needs_metric = False

    def __init__(self) -> None:
        super().__init__()
        self._ids: dict[str, str] = {}
        self._configs: dict[str, dict[str, Any]] = {}
        self._reports = {"a": 0, "b": 0}

    def add(self, trial: str, config: dict[str, Any]) -> None:
        self._ids[config["name"]], self._configs[config["name"]] = trial, config

    def on_result(self, trial: str, result: Result) -> Decision:
        name, other = ("a", "b") if trial == self._ids["a"] else ("b", "a")
        self._reports[name] += 1
        if self._reports[name] != {"a": 1, "b": 2}[name]:
            return CONTINUE
        return Decision("exploit", self._ids[other], {**self._configs[name], "taken": True})


@pytest.mark.parametrize("returns", [True, False])
def test_a_donor_that_has_itself_just_taken_over_gives_what_it_took(kept: Kept, tmp_path: Path, returns: bool) -> None:
    results = tune.Tuner(
        exchanges,
        param_space={"name": tune.grid_search(["a", "b"]), "folder": str(tmp_path), "returns": returns},
        tune_config=tune.TuneConfig(scheduler=Exchanging()),
        run_config=kept(),
    ).fit()
    assert [str(error) for error in results.errors] == []
    for result in results:
        assert result.checkpoint is not None and result.checkpoint.load() == {"of": "b"}
        # The config is that of the last report, which another one may have made.
        assert result.metrics is not None and ("taken" in result.config) == returns
        assert result.metrics["of"] == ("b" if returns else result.metrics["name"])


class OfTheFirst(TrialScheduler):
    """Lets the trial that is not the first take over from it at its first report."""

    needs_metric = False

    def __init__(self) -> None:
        super().__init__()
        self._trials: list[str] = []
        self._taken = False

    def add(self, trial: str, config: dict[str, Any]) -> None:
        self._trials.append(trial)

    def on_result(self, trial: str, result: Result) -> Decision:
        if trial == self._trials[0] or self._taken:
            return CONTINUE
        self._taken = True
        return Decision("exploit", self._trials[0], {"first": False})


def counts(config: dict[str, Any]) -> None:
    """Four steps, or those that are left after a checkpoint."""
    checkpoint = tune.get_checkpoint()
    for step in range(checkpoint.load()["step"] if checkpoint is not None else 0, 4):
        if config["first"] and step == 3:
            tune.report({"step": step})  # after its last checkpoint
        else:
            tune.report({"step": step}, checkpoint=tune.Checkpoint.save({"step": step + 1}))


def test_a_trial_counts_on_from_its_donors_checkpoint(kept: Kept) -> None:
    results = tune.Tuner(
        counts,
        param_space={"first": tune.grid_search([True, False])},
        tune_config=tune.TuneConfig(scheduler=OfTheFirst(), max_concurrent_trials=1),
        run_config=kept(),
    ).fit()
    assert [each["training_iteration"] for each in results[0].history] == [1, 2, 3, 4]
    assert [(each["step"], each["training_iteration"]) for each in results[1].history] == [(0, 1), (3, 4)]
    past = experiment_journal.read(results.experiment_path)
    assert past is not None and list(past.trials.values())[1].counted["training_iteration"] == 3


def population(**options: Any) -> PopulationBasedTraining:
    return PopulationBasedTraining(
        perturbation_interval=1, quantile_fraction=0.5, hyperparam_mutations={"x": list(range(100))}, **options
    )


@pytest.mark.slow
def test_trials_that_overtake_each_other_all_end_with_a_checkpoint_and_the_config_of_their_last_report(
    kept: Kept,
) -> None:
    checkpoints = tune.CheckpointConfig(num_to_keep=1)
    results = tune.Tuner(
        tune.with_resources(wanders, {"cpu": 0.5}),
        param_space={"x": tune.choice(list(range(100)))},
        tune_config=tune.TuneConfig(metric="score", mode="max", num_samples=8, scheduler=population()),
        run_config=kept(checkpoint_config=checkpoints),
    ).fit()
    assert [str(error) for error in results.errors] == []
    for result in results:
        assert result.metrics is not None and result.checkpoint is not None
        assert result.checkpoint.load()["step"] >= 0
        assert result.config == {"x": result.metrics["x"]}


def test_one_scheduler_serves_two_experiments(kept: Kept) -> None:
    scheduler = population()
    for name in ("first", "second"):
        tuner = tune.Tuner(
            wanders,
            param_space={"x": tune.grid_search([1, 2])},
            tune_config=tune.TuneConfig(metric="score", mode="max", scheduler=scheduler),
            run_config=kept(name=name),
        )
        assert tuner.fit().num_errors == 0


class Grows(tune.Trainable):
    """Its value grows by its rate in each step."""

    def setup(self, config: dict[str, Any]) -> None:
        self.value, self.rate = 0.0, config["rate"]

    def step(self) -> dict[str, Any]:
        self.value += self.rate
        return {"value": self.value, "rate": self.rate}

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, Any]:
        return {"value": self.value}

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.value = checkpoint["value"]


def test_the_exchanges_of_a_population_are_written_and_run_again(kept: Kept) -> None:
    scheduler = PopulationBasedTraining(
        "training_iteration",
        "value",
        "max",
        1,
        hyperparam_mutations={"rate": [1, 5]},
        quantile_fraction=0.5,
        synch=True,
    )
    results = tune.Tuner(
        Grows,
        param_space={"rate": tune.grid_search([1, 5])},
        tune_config=tune.TuneConfig(scheduler=scheduler),
        run_config=kept(stop={"training_iteration": 6}),
    ).fit()
    folder = Path(results.experiment_path)
    assert len((folder / "pbt_global.txt").read_text().splitlines()) == scheduler.num_perturbations > 0
    (policy, *_) = sorted(folder.glob("pbt_policy_*"))
    exchanged = next(each for each in results if each.trial_id in policy.name)
    replay = PopulationBasedTrainingReplay(str(policy))
    (again,) = tune.Tuner(
        Grows,
        tune_config=tune.TuneConfig(scheduler=replay),
        run_config=kept("again", stop={"training_iteration": 6}),
    ).fit()
    assert again.config == exchanged.config and again.metrics is not None
    assert [each["training_iteration"] for each in again.history] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="there is no file"):
        PopulationBasedTrainingReplay("nowhere")
