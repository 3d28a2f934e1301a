"""Tuner: runs an experiment, and goes on with one. Names as in Ray Tune."""

from __future__ import annotations

import copy
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, TypeVar

from nbaccel.handles.option_checks import did_you_mean
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.tune import experiment_journal
from nbaccel.tune.error import TuneError
from nbaccel.tune.logger import Callback
from nbaccel.tune.resources import PlacementGroupFactory, TrainerTrial, requested_by, with_resources
from nbaccel.tune.result_grid import ExperimentAnalysis, ResultGrid
from nbaccel.tune.result_tables import ProgressReporter
from nbaccel.tune.runner import Runner
from nbaccel.tune.schedulers.trial_scheduler import TrialScheduler
from nbaccel.tune.setting_up import Wanted, refuse_another, start_again, start_new
from nbaccel.tune.stopper import Stopper
from nbaccel.tune.trainable import checked, is_class, refuse_what_cannot_be_sent
from nbaccel.tune.trial import Trial
from nbaccel.tune.tune_config import (
    ResumeConfig,
    SyncConfig,
    TuneCheckpointConfig,
    TuneConfig,
    TuneFailureConfig,
    TuneRunConfig,
    folder_of,
    of_tune,
)
from nbaccel.views.sinks import notify

Config = TypeVar("Config", TuneConfig, TuneRunConfig)

# ---- the arguments of tune.run under a name, for tune.run_experiments

__all__ = ["Experiment", "Trial"]


class Experiment:
    """A trainable with its arguments of tune.run.

    >>> def train_model(config): return {"loss": config["lr"]}
    >>> first = tune.Experiment("first", train_model, config={"lr": tune.uniform(0, 1)}, num_samples=2)
    >>> len(tune.run_experiments(first))
    2
    """

    def __init__(
        self,
        name: str,
        run: Any,
        *,
        stop: Any = None,
        time_budget_s: Any = None,
        config: Mapping[str, Any] | None = None,
        resources_per_trial: Any = None,
        num_samples: int = 1,
        storage_path: str | os.PathLike[str] | None = None,
        checkpoint_config: Any = None,
        log_to_file: Any = False,
        export_formats: Any = None,
        max_failures: int = 0,
        restore: Any = None,
        trial_name_creator: Any = None,
        trial_dirname_creator: Any = None,
    ) -> None:
        self.name, self.run = name, run
        options = {each: value for each, value in locals().items() if each not in ("self", "name", "run")}
        self.spec: dict[str, Any] = {each: value for each, value in options.items() if value is not None}

    @classmethod
    def from_json(cls, name: str, spec: Mapping[str, Any]) -> Experiment:
        """The experiment that a dict describes: {"run": f, "config": {…}, "stop": {…}}."""
        if "run" not in spec:
            raise ValueError(f"The experiment {name!r} has no 'run': its function, class, or registered name.")
        options = dict(spec)
        return cls(name, options.pop("run"), **options)

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {self.run!r})"


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
                 or the name of a registered one; or a trainer of nbaccel.train: each trial is then a run of its workers
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
        self._again = ResumeConfig()
        self._results: ResultGrid | None = None

    def fit(self) -> ResultGrid:
        """Run the trials and return their results; an error of a trial is in its result.

        Each Ctrl-C or press of the Stop button goes one step further, and the results so far are returned: the first
        starts no new trials and ends running ones at their next report, the second interrupts these, the third ends
        their processes.

        Raises TuneError if no trial can ever start, if the folder cannot be written, or if all trials (three or more)
        failed for one reason before any report; ValueError for a metric that trials do not report; a trial's own error
        with fail_fast="raise".
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
        if runner.note:
            notify("tune", runner.note)
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
        _resume_config: ResumeConfig | None = None,
        *,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
    ) -> Tuner:
        """Go on with an experiment, whose folder may have been moved: `fit` runs the trials that have not ended.

        resume_unfinished  trials that were under way continue from their latest checkpoints
        resume_errored     trials that failed do so too; restart_errored: they begin again
        param_space        only needed if the space has functions or objects, which are not stored in the folder
        tune_config, run_config  not in Ray: options to change, or that are not stored. The scheduler, the search and
                           the callbacks of an experiment of this process are kept

        Raises FileNotFoundError if the folder holds no experiment, ValueError if the trainable has another name (as in
        Ray, its code may differ) or the parameters differ.
        """
        folder = folder_of(path, storage_filesystem, "Tuner.restore")
        past = experiment_journal.read_past(folder)
        if (begun := _begun_here.get(folder)) is not None:
            tune_config = tune_config or TuneConfig(scheduler=begun.scheduler, search_alg=begun.search)
            run_config = run_config or begun.run
        tuner = cls(trainable, param_space=param_space, tune_config=tune_config, run_config=run_config)
        refuse_another(past, tuner._wanted)
        tuner._restored_from = folder
        tuner._again = _resume_config or ResumeConfig(
            unfinished="resume" if resume_unfinished else "skip",
            errored="restart" if restart_errored else "resume" if resume_errored else "skip",
        )
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
            f"All {len(errors)} trials failed for one reason, before any of them reported: "
            f"{reasons[0].rstrip('.')}. The results are in Tuner.get_results()."
        ) from errors[0]


def _last_line(error: BaseException) -> str:
    """What the trainable raised; an error of a task has its traceback before it."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else ""


