"""`tune.run`: an experiment in one call, as in Ray Tune."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any

from nbaccel.handles.option_checks import did_you_mean
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.tune.analysis import ExperimentAnalysis
from nbaccel.tune.callback import Callback
from nbaccel.tune.error import TuneError
from nbaccel.tune.experiment import Experiment
from nbaccel.tune.progress_reporter import ProgressReporter
from nbaccel.tune.resources import PlacementGroupFactory, asked_by, with_resources
from nbaccel.tune.result_grid import ResultGrid
from nbaccel.tune.schedulers.trial_scheduler import TrialScheduler
from nbaccel.tune.stopper import Stopper
from nbaccel.tune.trainables import checked, is_class
from nbaccel.tune.trial import Trial
from nbaccel.tune.tune_config import (
    ResumeConfig,
    SyncConfig,
    TuneCheckpointConfig,
    TuneConfig,
    TuneFailureConfig,
    TuneRunConfig,
)
from nbaccel.tune.tuner import Tuner
from nbaccel.views.sinks import notify

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

    run_or_experiment    a function, a class of trainables, the name of a registered one, a trainer, or an Experiment
    config               the search space
    resources_per_trial  what each trial holds, as for tune.with_resources: {"cpu": 2, "gpu": 2}
    restore              a checkpoint from which each trial begins
    export_formats       what a class of trainables is to export at the end of a trial
    resume               True or "AUTO": go on with the experiment of this name ("AUTO+ERRORED": with its failed trials
                         too, "AUTO+ERRORED_ONLY": with no others, "AUTO+RESTART_ERRORED": from their beginning);
                         resume_config says more exactly what goes on

    Raises TuneError if trials failed, unless raise_on_failed_trial is False; `.results` has what they reported.

    >>> def train_model(config): return {"loss": config["x"] ** 2}
    >>> tune.run(train_model, config={"x": tune.grid_search([-1, 0, 1])}, metric="loss", mode="min").best_config
    {'x': 0}
    """
    checkpoint_config = _with_older(checkpoint_config or TuneCheckpointConfig(), others)
    _refuse(others)
    trainable = _trainable(run_or_experiment, resources_per_trial)
    tune = TuneConfig(
        mode,
        metric,
        search_alg,
        scheduler,
        num_samples,
        max_concurrent_trials,
        time_budget_s,
        reuse_actors,
        trial_name_creator,
        trial_dirname_creator,
        chdir_to_trial_dir,
    )
    run_config = TuneRunConfig(
        name,
        os.fspath(storage_path) if storage_path is not None else None,
        storage_filesystem,
        failure_config=TuneFailureConfig(max_failures, fail_fast),
        checkpoint_config=checkpoint_config,
        callbacks=list(callbacks or []),
        stop=stop,
        verbose=verbose,
        progress_reporter=progress_reporter,
        log_to_file=log_to_file,
        sync_config=sync_config,
    )
    tuner = _tuner(trainable, config, tune, run_config, resume, resume_config)
    tuner._wanted.exports = tuple(export_formats or ())
    tuner._wanted.begins_from = _checkpoint_folder(restore)
    results = tuner.fit()
    if results.errors and raise_on_failed_trial:
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
    if asked_by(trainable) is not None:
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
            notify("tune", f"tune.run(resume=True): {folder} holds no experiment, so a new one begins, as in Ray.")
        return Tuner(trainable, param_space=config, tune_config=tune, run_config=run_config)
    return Tuner.restore(
        folder,
        trainable,
        resume_unfinished=how.unfinished is ResumeConfig.ResumeType.RESUME,
        resume_errored=how.errored is ResumeConfig.ResumeType.RESUME,
        restart_errored=how.errored is ResumeConfig.ResumeType.RESTART,
        param_space=config,
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
    options      of tune.run, for all: scheduler, verbose, callbacks, resume, …; concurrent is accepted, as they wait
                 for each other's resources in either case

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
