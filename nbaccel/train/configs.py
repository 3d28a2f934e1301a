"""RunConfig and its parts: the folder of a run, its reaction to failures, and which checkpoints stay.

Fields, defaults and errors are those of Ray Train 2.60; a docstring names each difference.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from nbaccel.train.callbacks import UserCallback
from nbaccel.train.checkpoint import fsspec_for, is_remote

STORAGE_VARIABLE = "NBACCEL_STORAGE"
_LONGEST_NAME = 240  # bytes; a file system takes 255, and a second run of a name is "name-2"
DEFAULT_STORAGE = "~/nbaccel_results"


class _OnlyWhatWasGiven:
    """A repr that shows only fields that differ from their defaults."""

    def __repr__(self) -> str:
        given = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)  # type: ignore[arg-type]
            if each.repr and getattr(self, each.name) != each.default and getattr(self, each.name) != _made(each)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


def _made(each: Any) -> Any:
    return each.default_factory() if callable(each.default_factory) else each.default


@dataclass(repr=False)
class FailureConfig(_OnlyWhatWasGiven):
    """How often a run continues after a worker failed: the gang starts again from the latest checkpoint.

    max_failures  -1: without limit; 0, the default: never

    The other fields are Ray's for its own controller and for nodes that a provider takes back; they are accepted and
    change nothing, since nbaccel's controller lives in your process and a lost node counts as a failure.

    >>> RunConfig(failure_config=FailureConfig(max_failures=3)).failure_config.max_failures
    3
    """

    max_failures: int = 0
    fail_fast: bool | str | None = None
    controller_failure_limit: int = -1
    max_preemption_failures: int = -1
    relax_collectives_on_preemption: bool = False
    preemption_grace_s: float = 0.0

    def __post_init__(self) -> None:
        if self.fail_fast is not None:
            raise DeprecationWarning(
                "FailureConfig(fail_fast=...) is of trials, as in Ray: use nbaccel.tune.FailureConfig. A training run "
                "ends at its first failure without it, unless max_failures says otherwise."
            )
        self._check_failures()

    def _check_failures(self) -> None:
        if not isinstance(self.max_failures, int) or self.max_failures < -1:
            raise ValueError(
                f"FailureConfig(max_failures={self.max_failures!r}) must be an int: 0 for never, a number of "
                "restarts, or -1 for as many as it takes."
            )


@dataclass(repr=False)
class CheckpointConfig(_OnlyWhatWasGiven):
    """Which checkpoints stay on disk.

    num_to_keep                 None: all of them; the latest one always stays besides
    checkpoint_score_attribute  a reported metric: the checkpoints with the best values stay. Else the latest stay.
                                A checkpoint whose metric is missing or NaN counts as the worst
    checkpoint_score_order      "max" or "min"

    >>> best = CheckpointConfig(num_to_keep=2, checkpoint_score_attribute="loss", checkpoint_score_order="min")
    """

    num_to_keep: int | None = None
    checkpoint_score_attribute: str | None = None
    checkpoint_score_order: Literal["max", "min"] = "max"
    checkpoint_frequency: int | None = None
    checkpoint_at_end: bool | None = None

    def __post_init__(self) -> None:
        for name in ("checkpoint_frequency", "checkpoint_at_end"):
            if getattr(self, name) is not None:
                raise DeprecationWarning(
                    f"CheckpointConfig({name}=...) does not apply to a training function: call "
                    "train.report(metrics, checkpoint=...) where a checkpoint is due, and leave it out."
                )
        if self.num_to_keep is not None and (not isinstance(self.num_to_keep, int) or self.num_to_keep < 1):
            raise ValueError(f"CheckpointConfig(num_to_keep={self.num_to_keep!r}) must be None or an int from 1.")
        if self.checkpoint_score_order not in ("max", "min"):
            raise ValueError(
                f"CheckpointConfig(checkpoint_score_order={self.checkpoint_score_order!r}) must be 'max' or 'min'."
            )


@dataclass(repr=False)
class LoggingConfig(_OnlyWhatWasGiven):
    """`log_level` of the workers' loggers "nbaccel.train" and "ray.train", which print to their stderr."""

    log_level: str = "INFO"

    def __post_init__(self) -> None:
        levels = logging.getLevelNamesMapping()
        if not isinstance(self.log_level, str) or self.log_level.upper() not in levels:
            raise ValueError(
                f"LoggingConfig(log_level={self.log_level!r}) must be one of: {', '.join(sorted(levels))}."
            )
        self.log_level = self.log_level.upper()