# ---- tune.run: an experiment in one call, as in Ray Tune


# Arguments of Ray's that change nothing.
_ACCEPTED = {"server_port"}  # Ray's own server for experiments listens there, if somebody asks it to
_OLDER = {  # the names of these fields of CheckpointConfig before Ray 2.7; Ray takes them with a warning
    "keep_checkpoints_num": "num_to_keep",
    "checkpoint_score_attr": "checkpoint_score_attribute",
    "checkpoint_freq": "checkpoint_frequency",
    "checkpoint_at_end": "checkpoint_at_end",
}
_INSTEAD = {
    "trial_executor": "trials are tasks of the engine",
    "_remote": "it is for Ray Client",
    "loggers": "give LoggerCallbacks, callbacks=[...], as in Ray",
}


def run(
    run_or_experiment: Any,
    *,
    name: str | None = None,
    metric: str | None = None,
    mode: str | None = None,
    stop: Mapping[str, float] | Callable[[str, Mapping[str, Any]], bool] | Stopper | None = None,
    time_budget_s: float | timedelta | None = None,
    config: Mapping[str, Any] | None = None,
    resources_per_trial: Mapping[str, Any] | PlacementGroupFactory | None = None,
    num_samples: int = 1,
    storage_path: str | os.PathLike[str] | None = None,
    storage_filesystem: Any = None,
    search_alg: Any = None,
    scheduler: TrialScheduler | str | None = None,
    checkpoint_config: CheckpointConfig | None = None,
    max_failures: int = 0,
    fail_fast: bool | str = False,
    resume: bool | str | None = None,
    resume_config: ResumeConfig | None = None,
    raise_on_failed_trial: bool = True,
    callbacks: Sequence[Callback] | None = None,
    max_concurrent_trials: int | None = None,
    verbose: int | None = None,
    progress_reporter: ProgressReporter | None = None,
    log_to_file: bool | str | Sequence[str] = False,
    sync_config: SyncConfig | None = None,
    reuse_actors: bool = False,
    export_formats: Sequence[str] | None = None,
    restore: str | os.PathLike[str] | None = None,
    trial_name_creator: Callable[[Any], Any] | None = None,
    trial_dirname_creator: Callable[[Any], Any] | None = None,
    chdir_to_trial_dir: bool | str = "DEPRECATED",
    **others: Any,
) -> ExperimentAnalysis:
    """Run an experiment and return its analysis. The arguments are those of TuneConfig, RunConfig and Tuner.

    run_or_experiment    a function, a Trainable class, the name of a registered one, a trainer, or an Experiment
    config               the search space
    resources_per_trial  what each trial holds, as for tune.with_resources: {"cpu": 2, "gpu": 2}
    restore              a checkpoint from which each trial begins
    export_formats       the formats for Trainable.export_model() at the end of a trial
    resume               True or "AUTO": go on with the experiment of this name ("AUTO+ERRORED": with its failed trials
                         too, "AUTO+ERRORED_ONLY": with no others, "AUTO+RESTART_ERRORED": from their beginning);
                         resume_config says more exactly what goes on

    Raises TuneError if trials failed, unless raise_on_failed_trial is False; `.results` has what they reported.

    >>> def train_model(config): return {"loss": config["x"] ** 2}
    >>> tune.run(train_model, config={"x": tune.grid_search([-1, 0, 1])}, metric="loss", mode="min").best_config
    {'x': 0}
    """
    given = {**locals(), "checkpoint_config": _with_older(checkpoint_config or TuneCheckpointConfig(), others)}
    del given["resume"]  # that of a RunConfig is another
    _refuse(others)
    trainable = _trainable(run_or_experiment, resources_per_trial)
    tuner = _tuner(trainable, config, _of_arguments(TuneConfig, given), _run_config(given), resume, resume_config)
    tuner._wanted.exports = tuple(export_formats or ())
    tuner._wanted.begins_from = _checkpoint_folder(restore)
    return _analysis_of(tuner.fit(), raises=raise_on_failed_trial)


