"""Tuner: runs an experiment, and goes on with one. Names as in Ray Tune."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nbaccel.train.configs import RunConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.tune import experiment_journal
from nbaccel.tune.error import TuneError
from nbaccel.tune.result_grid import ResultGrid
from nbaccel.tune.runner import Runner
from nbaccel.tune.setting_up import Again, Wanted, refuse_another, start_again, start_new
from nbaccel.tune.trainables import checked, refuse_what_cannot_be_sent
from nbaccel.tune.trainer_trial import TrainerTrial
from nbaccel.tune.tune_config import TuneConfig, folder_of, of_tune
from nbaccel.views.sinks import notify


@dataclass(slots=True)
class _Begun:
    """What a journal cannot hold of an experiment; not the trainable, which may hold large values."""

    scheduler: Any
    search: Any
    run: RunConfig


_MOST_BEGUN = 32
_begun_here: dict[str, _Begun] = {}  # the latest experiments of this process, by folder


class Tuner:
    """Run many trials of one function or class, each with other parameters, on the devices that they hold.

    trainable    a function of the config. It calls tune.report({"loss": 0.1}), or returns a dict or a number, or yields
                 dicts. tune.with_resources says what each trial holds; by default one CPU. Or a class, tune.Trainable;
                 or the name of a registered one; or a trainer of nbaccel.train: each trial is then a run of its gang
    param_space  a dict of values, domains such as tune.uniform(0, 1), and tune.grid_search([…]). For a trainer,
                 {"train_loop_config": {…}, "scaling_config": {"num_workers": …}}
    tune_config  how many samples, compared by which metric, with which scheduler and search
    run_config   the experiment's name and folder, when trials stop, how often a failed one is tried again

    >>> def train_model(config):
    ...     for step in range(10):
    ...         tune.report({"loss": (config["lr"] - 0.1) ** 2 / (step + 1)})
    >>> tuner = tune.Tuner(train_model, param_space={"lr": tune.grid_search([0.01, 0.1, 1])},
    ...                    tune_config=tune.TuneConfig(metric="loss", mode="min"))
    >>> tuner.fit().get_best_result().config
    {'lr': 0.1}
    """

    def __init__(
        self,
        trainable: Callable[..., Any] | type | str | DataParallelTrainer | None = None,
        *,
        param_space: Mapping[str, Any] | None = None,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
    ) -> None:
        tune = tune_config or TuneConfig()
        if not isinstance(tune, TuneConfig):
            raise ValueError(f"tune_config takes nbaccel.tune.TuneConfig, not {type(tune_config).__name__}.")
        if isinstance(trainable, DataParallelTrainer):
            function: Any = TrainerTrial(trainable)
            run_config = run_config or trainable.run_config
        else:
            function = checked(trainable)
            refuse_what_cannot_be_sent(function)
        self._wanted = Wanted(function, param_space, tune, of_tune(run_config))
        self._restored_from = ""
        self._again = Again()
        self._results: ResultGrid | None = None

    def fit(self) -> ResultGrid:
        """Run the trials and return their results; an error of a trial is in its result.

        Ctrl-C or the Stop button ends the experiment in steps, and the results so far are returned: no new trials, and
        those that run end at their next report; then they are interrupted; then their processes end.

        Raises TuneError if no trial can ever start or the folder cannot be written, or if all trials (three or more)
        failed for one reason before any of them reported; ValueError for a metric that trials do not report, and a
        trial's own error with fail_fast="raise".
        """
        runner = self._start()
        try:
            runner.wait_with_ladder()
        except BaseException:
            if (begun := _begun_here.get(runner.path)) is not None:  # a callback may have raised it: it goes on without
                begun.run = replace(begun.run, callbacks=[])
            raise
        finally:
            self._results = self._grid(runner)
            self._restored_from = runner.path  # another fit() goes on with it
        _raise_the_only_reason(self._results)
        return self._results

    def _start(self) -> Runner:
        if self._restored_from:
            runner = start_again(self._restored_from, self._wanted, self._again)
        else:
            scheduler, search = self._wanted.tune.scheduler, self._fresh_search()
            runner = start_new(self._wanted)
            _begun_here[runner.path] = _Begun(scheduler, search, self._wanted.run)
            while len(_begun_here) > _MOST_BEGUN:
                del _begun_here[next(iter(_begun_here))]
        if runner.said:
            notify("tune", runner.said)
        runner.begin()
        return runner

    def _fresh_search(self) -> Any:
        """The search as it is before it has suggested anything; itself if it cannot be copied."""
        try:
            return copy.deepcopy(self._wanted.tune.search_alg)
        except Exception:  # of a user's class, or of what it holds
            return self._wanted.tune.search_alg

    def _grid(self, runner: Runner) -> ResultGrid:
        trials = sorted(runner.experiment.trials.values(), key=lambda trial: trial.number)
        return ResultGrid(runner.path, trials, *runner.compared_by, study=runner.study)

    def get_results(self) -> ResultGrid:
        """The results of `fit`, or of a restored experiment. Raises RuntimeError before that."""
        if self._results is not None:
            return self._results
        if not self._restored_from:
            raise RuntimeError("There are no results yet: call fit().")
        past = experiment_journal.read_past(self._restored_from)
        for trial in past.trials.values():
            experiment_journal.settle(self._restored_from, trial, remove=False)
        tune = self._wanted.tune
        metric, mode = tune.metric or past.facts.get("metric"), tune.mode or past.facts.get("mode")
        return ResultGrid(self._restored_from, list(past.trials.values()), metric, mode)

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        trainable: Callable[..., Any] | type | str | DataParallelTrainer,
        resume_unfinished: bool = True,
        resume_errored: bool = False,
        restart_errored: bool = False,
        param_space: Mapping[str, Any] | None = None,
        storage_filesystem: Any = None,
        *,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
    ) -> Tuner:
        """Go on with an experiment, whose folder may have been moved: `fit` runs the trials that have not ended.

        resume_unfinished  trials that were under way continue from their latest checkpoints
        resume_errored     trials that failed do so too; restart_errored: they begin again
        param_space        only needed if the space has functions or objects, which the journal cannot store
        tune_config, run_config  not in Ray: options that the journal could not store, or other ones than before. The
                           scheduler, the search and the callbacks of an experiment of this process are known

        Raises FileNotFoundError if the folder holds no experiment, ValueError if the experiment was one of another
        trainable (by its name, as in Ray: a mended function is the same one) or of other parameters.
        """
        folder = folder_of(path, storage_filesystem, "Tuner.restore")
        past = experiment_journal.read_past(folder)
        if (begun := _begun_here.get(folder)) is not None:
            tune_config = tune_config or TuneConfig(scheduler=begun.scheduler, search_alg=begun.search)
            run_config = run_config or begun.run
        tuner = cls(trainable, param_space=param_space, tune_config=tune_config, run_config=run_config)
        refuse_another(past, tuner._wanted)
        tuner._restored_from = folder
        tuner._again = Again(resume_unfinished, resume_errored, restart_errored)
        return tuner

    @classmethod
    def can_restore(cls, path: str | os.PathLike[str], storage_filesystem: Any = None) -> bool:
        """Whether the folder holds an experiment."""
        try:
            experiment_journal.read_past(folder_of(path, storage_filesystem, "Tuner.can_restore"))
        except (FileNotFoundError, ValueError):
            return False
        return True

    def __repr__(self) -> str:
        return f"Tuner({getattr(self._wanted.trainable, '__name__', self._wanted.trainable)})"


_NUMBER = re.compile(
    r"0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?"
)  # a trial's parameter, process, address: the reason is the same


def _raise_the_only_reason(results: ResultGrid) -> None:
    """Raise what all trials raised before any of them reported: a mistake in the function, and no result of a trial."""
    errors = results.errors
    if (
        len(results) < 3
        or len(errors) < len(results)
        or any("training_iteration" in (result.metrics or {}) for result in results)
    ):
        return
    reasons = [f"{type(error).__name__}: {_last_line(error)}" for error in errors]
    if len({_NUMBER.sub("", reason) for reason in reasons}) == 1:
        raise TuneError(
            f"All {len(errors)} trials failed for one reason, before any of them reported: {reasons[0]} The results "
            "are in Tuner.get_results()."
        ) from errors[0]


def _last_line(error: BaseException) -> str:
    """What the trainable raised; an error of a task has its traceback before it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else ""
