"""RunConfig and its parts: defaults, what is refused, and what old names say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.train import CheckpointConfig, FailureConfig, LoggingConfig, RunConfig, UserCallback


def test_runs_are_kept_below_home_unless_something_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NBACCEL_STORAGE", raising=False)
    assert RunConfig().storage_path == str(Path.home() / "nbaccel_results")
    monkeypatch.setenv("NBACCEL_STORAGE", "/data/runs")
    assert RunConfig().storage_path == "/data/runs"
    assert RunConfig(storage_path=Path("/tmp/here")).storage_path == "/tmp/here"  # type: ignore[arg-type]
    assert RunConfig(storage_path="file:///tmp/here").storage_path == "/tmp/here"


def test_remote_storage_is_taken_where_fsspec_knows_it() -> None:
    pytest.importorskip("fsspec")
    assert RunConfig(storage_path="memory://runs").storage_path == "memory://runs"
    with pytest.raises(ValueError, match="fsspec cannot use nowhere:// here"):
        RunConfig(storage_path="nowhere://bucket")
    with pytest.raises(ValueError, match="needs storage_path"):
        RunConfig(storage_filesystem=object())


@pytest.mark.parametrize("name", ["", " ", "a/b", "..", 3])
def test_a_name_is_the_name_of_a_folder(name: Any) -> None:
    with pytest.raises(ValueError, match="name of a folder"):
        RunConfig(name=name)


@pytest.mark.parametrize("name", ["stop", "verbose", "progress_reporter", "log_to_file", "sync_config"])
def test_options_that_ray_train_has_given_up_say_what_instead(name: str) -> None:
    with pytest.raises(DeprecationWarning, match=rf"RunConfig\({name}=...\) is gone, in Ray Train as well: "):
        RunConfig(**{name: object()})


def test_parts_of_another_class_are_refused() -> None:
    with pytest.raises(ValueError, match=r"failure_config.*takes nbaccel\.train\.FailureConfig, not builtins\.dict"):
        RunConfig(failure_config={"max_failures": 1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"list of nbaccel\.train\.UserCallback objects"):
        RunConfig(callbacks=[print])  # type: ignore[list-item]
    assert RunConfig(failure_config=None, callbacks=None).failure_config == FailureConfig()  # type: ignore[arg-type]


def test_how_often_a_run_may_fail_is_a_number() -> None:
    with pytest.raises(ValueError, match="max_failures=-2"):
        FailureConfig(max_failures=-2)
    with pytest.raises(ValueError, match="max_failures must be 0 if fail_fast=True"):
        tune.FailureConfig(max_failures=1, fail_fast=True)
    with pytest.raises(ValueError, match="True, False or 'raise'"):
        tune.FailureConfig(fail_fast="soon")
    for given in (True, False, "raise"):
        with pytest.raises(DeprecationWarning, match=r"use nbaccel\.tune\.FailureConfig"):
            FailureConfig(fail_fast=given)


def test_a_log_level_is_one_that_logging_knows() -> None:
    assert LoggingConfig("debug").log_level == "DEBUG"
    for wrong in ("LOUD", 10, None):
        with pytest.raises(ValueError, match="must be one of: CRITICAL, DEBUG"):
            LoggingConfig(wrong)  # type: ignore[arg-type]


def test_which_checkpoints_stay_is_checked() -> None:
    for wrong in (0, -1, 1.5):
        with pytest.raises(ValueError, match="num_to_keep"):
            CheckpointConfig(num_to_keep=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'max' or 'min'"):
        CheckpointConfig(checkpoint_score_order="best")  # type: ignore[arg-type]
    for old in ("checkpoint_frequency", "checkpoint_at_end"):
        with pytest.raises(DeprecationWarning, match=r"train\.report\(metrics, checkpoint=\.\.\.\)"):
            CheckpointConfig(**{old: 1})  # type: ignore[arg-type]


def test_it_shows_only_what_was_given() -> None:
    assert repr(FailureConfig()) == "FailureConfig()"
    shown = repr(RunConfig(name="mnist", storage_path="/tmp", callbacks=[UserCallback()]))
    assert shown.startswith("RunConfig(name='mnist', storage_path='/tmp', callbacks=[")