def _of_arguments(kind: type[Config], given: Mapping[str, Any]) -> Config:
    """A config from the arguments that have the names of its fields."""
    return kind(**{each.name: given[each.name] for each in fields(kind) if each.name in given})


def _run_config(given: dict[str, Any]) -> TuneRunConfig:
    folder = given["storage_path"]
    given["storage_path"] = os.fspath(folder) if folder is not None else None
    given["failure_config"] = TuneFailureConfig(given["max_failures"], given["fail_fast"])
    given["callbacks"] = list(given["callbacks"] or [])
    return _of_arguments(TuneRunConfig, given)


def _analysis_of(results: ResultGrid, *, raises: bool) -> ExperimentAnalysis:
    """The analysis of an experiment. Raises TuneError if trials failed and `raises` is true."""
    if results.errors and raises:
        raise _failed(results)
    return ExperimentAnalysis(
        results.experiment_path,
        default_metric=results._metric,
        default_mode=results._mode,
        trials=list(results._trials),
    )


def _trainable(given: Any, resources: Any) -> Any:
    """One trainable, with what each of its trials holds."""
    if isinstance(given, (Experiment, list, tuple)):
        raise ValueError("tune.run takes one trainable: give Experiments to tune.run_experiments([...]).")
    trainable = given if isinstance(given, DataParallelTrainer) else checked(given)
    if resources is None:
        return trainable
    if requested_by(trainable) is not None:
        kind = TuneError if is_class(trainable) else ValueError  # as in Ray
        raise kind(
            "resources_per_trial and tune.with_resources (or default_resource_request of a class) both say what a "
            "trial holds: use one of them."
        )
    return with_resources(trainable, resources)  # type: ignore[arg-type]  # it checks


def _checkpoint_folder(given: Any) -> str:
    if given is None:
        return ""
    folder: str = os.path.abspath(os.path.expanduser(os.fspath(getattr(given, "path", given))))
    if not os.path.isdir(folder):
        raise ValueError(f"tune.run(restore={folder!r}): there is no such checkpoint. Give a checkpoint's folder.")
    return folder


_GOES_ON = {
    "ERRORED": ResumeConfig(errored="resume"),
    "ERRORED_ONLY": ResumeConfig(unfinished="skip", errored="resume"),
    "RESTART_ERRORED": ResumeConfig(errored="restart"),
    "RESTART_ERRORED_ONLY": ResumeConfig(unfinished="skip", errored="restart"),
}


def _tuner(
    trainable: Any, config: Any, tune: TuneConfig, run_config: TuneRunConfig, resume: Any, how: ResumeConfig | None
) -> Tuner:
    how = how or _goes_on(resume)
    folder = os.path.join(str(run_config.storage_path), run_config.name or "")
    if how is None or not run_config.name or not Tuner.can_restore(folder):
        if how is not None and run_config.name and not str(resume).startswith("AUTO"):
            given = f"resume={resume}" if resume else "resume_config=..."
            notify("tune", f"tune.run({given}): {folder} holds no experiment, so a new one begins, as in Ray.")
        return Tuner(trainable, param_space=config, tune_config=tune, run_config=run_config)
    return Tuner.restore(
        folder,
        trainable,
        param_space=config,
        _resume_config=how,
        tune_config=tune,
        run_config=run_config,
    )


