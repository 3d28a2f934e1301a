"""Training: run your function in a group of workers on the devices that they hold. Names of Ray Train 2.60.

```
  trainer ─► run ─► controller      decides: events in, orders out; no clock, no process
              │
              ├─► worker_group, mailbox     a placement group, an actor in each bundle, and one that they report to
              │     └── worker ─► session: report(), get_checkpoint(), get_context()
              └─► records ─► journal, storage      the run's records, in one folder
  torch/    config: process groups and devices · train_loop_utils: models and data loaders
```
All of it stands on the public API (placement groups and actors), so it runs on every engine that has several processes.
Nothing here needs torch but `nbaccel.train.torch`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from nbaccel import elsewhere

if TYPE_CHECKING:
    from nbaccel.train import collective
    from nbaccel.train.checkpoint import Checkpoint
    from nbaccel.train.configs import (
        BackendConfig,
        CheckpointConfig,
        FailureConfig,
        LoggingConfig,
        RunConfig,
        ScalingConfig,
        UserCallback,
    )
    from nbaccel.train.datasets import TRAIN_DATASET_KEY, DataConfig
    from nbaccel.train.errors import ControllerError, RayTrainError, TrainingFailedError, WorkerGroupError
    from nbaccel.train.result import Result
    from nbaccel.train.session import (
        CheckpointConsistencyMode,
        CheckpointUploadMode,
        ReportedCheckpoint,
        ReportedCheckpointStatus,
        TrainContext,
        get_all_reported_checkpoints,
        get_checkpoint,
        get_context,
        get_dataset_shard,
        get_preemption_info,
        report,
        stop_requested,
    )

__all__ = [
    "TRAIN_DATASET_KEY",
    "BackendConfig",
    "Checkpoint",
    "CheckpointConfig",
    "CheckpointConsistencyMode",
    "CheckpointUploadMode",
    "ControllerError",
    "DataConfig",
    "FailureConfig",
    "LoggingConfig",
    "RayTrainError",
    "ReportedCheckpoint",
    "ReportedCheckpointStatus",
    "Result",
    "RunConfig",
    "ScalingConfig",
    "TrainContext",
    "TrainingFailedError",
    "UserCallback",
    "WorkerGroupError",
    "collective",
    "get_all_reported_checkpoints",
    "get_checkpoint",
    "get_context",
    "get_dataset_shard",
    "get_preemption_info",
    "report",
    "stop_requested",
]

_HOMES = {
    "BackendConfig": "configs",
    "Checkpoint": "checkpoint",
    "CheckpointConfig": "configs",
    "CheckpointConsistencyMode": "session",
    "CheckpointUploadMode": "session",
    "ControllerError": "errors",
    "DataConfig": "datasets",
    "FailureConfig": "configs",
    "LoggingConfig": "configs",
    "RayTrainError": "errors",
    "ReportedCheckpoint": "session",
    "ReportedCheckpointStatus": "session",
    "Result": "result",
    "RunConfig": "configs",
    "ScalingConfig": "configs",
    "TRAIN_DATASET_KEY": "datasets",
    "TrainContext": "session",
    "TrainingFailedError": "errors",
    "UserCallback": "configs",
    "WorkerGroupError": "errors",
    "get_all_reported_checkpoints": "session",
    "get_checkpoint": "session",
    "get_context": "session",
    "get_dataset_shard": "session",
    "get_preemption_info": "session",
    "report": "session",
    "stop_requested": "session",
}
_ROOMS = ("backend", "collective", "constants", "context", "data_parallel_trainer", "torch", "v2")
_ELSEWHERE = {
    "Trainer": "write nbaccel.train.torch.TorchTrainer(train_func, scaling_config=ScalingConfig(num_workers=2, "
    "use_gpu=True)).fit(), with report() inside of train_func.",
    "ValidationConfig": "call your validation as a task: validate.remote(checkpoint).",
    "ValidationTaskConfig": "call your validation as a task: validate.remote(checkpoint).",
    "ValidationFn": "call your validation as a task: validate.remote(checkpoint).",
    "world_rank": "write get_context().get_world_rank().",
    "local_rank": "write get_context().get_local_rank().",
    "world_size": "write get_context().get_world_size().",
    "load_checkpoint": "write get_checkpoint(), and Checkpoint.as_directory() or .load() of what it returns.",
    "save_checkpoint": "write report(metrics, checkpoint=Checkpoint.from_directory(folder)).",
    "SyncConfig": "checkpoints are written to RunConfig(storage_path=...) by themselves; Ray Train has none any more.",
    "PreemptionInfo": "get_preemption_info() is always None: a node that is taken back counts as a failure.",
    "PreemptionError": "a node that is taken back counts as a failure: FailureConfig(max_failures=...).",
    "NCCLHangError": "a run that hangs is told where each rank stands.",
}


def __getattr__(name: str) -> Any:
    """A name is loaded when it is first used: `import nbaccel.train` loads nothing else."""
    if name in _HOMES:
        found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        return globals().setdefault(name, found)  # `train.report` in a loop is looked up once
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ELSEWHERE:
        return globals().setdefault(name, elsewhere.refusing(__name__, name, _ELSEWHERE[name]))
    raise elsewhere.no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
