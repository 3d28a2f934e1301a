"""Result: the results of a run, in memory and in its folder. Fields as in Ray Train 2.60, plus a few of nbaccel."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from nbaccel.train.checkpoint import Checkpoint, filesystem_of
from nbaccel.train.configs import CheckpointConfig
from nbaccel.train.journal import Kept, rank_of, score_of
from nbaccel.train.storage import bring_here, read_run

if TYPE_CHECKING:
    from nbaccel.train.journal import Past
    from nbaccel.views.run_snapshot import RunSnapshot


@dataclass(repr=False)
class Result:
    """The results of a run.

    metrics           the metrics of the last report of rank 0, with or without a checkpoint (Ray Train keeps only
                      metrics with a checkpoint); None if nothing was reported
    checkpoint        the latest checkpoint, or None
    error             the error that ended the run, or None
    path              the run's folder
    best_checkpoints  the best checkpoints as (Checkpoint, metrics), from worst to best by their score, or else from
                      oldest to latest; at most `num_to_keep`
    return_value      the return value of the training function of rank 0
    history           not in Ray: every report of rank 0, as dicts of its metrics
    stopped           not in Ray: whether the run was stopped before its end

    >>> from nbaccel.train.data_parallel_trainer import DataParallelTrainer
    >>> result = DataParallelTrainer(lambda: train.report({"loss": 0.5})).fit()
    >>> result.metrics, result.error, Result.from_path(result.path).metrics
    ({'loss': 0.5}, None, {'loss': 0.5})
    """

    metrics: dict[str, Any] | None
    checkpoint: Checkpoint | None
    error: Exception | None
    path: str
    best_checkpoints: list[tuple[Checkpoint, dict[str, Any]]] = field(default_factory=list)
    return_value: Any = None
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False

    @property
    def filesystem(self) -> Any:
        """The local filesystem, as a pyarrow object; None without pyarrow."""
        return filesystem_of(self.path)

    @property
    def metrics_dataframe(self) -> Any:
        """Every report as a row of a pandas.DataFrame; None without a report. Raises ImportError without pandas."""
        if not self.history:
            return None
        import pandas

        return pandas.json_normalize(self.history, sep="/")

    @property
    def config(self) -> Any:
        raise DeprecationWarning("Result.config is gone, in Ray Train as well: you have what you gave to the trainer.")

    def get_best_checkpoint(self, metric: str, mode: str) -> Checkpoint:
        """The kept checkpoint with the best value of a metric ("eval/loss" is nested).

        `mode`: "max" or "min". Raises ValueError for another mode, RuntimeError if no kept checkpoint has the metric.
        """
        if not self.best_checkpoints:
            raise RuntimeError(f"There is no checkpoint in {self.path}: report(metrics, checkpoint=...) makes one.")
        if mode not in ("max", "min"):
            raise ValueError(f"mode must be 'max' or 'min', not {mode!r}.")
        scores = [(score_of(metrics, metric), checkpoint) for checkpoint, metrics in self.best_checkpoints]
        found = [(score, checkpoint) for score, checkpoint in scores if score is not None]
        if not found:
            known = sorted({name for _, metrics in self.best_checkpoints for name in metrics})
            raise RuntimeError(f"No checkpoint was reported with a metric {metric!r}; there are: {', '.join(known)}.")
        return (max if mode == "max" else min)(found, key=lambda pair: pair[0])[1]

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], storage_filesystem: Any = None) -> Result:
        """Read the result of a run from its folder, which may have been moved, or from remote storage.

        Checkpoints in remote storage are downloaded. Raises FileNotFoundError if there is no run.
        """
        folder = bring_here(os.fspath(path), storage_filesystem)
        past = read_run(folder)
        error = RuntimeError(past.error) if past.ended == "failed" else None
        return of_run(str(folder), past, past.keeps, error=error)

    def __repr__(self) -> str:
        lines = [f"Result(metrics={self.metrics!r}", f"path={self.path!r}"]
        if self.checkpoint is not None:
            lines.append(f"checkpoint={self.checkpoint!r}")
        if self.error is not None:
            lines.append(f"error={type(self.error).__name__}")
        return ", ".join(lines) + ")"

    def snapshot(self) -> RunSnapshot:
        """What a notebook shows: the last metrics, curves of all reports, the path and the checkpoints."""
        from nbaccel.train.run_facts import snapshot_of_result

        return snapshot_of_result(self)

    def _repr_html_(self) -> str:
        """A small table; nbaccel's own card takes its place in IPython."""
        facts = {"metrics": self.metrics, "checkpoint": self.checkpoint and self.checkpoint.path, "path": self.path}
        rows = "".join(
            f"<tr><th>{name}</th><td>{escape(str(value))}</td></tr>" for name, value in facts.items() if value
        )
        return f"<table>{rows}</table>"


def of_run(
    folder: str, past: Past, config: CheckpointConfig, *, error: Exception | None = None, return_value: Any = None
) -> Result:
    """The result of a run whose journal says `past`."""
    latest = past.kept[-1] if past.kept else None
    ranked = sorted(past.kept, key=lambda each: rank_of(each, config))[-(config.num_to_keep or 0) :]
    return Result(
        metrics=past.reports[-1]["metrics"] if past.reports else None,
        checkpoint=_checkpoint(folder, latest) if latest is not None else None,
        error=error,
        path=folder,
        best_checkpoints=[(_checkpoint(folder, each), each.metrics) for each in ranked],
        return_value=return_value,
        history=[each["metrics"] for each in past.reports],
        stopped=past.ended == "stopped",
    )


def _checkpoint(folder: str, kept: Kept) -> Checkpoint:
    return Checkpoint(os.path.join(folder, kept.folder))
