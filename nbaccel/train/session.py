"""The functions that a training function may call: `report`, `get_checkpoint`, `get_context`.

A *session* exists while a training function runs in this process: the session of a rank in a worker, or a local one
with `num_workers=0`. Without a session the functions raise an error, as in Ray Train.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.datasets import DataConfig, Datasets, Shard
from nbaccel.train.errors import outside
from nbaccel.train.journal import Kept
from nbaccel.train.ranks import Seat
from nbaccel.views.sinks import notify


class CheckpointUploadMode(Enum):
    """How the files of a reported checkpoint reach the run's folder.

    SYNC       the files are in the run's folder when `report` returns
    ASYNC      the same as SYNC, because a copy on this machine's disk is fast
    NO_UPLOAD  `report` raises NotImplementedError: a run resumes only from checkpoints in its own folder
    """

    ASYNC = "ASYNC"
    SYNC = "SYNC"
    NO_UPLOAD = "NO_UPLOAD"

    def default_delete_local_checkpoint_after_upload(self) -> bool:
        """Whether `report` deletes the folder it was given, if nothing else is said; as in Ray."""
        return self is CheckpointUploadMode.ASYNC


class CheckpointConsistencyMode(Enum):
    """What get_all_reported_checkpoints() waits for; here always the commit, since nothing is validated."""

    COMMITTED = "COMMITTED"
    VALIDATED = "VALIDATED"


class ReportedCheckpointStatus(Enum):
    """Ray's states of a checkpoint; here each is COMMITTED."""

    COMMITTED = "COMMITTED"
    PENDING_VALIDATION = "PENDING_VALIDATION"
    VALIDATED = "VALIDATED"
    VALIDATION_TIMEOUT = "VALIDATION_TIMEOUT"
    VALIDATION_FAILED = "VALIDATION_FAILED"


@dataclass
class ReportedCheckpoint:
    """A checkpoint that is kept, with the metrics of its report."""

    checkpoint: Checkpoint
    metrics: dict[str, Any]
    status: ReportedCheckpointStatus = ReportedCheckpointStatus.COMMITTED


class Session(Protocol):
    """The implementation of this module's functions."""

    seat: Seat
    run_name: str
    device_kinds: dict[str, str]  # "real", "logical" or "simulated", by resource
    restarts: tuple[int, int]  # of the worker group, and how many there may be; -1: without end

    @property
    def run_folder(self) -> str: ...

    def report(self, metrics: Metrics, checkpoint: Checkpoint | None, *, move: bool, name: str = "") -> None:
        """Report; `name`: of the checkpoint's folder, "" for one that follows from the report."""

    def reported_checkpoints(self, timeout_s: float | None) -> list[Kept]:
        """Those that are kept. Waits for the commit of the last one that this rank has brought; raises TimeoutError."""

    def latest_checkpoint(self) -> Checkpoint | None: ...

    def meet(self, kind: str, value: Any) -> Any:
        """Wait until all ranks have called this equally often for this kind; returns rank 0's value."""

    def stop_requested(self) -> bool: ...

    def connected(self, backend: str) -> None:
        """Tell the run's views which backend connects the ranks."""

    def notify(self, sentence: str) -> None:
        """Tell the user something, once."""


_session: Session | None = None
_datasets = Datasets({}, DataConfig())


def enter(session: Session | None, datasets: Datasets | None = None) -> None:
    """Set the session of this process, with the datasets of its trainer; None when the function has ended."""
    global _session, _datasets
    _session = session
    _datasets = datasets or Datasets({}, DataConfig())


def entered() -> tuple[Session | None, Datasets]:
    """What `enter` was last given, to be entered again: a function in this process may run inside of another one."""
    return _session, _datasets


def current(name: str) -> Session:
    """The session, for the function of this name. Raises SessionMisuseError where there is none."""
    if _session is None:
        raise outside(name)
    return _session


def is_there() -> bool:
    return _session is not None


