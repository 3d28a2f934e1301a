"""The errors of a training run, under Ray Train's names.

RayTrainError (RayError)
├── TrainingFailedError (also RuntimeError)      `fit()` did not finish; `.result` has the results so far
│   ├── WorkerGroupError                         workers failed: `.worker_failures`, by rank
│   └── ControllerError                          another cause: the worker group cannot be placed, or the storage failed
└── SessionMisuseError (also RuntimeError)       a worker's function called outside of a run
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbaccel.exceptions import RayError

if TYPE_CHECKING:
    from nbaccel.train.result import Result


class RayTrainError(RayError):
    """The base class of the errors that training raises."""


class TrainingFailedError(RayTrainError, RuntimeError):
    """A run did not finish.

    result  the results up to the failure: metrics, history and checkpoints
    """

    result: Result | None = None


class WorkerGroupError(TrainingFailedError):
    """Workers failed. `__cause__` is the exception of the first worker that failed.

    worker_failures  the exceptions by rank
    first_rank       the rank that failed first
    """

    def __init__(
        self, message: str, worker_failures: Mapping[int, BaseException] | None = None, first_rank: int = 0
    ) -> None:
        super().__init__(message)
        self.worker_failures = dict(worker_failures or {})
        self.first_rank = first_rank


class ControllerError(TrainingFailedError):
    """A run could not continue, and no worker caused it."""

    def __init__(self, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.controller_failure = cause


class SessionMisuseError(RayTrainError, RuntimeError):
    """A function such as `train.report` was called outside of a training function."""


class StopTraining(BaseException):
    """Raised in `report` when the run was asked to stop: `finally` blocks run, `except Exception` lets it pass."""


class TrialInterrupted(KeyboardInterrupt):
    """Raised by a `fit()` inside a trial whose run was interrupted together with the trial."""


def outside(name: str) -> SessionMisuseError:
    """The error of `report` and its siblings outside of a run."""
    hint = (
        "Ray Train's `train.torch.get_device()` needs a worker too"
        if name.startswith("get_device")
        else "call it in the function that you give to TorchTrainer or DataParallelTrainer"
    )
    return SessionMisuseError(f"`{name}` cannot be used outside of a training function: {hint}.")


def is_out_of_memory(kind: str) -> bool:
    """Whether an exception of this class says that a device has no memory left: torch's, CuPy's."""
    return kind in ("OutOfMemoryError", "CudaOutOfMemoryError")
