"""Training runs with real workers, on every engine that has several processes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nbaccel.train import FailureConfig, Result, RunConfig, ScalingConfig, WorkerGroupError, controller
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.rig import wait_until
from tests.train import far_disk, loops

TWO = ScalingConfig(num_workers=2)


@pytest.fixture
def trainer(nb: ModuleType, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes trainers whose runs are kept in the test's folder, and wait for slow ranks."""
    monkeypatch.setattr(controller, "SILENT_S", 100.0)
    monkeypatch.setattr(controller, "FINALLY_S", 100.0)

    def made(
        function: Any,
        scaling: ScalingConfig = TWO,
        max_failures: int = 0,
        runtime_env: dict[str, Any] | None = None,
        **config: Any,
    ) -> DataParallelTrainer:
        failures = FailureConfig(max_failures)
        kept = RunConfig("run", str(tmp_path / "runs"), failure_config=failures, worker_runtime_env=runtime_env)
        return DataParallelTrainer(
            function,
            train_loop_config=config | {"once": str(tmp_path / "once"), "folder": str(tmp_path)},
            scaling_config=scaling,
            run_config=kept,
        )

    return made


def test_the_debug_engine_says_how_to_debug_a_training_function(trainer: Any, engine: str) -> None:
    if engine != "debug":
        trainer(loops.steps, steps=1).fit()
        return
    with pytest.raises(ValueError, match=r"one process and cannot run a worker group.*num_workers=0"):
        trainer(loops.steps).fit()
    assert trainer(loops.steps, ScalingConfig(num_workers=0), steps=2).fit().metrics == {"step": 1, "loss": 0.5}


def test_a_worker_group_reports_and_keeps_checkpoints(trainer: Any) -> None:
    result: Result = trainer(loops.steps, steps=3).fit()
    assert result.metrics == {"step": 2, "loss": 1 / 3} and len(result.history) == 3
    assert result.checkpoint is not None and result.checkpoint.load() == {"step": 2}


def test_ranks_hold_their_devices(trainer: Any) -> None:
    result = trainer(loops.facts, ScalingConfig(num_workers=2, use_gpu=True)).fit()
    facts = result.return_value
    assert (facts["rank"], facts["size"], facts["main"], facts["visible"]) == (0, 2, True, "0")


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_worker_group_that_fails_starts_again(trainer: Any, how: str) -> None:
    result = trainer(loops.steps, max_failures=1, steps=3, fails_in=1, how=how).fit()
    assert [each["step"] for each in result.history] == [0, 1, 2]


def test_checkpoints_travel_where_the_workers_do_not_see_the_runs_folder(trainer: Any, capfd: Any) -> None:
    far = {"worker_process_setup_hook": far_disk.leave}
    options = {"steps": 4, "fails_in": 2, "how": "raise", "together": True}
    result = trainer(loops.steps, max_failures=1, runtime_env=far, **options).fit()
    assert [each["step"] for each in result.history] == [0, 1, 2, 3]
    assert result.checkpoint is not None and result.checkpoint.load() == {"step": 3}
    assert result.return_value == 2  # it went on from the checkpoint of step 1, which had travelled back
    assert capfd.readouterr().err.count("is not the same disk on") == 1


def test_a_failure_is_told_with_the_users_own_exception(trainer: Any) -> None:
    with pytest.raises(WorkerGroupError, match="rank 1 failed") as caught:
        trainer(loops.steps, steps=3, fails_in=1, how="raise").fit()
    assert type(caught.value.__cause__) is ZeroDivisionError


def test_a_run_stops_after_the_same_report(trainer: Any, tmp_path: Path) -> None:
    run = trainer(loops.until_stopped).start()
    wait_until(lambda: all((tmp_path / f"reports-{rank}").exists() for rank in range(2)), "reports of both ranks")
    run.stop()
    result = run.result(timeout=60)
    assert result.stopped
    assert {(tmp_path / f"ended-{rank}").read_text() for rank in range(2)} == {str(result.metrics["number"])}


def test_a_rank_that_never_reports_is_interrupted_when_the_run_is_stopped(trainer: Any, tmp_path: Path) -> None:
    run = trainer(loops.silent).start()
    wait_until(lambda: run.metrics is not None and (tmp_path / "there-1").exists(), "both ranks")
    run.stop()
    assert run.result(timeout=120).stopped
    assert (tmp_path / "ended-1").read_text() == "interrupted"  # its `finally` ran: it was not killed


def test_ranks_may_bring_different_files_of_one_name(trainer: Any, capfd: Any) -> None:
    result = trainer(loops.files_of_one_name, steps=2).fit()
    assert result.checkpoint is not None
    folder = Path(result.checkpoint.path)
    assert [(folder / name).read_text() for name in ("model", "rank_1/model")] == ["0", "1"]
    assert capfd.readouterr().err.count("ranks brought different files of one name") == 1


def test_a_failure_waits_for_a_checkpoint_that_is_on_its_way(trainer: Any, tmp_path: Path) -> None:
    result = trainer(loops.slower_than_the_failure, max_failures=1).fit()
    assert result.return_value == 2 and [each["step"] for each in result.history] == [0, 1, 2]


@pytest.mark.parametrize("workers", [0, 2])
def test_checkpoints_have_the_names_that_reports_give(trainer: Any, workers: int, engine: str) -> None:
    if engine == "debug" and workers:
        pytest.skip("one process runs no worker group")
    result = trainer(loops.names_its_checkpoints, ScalingConfig(num_workers=workers)).fit()
    kept = [("first", 0, "COMMITTED"), ("again", 2, "COMMITTED")]
    assert [tuple(each) for each in result.return_value] == kept
    read = Result.from_path(result.path)
    for each in (result, read):
        assert [Path(found.path).name for found, _ in each.best_checkpoints] == ["first", "again"]
        assert each.checkpoint is not None and each.checkpoint.load() == {"step": 2}