def report(
    metrics: Metrics,
    checkpoint: Checkpoint | None = None,
    checkpoint_dir_name: str | None = None,
    checkpoint_upload_mode: CheckpointUploadMode = CheckpointUploadMode.SYNC,
    delete_local_checkpoint_after_upload: bool | None = None,
    checkpoint_upload_fn: Callable[..., Any] | None = None,
    validation: Any = False,
) -> None:
    """Report metrics to the driver, optionally with a checkpoint.

    metrics     a dict of numbers, texts and booleans, also nested; scalars of numpy and tensors of one number are
                converted. The run's metrics are those of rank 0
    checkpoint  a folder; its files are in the run's folder when this returns. Each rank may add a part of the files
    checkpoint_dir_name  the name of the checkpoint's folder in the run's folder; an earlier one of this name is
                replaced. If ranks give different names, the first report to arrive decides
    delete_local_checkpoint_after_upload  by default only with ASYNC, as in Ray

    Without a checkpoint this returns in microseconds. It does not wait for other ranks (Ray Train's `report` does),
    except with CheckpointConfig(num_to_keep=...): a rank's checkpoint then waits until its previous one is complete.
    Ranks that report checkpoints must call it equally often; the others need not. If the run was stopped, this raises
    `StopTraining` once the report is sent.

    Raises ValueError for metrics of other types, FileNotFoundError if the folder is missing, and SessionMisuseError
    outside of a training function.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func(config):
    ...     for epoch in range(config["epochs"]):
    ...         train.report({"loss": 1 / (epoch + 1)})
    >>> DataParallelTrainer(train_func, train_loop_config={"epochs": 2}).fit().metrics
    {'loss': 0.5}
    """
    current("report")
    if checkpoint_upload_fn is not None:
        raise NotImplementedError(
            "train.report(checkpoint_upload_fn=...) is not here: the run copies the files itself, and keeps a copy in "
            'RunConfig(storage_path="s3://...") if that is a URL. Leave the argument out.'
        )
    if validation:
        raise NotImplementedError(
            "train.report(validation=...) is not here: call your validation as a task, validate.remote(checkpoint)."
        )
    if checkpoint_upload_mode is CheckpointUploadMode.NO_UPLOAD:
        raise NotImplementedError(
            "train.report(checkpoint_upload_mode=NO_UPLOAD) is not here: a run continues only from checkpoints in its "
            "own folder. Leave it out; the folder that you report may be deleted once report() has returned."
        )
    delete = delete_local_checkpoint_after_upload
    if delete is None:
        delete = checkpoint_upload_mode.default_delete_local_checkpoint_after_upload()
    report_as("train.report()", metrics, checkpoint, delete, checkpoint_dir_name)


def report_as(
    who: str,
    metrics: Metrics,
    checkpoint: Checkpoint | None = None,
    delete: bool = False,
    name: str | None = None,
) -> None:
    """`report` for a caller whose name messages say."""
    session = current("report")
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        raise ValueError(
            f"{who.removesuffix('()')}(checkpoint=...) takes a Checkpoint, not {checkpoint!r}: write "
            "Checkpoint.from_directory(folder)."
        )
    if name is not None:
        _check_folder(name)
    _report(session, plain(metrics, who), checkpoint, delete, name or "")


def _check_folder(name: Any) -> None:
    if not isinstance(name, str) or not name or name.startswith(".") or "/" in name or "\0" in name:
        raise ValueError(
            f"checkpoint_dir_name={name!r} must be the name of a folder, without '/' and not beginning with a dot."
        )


def _report(session: Session, metrics: Metrics, checkpoint: Checkpoint | None, delete: bool, name: str) -> None:
    if checkpoint is None:
        session.report(metrics, None, move=False)
        return
    move = delete or checkpoint._is_for_one_report
    try:
        session.report(metrics, checkpoint, move=move, name=name)
    finally:
        if move:
            shutil.rmtree(checkpoint.path, ignore_errors=True)


