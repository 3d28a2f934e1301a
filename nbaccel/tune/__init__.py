"""Tuning: many trials of one function, with different parameters, on the devices that they hold.

The names are those of Ray Tune 2.60.

```
  tuner ─► setting_up ─► runner ─► trial_decisions  decides, with a scheduler and a stopper; no clock, no process
             └── search    ├─► trial_session               a task for each trial, an actor that they report to;
                           │        │                      run_trial(), report(), get_checkpoint(), get_context()
                           │        └── TrainerTrial: a trainer's workers, whose reports go on to the trial
                           └─► experiment_journal          one append-only file; goes on after a crash
  result_grid ◄── trial records
```
It stands on `nbaccel.train`'s configs, session, checkpoints and storage, and on the public API. Nothing here needs more
than the standard library; pandas is imported by the methods that return a DataFrame.
"""

import importlib
from typing import TYPE_CHECKING, Any

from nbaccel import elsewhere

if TYPE_CHECKING:
    from nbaccel.train.checkpoint import Checkpoint
    from nbaccel.tune.error import TuneError
    from nbaccel.tune.logger import Callback
    from nbaccel.tune.resources import PlacementGroupFactory, with_parameters, with_resources
    from nbaccel.tune.result_grid import ExperimentAnalysis, ResultGrid
    from nbaccel.tune.result_grid import TrialResult as Result
    from nbaccel.tune.result_tables import CLIReporter, JupyterNotebookReporter, ProgressReporter
    from nbaccel.tune.schedulers import create_scheduler
    from nbaccel.tune.search import create_searcher
    from nbaccel.tune.search.sample import (
        choice,
        grid_search,
        lograndint,
        loguniform,
        qlograndint,
        qloguniform,
        qrandint,
        qrandn,
        quniform,
        randint,
        randn,
        sample_from,
        uniform,
    )
    from nbaccel.tune.stopper import Stopper
    from nbaccel.tune.trainable import Trainable, register_trainable
    from nbaccel.tune.trial_session import TuneContext, get_checkpoint, get_context, report
    from nbaccel.tune.tune_config import ResumeConfig, SyncConfig, TuneConfig
    from nbaccel.tune.tune_config import TuneCheckpointConfig as CheckpointConfig
    from nbaccel.tune.tune_config import TuneFailureConfig as FailureConfig
    from nbaccel.tune.tune_config import TuneRunConfig as RunConfig
    from nbaccel.tune.tuner import Experiment, Tuner, run, run_experiments
    from nbaccel.views.stored_runs import runs

__all__ = [
    "CLIReporter",
    "Callback",
    "Checkpoint",
    "CheckpointConfig",
    "Experiment",
    "ExperimentAnalysis",
    "FailureConfig",
    "JupyterNotebookReporter",
    "PlacementGroupFactory",
    "ProgressReporter",
    "Result",
    "ResultGrid",
    "ResumeConfig",
    "RunConfig",
    "Stopper",
    "SyncConfig",
    "Trainable",
    "TuneConfig",
    "TuneContext",
    "TuneError",
    "Tuner",
    "choice",
    "create_scheduler",
    "create_searcher",
    "get_checkpoint",
    "get_context",
    "grid_search",
    "lograndint",
    "loguniform",
    "qlograndint",
    "qloguniform",
    "qrandint",
    "qrandn",
    "quniform",
    "randint",
    "randn",
    "register_trainable",
    "report",
    "run",
    "run_experiments",
    "runs",
    "sample_from",
    "uniform",
    "with_parameters",
    "with_resources",
]

_HOMES = {
    "CLIReporter": "nbaccel.tune.result_tables",
    "Callback": "nbaccel.tune.logger",
    "Checkpoint": "nbaccel.train.checkpoint",
    "CheckpointConfig": "nbaccel.tune.tune_config",
    "Experiment": "nbaccel.tune.tuner",
    "ExperimentAnalysis": "nbaccel.tune.result_grid",
    "FailureConfig": "nbaccel.tune.tune_config",
    "JupyterNotebookReporter": "nbaccel.tune.result_tables",
    "PlacementGroupFactory": "nbaccel.tune.resources",
    "ProgressReporter": "nbaccel.tune.result_tables",
    "Result": "nbaccel.tune.result_grid",
    "ResultGrid": "nbaccel.tune.result_grid",
    "ResumeConfig": "nbaccel.tune.tune_config",
    "RunConfig": "nbaccel.tune.tune_config",
    "Stopper": "nbaccel.tune.stopper",
    "SyncConfig": "nbaccel.tune.tune_config",
    "Trainable": "nbaccel.tune.trainable",
    "TuneConfig": "nbaccel.tune.tune_config",
    "TuneContext": "nbaccel.tune.trial_session",
    "TuneError": "nbaccel.tune.error",
    "Tuner": "nbaccel.tune.tuner",
    "choice": "nbaccel.tune.search.sample",
    "runs": "nbaccel.views.stored_runs",
    "create_scheduler": "nbaccel.tune.schedulers",
    "create_searcher": "nbaccel.tune.search",
    "get_checkpoint": "nbaccel.tune.trial_session",
    "get_context": "nbaccel.tune.trial_session",
    "grid_search": "nbaccel.tune.search.sample",
    "lograndint": "nbaccel.tune.search.sample",
    "loguniform": "nbaccel.tune.search.sample",
    "qlograndint": "nbaccel.tune.search.sample",
    "qloguniform": "nbaccel.tune.search.sample",
    "qrandint": "nbaccel.tune.search.sample",
    "qrandn": "nbaccel.tune.search.sample",
    "quniform": "nbaccel.tune.search.sample",
    "randint": "nbaccel.tune.search.sample",
    "randn": "nbaccel.tune.search.sample",
    "register_env": "nbaccel.tune.trainable",
    "register_trainable": "nbaccel.tune.trainable",
    "report": "nbaccel.tune.trial_session",
    "run": "nbaccel.tune.tuner",
    "run_experiments": "nbaccel.tune.tuner",
    "sample_from": "nbaccel.tune.search.sample",
    "uniform": "nbaccel.tune.search.sample",
    "with_parameters": "nbaccel.tune.resources",
    "with_resources": "nbaccel.tune.resources",
}
_OUR_NAMES = {"Result": "TrialResult"} | {
    name: f"Tune{name}" for name in ("CheckpointConfig", "FailureConfig", "RunConfig")
}
_ROOMS = (
    "analysis", "callback", "error", "execution", "experiment", "integration", "logger", "progress_reporter",
    "registry", "result", "result_grid", "schedulers", "search", "stopper", "syncer", "trainable", "tune_config",
    "tuner", "utils",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """A name is loaded when it is first used: `import nbaccel.tune` loads nothing else."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), _OUR_NAMES.get(name, name))
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