def _goes_on(resume: Any) -> ResumeConfig | None:
    """Which trials of an earlier run go on; None for a new experiment."""
    kind, *more = str(resume or "").split("+")
    if kind in ("LOCAL", "REMOTE", "PROMPT", "ERRORED_ONLY"):
        raise DeprecationWarning(f"tune.run(resume={kind!r}) is gone, in Ray as well: give True, False or 'AUTO'.")
    if kind not in ("", "True", "AUTO") or not {*more} <= _GOES_ON.keys():
        raise ValueError(
            f"tune.run(resume={resume!r}) must be True, 'AUTO', 'AUTO+ERRORED', 'AUTO+ERRORED_ONLY', "
            "'AUTO+RESTART_ERRORED' or 'AUTO+RESTART_ERRORED_ONLY'."
        )
    if not kind:
        return None
    return _GOES_ON[more[-1]] if more else ResumeConfig()


def _failed(results: ResultGrid) -> TuneError:
    found = results.failures()
    grouped = [f"  {len(ids)} of {len(results)} ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''}): {words}"
               for words, ids in found.items()]  # fmt: skip
    error = TuneError(
        "Trials did not complete:\n" + "\n".join(grouped[:10]) + "\nThe others' results are in error.results; "
        "raise_on_failed_trial=False returns them."
    )
    error.results = results
    error.__cause__ = results.errors[0]
    return error


def _with_older(config: CheckpointConfig, others: dict[str, Any]) -> CheckpointConfig:
    """The config with what arguments of older names say; they are taken out of `others`."""
    given = {name: value for name in _OLDER if (value := others.pop(name, None)) not in (None, False, 0)}
    newer = {_OLDER[name]: value for name, value in given.items()}
    if given:
        words = ", ".join(f"{name}={value!r}" for name, value in newer.items())
        warnings.warn(
            f"tune.run({', '.join(given)}) will go: pass checkpoint_config=tune.CheckpointConfig({words}).",
            DeprecationWarning,
            stacklevel=3,
        )
    score = str(newer.get("checkpoint_score_attribute", ""))
    if score.startswith("min-"):
        newer |= {"checkpoint_score_attribute": score.removeprefix("min-"), "checkpoint_score_order": "min"}
    now = {each.name: getattr(config, each.name) for each in fields(config)} | newer
    now["checkpoint_at_end"] = bool(now["checkpoint_at_end"])  # a Tuner's default is another one
    return TuneCheckpointConfig(**now)


def _refuse(others: Mapping[str, Any]) -> None:
    if others.get("local_dir") is not None:
        raise DeprecationWarning("tune.run(local_dir=...) is gone, in Ray as well: pass storage_path=... instead.")
    for name, value in others.items():
        if name in _INSTEAD:
            if value not in (None, False, 0):
                raise NotImplementedError(f"tune.run({name}=...) is not here: {_INSTEAD[name]}.")
        elif name not in _ACCEPTED:
            known = list(run.__kwdefaults__ or {})
            raise TypeError(f"tune.run() has no argument {name!r}.{did_you_mean(name, known)}")


# ---- `tune.run_experiments`: several experiments, one after the other


Given = Experiment | Mapping[str, Any] | Sequence[Experiment | Mapping[str, Any]]


def run_experiments(experiments: Given, **options: Any) -> list[Trial]:
    """Run experiments one after the other; returns all their trials.

    experiments  an Experiment, a dict {"name": {"run": f, "config": {…}}}, or a list of these
    options      of tune.run, for all of them: scheduler, verbose, callbacks, resume, …; `concurrent` is accepted and
                 changes nothing

    >>> first = tune.Experiment("once", lambda config: {"loss": 1})
    >>> [trial.status for trial in tune.run_experiments(first)]
    ['TERMINATED']
    """
    options.pop("concurrent", None)
    found: list[Trial] = []
    for each in _listed(experiments):
        analysis = run(each.run, name=each.name, **{**each.spec, **options})
        found += analysis.trials
    return found


def _listed(given: Any) -> list[Experiment]:
    if isinstance(given, Experiment):
        return [given]
    if isinstance(given, Mapping):
        return [Experiment.from_json(name, spec) for name, spec in given.items()]
    if isinstance(given, (list, tuple)):
        return [one for each in given for one in _listed(each)]
    raise TypeError(f"run_experiments takes an Experiment, a dict of them by name, or a list, not {given!r}.")