def get_checkpoint() -> Checkpoint | None:
    """The checkpoint to continue from: the latest of this run or of an earlier run of this name. None in a new run.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     checkpoint = train.get_checkpoint()
    ...     epoch = checkpoint.load()["epoch"] + 1 if checkpoint else 0
    ...     train.report({"epoch": epoch}, checkpoint=train.Checkpoint.save({"epoch": epoch}))
    >>> DataParallelTrainer(train_func).fit().checkpoint.load()
    {'epoch': 0}
    """
    return current("get_checkpoint").latest_checkpoint()


def get_all_reported_checkpoints(
    consistency_mode: CheckpointConsistencyMode = CheckpointConsistencyMode.VALIDATED, timeout_s: float | None = None
) -> list[ReportedCheckpoint]:
    """The checkpoints that are kept, oldest first, with the metrics of their reports.

    Waits until this rank's last checkpoint is committed, that is, all ranks have sent its report. Raises TimeoutError
    after `timeout_s`.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     for epoch in range(2):
    ...         train.report({"epoch": epoch}, checkpoint=train.Checkpoint.save(epoch))
    ...     train.report({"kept": len(train.get_all_reported_checkpoints())})
    >>> DataParallelTrainer(train_func).fit().metrics
    {'kept': 2}
    """
    session = current("get_all_reported_checkpoints")
    return [
        ReportedCheckpoint(Checkpoint(os.path.join(session.run_folder, each.folder)), each.metrics)
        for each in session.reported_checkpoints(timeout_s)
    ]


def get_dataset_shard(dataset_name: str | None = None) -> Shard:
    """This rank's part of a dataset that the trainer was given: `datasets={"train": ...}`.

    The name may be left out if there is only one. Raises KeyError for an unknown name.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     train.report({"rows": sum(map(len, train.get_dataset_shard("train").iter_batches(batch_size=2)))})
    >>> two = train.ScalingConfig(num_workers=2)
    >>> DataParallelTrainer(train_func, datasets={"train": list(range(10))}, scaling_config=two).fit().metrics
    {'rows': 5}
    """
    seat = current("get_dataset_shard").seat
    return _datasets.shard(dataset_name, seat.rank, seat.world_size)


def stop_requested() -> bool:
    """Whether the run was stopped (not in Ray), so that the function can return before `report` ends it.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     step = 0
    ...     while step < 3 and not train.stop_requested():
    ...         step += 1
    ...     train.report({"steps": step})
    >>> DataParallelTrainer(train_func).fit().metrics
    {'steps': 3}
    """
    return current("stop_requested").stop_requested()


def get_preemption_info() -> None:
    """Always None: nbaccel treats a preempted node as a failure."""
    current("get_preemption_info")


