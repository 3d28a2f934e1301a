"""Experiments on nbaccel and on what users would pick instead: trials a second, ASHA, resuming, what a report costs.

    python benchmarks/tuning.py --only nbaccel,ray,ray_reuse,optuna,joblib --repeat 5

Each contender runs in a process of its own, one after the other, with two CPUs, and its second experiment is measured.
Every figure is checked: the number of trials, and the best value. Under ASHA the trials that go on depend on which
reports come first, so the best value is compared and the number of reports is not.

`ray_reuse` is Ray Tune with `reuse_actors=True`. Optuna runs two threads of this process (`n_jobs=2`), joblib two
processes that stay; neither has a folder for a trial, checkpoints or resources.
"""

from __future__ import annotations

import contextlib
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from benchmarks import rounds  # noqa: E402

TRIALS, ASHA_TRIALS, ASHA_REPORTS, FINISHED, REPORTS = 200, 60, 20, 1_000, 200
ROWS = {
    "trials": f"{TRIALS} trials that return at once (1/s)",
    "asha": f"{ASHA_TRIALS} trials of up to {ASHA_REPORTS} reports under ASHA (s)",
    "restore": f"an experiment of {FINISHED:,} finished trials, restored and fitted (s)",
    "report": "one report: CPU time of the process that runs the experiment (µs)",
}


_FEWEST = 8  # trials of an experiment whose best value is checked: number 7 is among them


def value_of(number: int) -> float:
    """A score of a trial; the best is that of number 7."""
    return float(((number - 7) * 37) % 1_009)


def at_once(config: dict[str, Any]) -> dict[str, float]:
    return {"score": value_of(config["number"])}


def in_steps(report: Callable[[dict[str, float]], Any], number: int) -> None:
    for step in range(1, ASHA_REPORTS + 1):
        report({"score": value_of(number) + 1 / step})


def nbaccel_steps(config: dict[str, Any]) -> None:
    from nbaccel import tune

    in_steps(tune.report, config["number"])


def nbaccel_stream(config: dict[str, Any]) -> None:
    from nbaccel import tune

    for step in range(REPORTS):
        tune.report({"score": value_of(config["number"]) + 1 / (step + 1)})


def ray_steps(config: dict[str, Any]) -> None:
    from ray import tune

    in_steps(tune.report, config["number"])


def ray_stream(config: dict[str, Any]) -> None:
    from ray import tune

    for step in range(REPORTS):
        tune.report({"score": value_of(config["number"]) + 1 / (step + 1)})


def nbaccel_figures() -> rounds.Figures:
    import nbaccel
    from nbaccel import tune
    from nbaccel.tune.schedulers import ASHAScheduler

    nbaccel.init(num_cpus=2)
    found: rounds.Figures = {}
    with tempfile.TemporaryDirectory() as storage, silent():
        run = _Runs(tune, storage)
        run.fit(at_once, TRIALS, "first")
        found["trials"] = TRIALS / run.fit(at_once, TRIALS, "trials")
        asha = ASHAScheduler(max_t=ASHA_REPORTS, grace_period=1, reduction_factor=4)
        found["asha"] = run.fit(nbaccel_steps, ASHA_TRIALS, "asha", asha, most_over=1.0)
        run.fit(at_once, FINISHED, "finished")
        start = time.perf_counter()
        again = tune.Tuner.restore(os.path.join(storage, "finished"), at_once, param_space=_space(tune, FINISHED))
        assert len(again.fit()) == FINISHED
        found["restore"] = time.perf_counter() - start
        found["report"] = run.cost_of_a_report(nbaccel_stream)
    nbaccel.shutdown()
    return found