@dataclass(repr=False)
class RunConfig(_OnlyWhatWasGiven):
    """The name and folder of a run, and its reaction to failures.

    name                a folder of `storage_path`. A run of this name that was interrupted or failed continues from its
                        latest checkpoint; a finished run stays unchanged, and the new one is `name-2`. Default: the
                        function's name and the time
    storage_path        a folder, or a URL that fsspec knows ("s3://bucket/runs"): the run then works in a folder of
                        this machine, and a copy follows its checkpoints. Default: $NBACCEL_STORAGE, else
                        ~/nbaccel_results
    storage_filesystem  a filesystem of fsspec or pyarrow, in which `storage_path` is
    failure_config, checkpoint_config, logging_config
    callbacks           a list of `nbaccel.train.UserCallback`s; they are called in this process
    worker_runtime_env  for the workers, as `runtime_env` of an actor
    resume              not in Ray: True continues a finished run of this name, as Ray would

    Raises ValueError for invalid values and, as Ray, DeprecationWarning for options of former versions.

    >>> config = RunConfig(name="first", storage_path="runs", checkpoint_config=CheckpointConfig(num_to_keep=2))
    """

    name: str | None = None
    storage_path: str | None = None
    storage_filesystem: Any = None
    failure_config: FailureConfig = field(default_factory=FailureConfig)
    checkpoint_config: CheckpointConfig = field(default_factory=CheckpointConfig)
    callbacks: Sequence[Any] = field(default_factory=list)  # of nbaccel.tune.Callback in its own RunConfig
    worker_runtime_env: Any = field(default_factory=dict)
    logging_config: LoggingConfig = field(default_factory=LoggingConfig)
    resume: bool | None = None
    sync_config: Any = None
    verbose: Any = None
    stop: Any = None
    progress_reporter: Any = None
    log_to_file: Any = None

    def __post_init__(self) -> None:
        for name, instead in _GONE.items():
            if getattr(self, name) is not None:
                raise DeprecationWarning(f"RunConfig({name}=...) is gone, in Ray Train as well: {instead}.")
        for name, kind in (
            ("failure_config", FailureConfig),
            ("checkpoint_config", CheckpointConfig),
            ("logging_config", LoggingConfig),
        ):
            _of_kind(self, name, kind)
        self.callbacks = _callbacks(self.callbacks)
        self.worker_runtime_env = self.worker_runtime_env or {}
        self.storage_path = _storage_path(self.storage_path, self.storage_filesystem)
        if self.name is not None:
            _check_name(self.name)


_GONE = {
    "sync_config": "checkpoints are written to storage_path by themselves",
    "verbose": "a run draws itself in a notebook and prints a line a second in a script",
    "stop": "return from the training function, or call stop() on what trainer.start() returns",
    "progress_reporter": "a UserCallback's after_report() is called with each report",
    "log_to_file": "what workers print is in the engine's logs",
}


def _of_kind(config: RunConfig, name: str, kind: type) -> None:
    """Check the class: None means the default; another class of the same name (such as Ray's own) is refused."""
    given = getattr(config, name)
    if given is None:
        setattr(config, name, kind())
    elif not isinstance(given, kind):
        raise ValueError(
            f"RunConfig({name}) takes nbaccel.train.{kind.__name__}, not {type(given).__module__}."
            f"{type(given).__name__}: import it from nbaccel.train."
        )


def _callbacks(given: Any) -> list[UserCallback]:
    if given is None:
        return []
    if not isinstance(given, Sequence) or not all(isinstance(each, UserCallback) for each in given):
        raise ValueError(f"RunConfig(callbacks) takes a list of nbaccel.train.UserCallback objects, not {given!r}.")
    return list(given)


def _storage_path(given: Any, filesystem: Any) -> str:
    text = os.fspath(given) if given is not None else os.environ.get(STORAGE_VARIABLE) or DEFAULT_STORAGE
    if filesystem is not None and given is None:
        raise ValueError("RunConfig(storage_filesystem=...) needs storage_path, a path in that filesystem.")
    if filesystem is not None:
        return text
    if is_remote(text):
        _check_protocol(text)
        return text
    return str(Path(text.removeprefix("file://")).expanduser().absolute())


def _check_protocol(url: str) -> None:
    fsspec = fsspec_for(f"RunConfig(storage_path={url!r})")
    protocol = url.partition("://")[0]
    try:
        fsspec.get_filesystem_class(protocol)
    except (ValueError, ImportError) as error:
        raise ValueError(f"RunConfig(storage_path={url!r}): fsspec cannot use {protocol}:// here. {error}") from None


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip() or name in (".", "..") or "\0" in name or "/" in name:
        raise ValueError(f"RunConfig(name={name!r}) must be the name of a folder, without '/'.")
    length = len(os.fsencode(name))
    if length > _LONGEST_NAME:
        raise ValueError(
            f"RunConfig(name={name[:20]!r}...) has {length} bytes, and the name of a folder has at most "
            f"{_LONGEST_NAME} here: give a shorter one."
        )