class TrainContext:
    """The rank of this worker, and the sizes of its worker group.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     here = train.get_context()
    ...     train.report({"local": here.get_local_rank(), "node": here.get_node_rank()})
    >>> DataParallelTrainer(train_func).fit().metrics
    {'local': 0, 'node': 0}
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_world_size(self) -> int:
        """The number of workers."""
        return self._session.seat.world_size

    def get_world_rank(self) -> int:
        """The rank of this worker among all, from 0."""
        return self._session.seat.rank

    def get_local_rank(self) -> int:
        """The rank among the workers of this node."""
        return self._session.seat.local_rank

    def get_local_world_size(self) -> int:
        """The number of workers on this node."""
        return self._session.seat.local_world_size

    def get_node_rank(self) -> int:
        """The number of this node among those of the run, from 0."""
        return self._session.seat.node_rank

    def get_experiment_name(self) -> str:
        """The name of the run."""
        return self._session.run_name

    def get_trial_dir(self) -> str:
        """The run's folder, for files of your own. Ray Train's version 1 had this name."""
        return self._session.run_folder

    def get_storage(self) -> Any:
        raise NotImplementedError("TrainContext.get_storage() is not here: get_trial_dir() is the run's folder.")

    def _gone(self, name: str) -> Any:
        raise DeprecationWarning(
            f"TrainContext.{name}() is gone, in Ray Train as well: a training run is no trial. "
            "get_experiment_name() is the name of the run."
        )

    def get_metadata(self) -> Any:
        return self._gone("get_metadata")

    def get_trial_name(self) -> Any:
        return self._gone("get_trial_name")

    def get_trial_id(self) -> Any:
        return self._gone("get_trial_id")

    def get_trial_resources(self) -> Any:
        return self._gone("get_trial_resources")


def get_context() -> TrainContext:
    """The rank of this worker, and the sizes of its group. Raises SessionMisuseError outside of a training function.

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> def train_func():
    ...     here = train.get_context()
    ...     train.report({"rank": here.get_world_rank(), "of": here.get_world_size()})
    >>> DataParallelTrainer(train_func, scaling_config=train.ScalingConfig(num_workers=2)).fit().metrics
    {'rank': 0, 'of': 2}
    """
    return TrainContext(current("get_context"))


# ---- the metrics of a report as plain data


Metrics = dict[str, Any]
_LARGEST_TEXT = 10_000  # characters of one text; a metric is drawn and kept in memory
_MOST_BITS = 1_000  # of an int: a float can be made of it
_notified: set[str] = set()  # the metrics of this process whose texts were cut


def plain(metrics: Any, who: str = "train.report()") -> Metrics:
    """The metrics as plain data. Raises ValueError unless they are a dict with texts as keys and allowed values.

    who  was given them, for the error: the function that the user has called
    """
    if not isinstance(metrics, Mapping):
        raise ValueError(f"{who} takes a dict of metrics, not {type(metrics).__name__}.")
    return {_key(key, who): _plain(str(key), value, who) for key, value in metrics.items()}


def packed(metrics: Metrics) -> bytes:
    """Plain metrics as bytes: a call with bytes is sent in half the time of one with nested dicts, which are searched
    for refs and classes.
    """
    return pickle.dumps(metrics, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Metrics:
    metrics: Metrics = pickle.loads(data)
    return metrics


def _key(key: Any, who: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"{who}: the names of metrics are texts, not {key!r}.")
    return key


def _plain(path: str, value: Any, who: str) -> Any:
    if value is None or type(value) in (bool, float):
        return value
    if type(value) is int:
        return _int(path, value, who)
    if isinstance(value, str):
        return value if len(value) <= _LARGEST_TEXT else _cut(path, value, who)
    if isinstance(value, Mapping):
        return {_key(key, who): _plain(f"{path}/{key}", inner, who) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(f"{path}[{index}]", inner, who) for index, inner in enumerate(value)]
    return _number(path, value, who)


def _int(path: str, value: int, who: str) -> int:
    if value.bit_length() > _MOST_BITS:
        raise ValueError(
            f"{who}: the metric {path!r} is an int of {value.bit_length():,} bits, too large to be drawn or "
            "compared. Report it as a text, str(value)."
        )
    return value


def _cut(path: str, text: str, who: str) -> str:
    """The text's beginning. Says so once for each metric: the same metric of the next report is as long."""
    if path not in _notified:
        _notified.add(path)
        notify(
            "train",
            f"{who}: the metric {path!r} is a text of {len(text):,} characters, of which the first "
            f"{_LARGEST_TEXT:,} are kept. Put longer texts into a file of a checkpoint.",
        )
    return text[:_LARGEST_TEXT]


def _number(path: str, value: Any, who: str) -> Any:
    """The number in a scalar of numpy or torch, recognised by its methods, so that neither has to be imported."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", None) is not None:
        count = value.size if isinstance(value.size, int) else getattr(value, "numel", lambda: 0)()
        if count == 1:
            found = item()
            if isinstance(found, (bool, int, float, str)):
                return found
        raise ValueError(
            f"{who}: the metric {path!r} is a {type(value).__module__}.{type(value).__name__} of {count} "
            "values. Report single numbers, such as loss.item() or x.mean().item()."
        )
    if isinstance(value, (int, float)):  # subclasses, such as IntEnum
        return float(value) if isinstance(value, float) else int(value)
    raise ValueError(
        f"{who}: the metric {path!r} is a {type(value).__name__}, {_short(value)}. Report numbers, texts, "
        "booleans, and dicts or lists of these; files go into a checkpoint."
    )


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's own __repr__
        return f"whose repr raises {type(error).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