def ray_figures(*, reuse: bool = False) -> rounds.Figures:
    import ray
    from ray import tune
    from ray.tune.schedulers import ASHAScheduler

    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    logging.disable(logging.WARNING)
    # A cluster of its own: without an address, Ray joins any that it finds.
    ray.init("local", num_cpus=2, log_to_driver=False, include_dashboard=False)
    found: rounds.Figures = {}
    with tempfile.TemporaryDirectory() as storage, silent():
        run = _Runs(tune, storage, reuse_actors=reuse)
        run.fit(at_once, _FEWEST, "first")
        found["trials"] = TRIALS / run.fit(at_once, TRIALS, "trials")
        asha = ASHAScheduler(max_t=ASHA_REPORTS, grace_period=1, reduction_factor=4)
        found["asha"] = run.fit(ray_steps, ASHA_TRIALS, "asha", asha, most_over=1.0)
        found["report"] = run.cost_of_a_report(ray_stream)
    ray.shutdown()
    return found


class _Runs:
    """Experiments of either library, whose names are the same."""

    def __init__(self, tune: Any, storage: str, **options: Any) -> None:
        self._tune, self._storage, self._options = tune, storage, options

    def fit(self, function: Any, trials: int, name: str, scheduler: Any = None, most_over: float = 0.0) -> float:
        """How long an experiment took, in seconds. Its best trial scores at most `most_over` above the best score."""
        tune = self._tune
        tuner = tune.Tuner(
            function,
            param_space=_space(tune, trials),
            tune_config=tune.TuneConfig(metric="score", mode="min", scheduler=scheduler, **self._options),
            run_config=tune.RunConfig(name=name, storage_path=self._storage),
        )
        start = time.perf_counter()
        results = tuner.fit()
        took = time.perf_counter() - start
        assert len(results) == trials and not results.errors
        best = results.get_best_result().metrics["score"]
        assert value_of(7) <= best <= value_of(7) + most_over, best
        return took

    def cost_of_a_report(self, function: Any) -> float:
        """The CPU time that this process spends for each report, in µs, by eight trials with and without reports."""
        clocks = []
        for each, name in ((at_once, "none"), (function, "many")):
            start = time.process_time()
            self.fit(each, 8, name, most_over=1.0)
            clocks.append(time.process_time() - start)
        return (clocks[1] - clocks[0]) / (8 * REPORTS) * 1e6


def _space(tune: Any, trials: int) -> dict[str, Any]:
    return {"number": tune.grid_search(list(range(trials)))}


def optuna_figures() -> rounds.Figures:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=4)

    def at_once(trial: Any) -> float:
        return value_of(trial.suggest_int("number", 0, TRIALS - 1))

    def steps(trial: Any) -> float:
        number = trial.suggest_int("number", 0, ASHA_TRIALS - 1)
        score = 0.0
        for step in range(1, ASHA_REPORTS + 1):
            score = value_of(number) + 1 / step
            trial.report(score, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return score

    def study(objective: Any, trials: int) -> float:
        # Its grid looks through all earlier trials before each new one; random values cost it less.
        made = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=pruner)
        start = time.perf_counter()
        made.optimize(objective, n_trials=trials, n_jobs=2)
        took = time.perf_counter() - start
        assert made.best_value <= min(value_of(each.params["number"]) for each in made.trials) + 1
        assert len(made.trials) == trials
        return took

    study(at_once, TRIALS)
    return {"trials": TRIALS / study(at_once, TRIALS), "asha": study(steps, ASHA_TRIALS)}


def joblib_figures() -> rounds.Figures:
    from joblib import Parallel, delayed

    def experiment() -> float:
        start = time.perf_counter()
        scores = parallel(delayed(at_once)({"number": number}) for number in range(TRIALS))
        assert min(each["score"] for each in scores) == value_of(7) and len(scores) == TRIALS
        return time.perf_counter() - start

    with Parallel(n_jobs=2) as parallel:
        experiment()
        return {"trials": TRIALS / statistics.median(experiment() for _ in range(3))}


@contextlib.contextmanager
def silent() -> Any:
    """Print nothing: the result alone goes to standard output."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        yield


CONTENDERS: dict[str, Callable[[], rounds.Figures]] = {
    "nbaccel": nbaccel_figures,
    "ray": ray_figures,
    "ray_reuse": lambda: ray_figures(reuse=True),
    "optuna": optuna_figures,
    "joblib": joblib_figures,
}

if __name__ == "__main__":
    rounds.main(__file__, __doc__, ROWS, CONTENDERS)
