"""fit() with real workers on the local engine."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import stacks, train
from nbaccel.train import (
    CheckpointConfig,
    ControllerError,
    DataConfig,
    FailureConfig,
    Result,
    RunConfig,
    ScalingConfig,
    UserCallback,
    WorkerGroupError,
    controller,
    run_facts,
)
from nbaccel.train import run as run_module
from nbaccel.train.configs import Backend, BackendConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.mailbox import Inbox
from tests.census import Place
from tests.rig import wait_until, written_so_far
from tests.train import loops

Kept = Callable[..., RunConfig]
TWO = ScalingConfig(num_workers=2)

pytestmark = pytest.mark.usefixtures("cluster")


def fit(function: Any, run_config: RunConfig, scaling: ScalingConfig = TWO, **config: Any) -> Result:
    return DataParallelTrainer(function, train_loop_config=config, scaling_config=scaling, run_config=run_config).fit()


def test_each_rank_knows_its_place_and_runs_in_its_main_thread(kept: Kept, tmp_path: Path) -> None:
    config = kept(worker_runtime_env={"env_vars": {"NCCL_SOCKET_IFNAME": "ens5"}})
    result = fit(loops.facts, config, folder=str(tmp_path))
    found = [ast.literal_eval((tmp_path / f"rank-{rank}").read_text()) for rank in range(2)]
    assert result.return_value == found[0]
    assert [each["rank"] for each in found] == [0, 1]
    assert all(each["main"] and each["size"] == 2 and each["name"] == "run" for each in found)
    assert [each["local"] for each in found] == [(0, 2, 0), (1, 2, 0)]
    assert {each["cwd"] for each in found} == {os.getcwd()}
    assert {each["variable"] for each in found} == {"ens5"}


@pytest.mark.extra("pandas")
def test_reports_and_checkpoints_are_kept(kept: Kept) -> None:
    config = kept(checkpoint_config=CheckpointConfig(num_to_keep=2))
    result = fit(loops.steps, config, steps=4)
    assert result.metrics == {"step": 3, "loss": 0.25} and len(result.history) == 4
    assert sorted(os.listdir(result.path)) == [".lock", "checkpoint_000002", "checkpoint_000003", "run.jsonl"]
    assert result.checkpoint is not None and result.checkpoint.load() == {"step": 3}
    best = result.get_best_checkpoint("loss", "max")
    assert best.load() == {"step": 2}
    with pytest.raises(RuntimeError, match="There is no checkpoint in"):
        fit(lambda: None, kept()).get_best_checkpoint("loss", "max")
    again = Result.from_path(result.path)
    assert (again.metrics, again.history) == (result.metrics, result.history)
    assert list(result.metrics_dataframe["step"]) == [0, 1, 2, 3]


def test_a_rank_that_runs_ahead_of_the_others_does_not_fill_the_disk(kept: Kept, tmp_path: Path) -> None:
    config = kept(checkpoint_config=CheckpointConfig(num_to_keep=2))
    assert fit(loops.ahead, config, steps=6, folder=str(tmp_path)).return_value <= 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_function_that_exits_has_failed_and_is_told_to_return(workers: int, kept: Kept) -> None:
    def exits() -> None:
        sys.exit(0)

    with pytest.raises((RuntimeError, WorkerGroupError), match=r"SystemExit\(0\).*write return") as told:
        DataParallelTrainer(exits, scaling_config=ScalingConfig(num_workers=workers), run_config=kept()).fit()
    assert isinstance(told.value if workers == 0 else told.value.__cause__, RuntimeError)


class SlowForReports(Inbox):
    """Delivers the mailbox's first answer with a report after its next answer, as may happen to a large one."""

    def when(self, ref: Any, told: Callable[[Any], None], still: Callable[[], bool]) -> None:
        super().when(ref, lambda future: self._hold(future, told), still)

    def _hold(self, future: Any, told: Callable[[Any], None]) -> None:
        value = None if future.exception() else future.result()
        is_answer = isinstance(value, tuple) and isinstance(value[0], int)
        if is_answer and value[1] and not hasattr(self, "held"):
            self.held = lambda: told(future)
            return
        told(future)
        if is_answer and getattr(self, "held", None) is not None:
            held, self.held = self.held, None
            held()


def test_a_large_report_that_arrives_late_is_kept(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "Inbox", SlowForReports)
    result = fit(loops.steps, kept(), ScalingConfig(num_workers=1), steps=1)
    assert len(result.history) == 1 and len(result.best_checkpoints) == 1


def test_a_run_that_finished_is_left_alone_unless_it_is_to_go_on(kept: Kept, capsys: Any) -> None:
    first = fit(loops.steps, kept(), steps=2)
    second = fit(loops.steps, kept(), steps=2)
    assert Path(second.path).name == "run-2" and second.return_value == 0
    assert "resume=True) goes on with run" in capsys.readouterr().err
    third = fit(loops.steps, kept(resume=True), steps=4)
    assert (third.path, third.return_value, len(third.history)) == (first.path, 2, 4)


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_rank_that_fails_ends_the_run_and_the_same_name_goes_on(
    how: str, kept: Kept, tmp_path: Path, capsys: Any
) -> None:
    options = {"steps": 4, "fails_in": 2, "how": how, "once": str(tmp_path / "once")}
    with pytest.raises(WorkerGroupError) as caught:
        fit(loops.steps, kept(), **options)
    error = caught.value
    assert error.first_rank == 1 and str(error).startswith("rank 1 failed")
    assert len(str(error).splitlines()) <= 25
    assert error.result is not None and error.result.error is error
    cause = error.__cause__
    if how == "raise":
        assert type(cause) is ZeroDivisionError and error.worker_failures[1] is cause
        assert "in fail" in str(error) and "ZeroDivisionError: it cannot be divided" in str(error)
    else:
        assert "was killed by SIGKILL" in str(error)
    left = error.result.checkpoint.load()["step"] if error.result.checkpoint is not None else -1
    result = fit(loops.steps, kept(), **options)
    assert result.return_value == left + 1 and [each["step"] for each in result.history] == [0, 1, 2, 3]
    assert "The run run failed; it goes on from" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_run_that_may_fail_goes_on_by_itself(how: str, kept: Kept, tmp_path: Path, capsys: Any) -> None:
    config = kept(failure_config=FailureConfig(max_failures=1))
    result = fit(loops.steps, config, steps=4, fails_in=2, how=how, once=str(tmp_path / "once"))
    assert [each["step"] for each in result.history] == [0, 1, 2, 3]
    assert "it starts again from" in capsys.readouterr().err
    lines = [json.loads(line) for line in Path(result.path, "run.jsonl").read_text().splitlines()]
    assert len([line for line in lines if "worker_group" in line]) == 2


def test_a_worker_that_cannot_start_is_a_failure_with_its_reason(kept: Kept) -> None:
    config = kept(worker_runtime_env={"working_dir": "/nowhere/at/all"})
    with pytest.raises((WorkerGroupError, ValueError, RuntimeError), match="nowhere"):
        fit(loops.steps, config)


class Broken(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__("broken")


def raises_oddly(config: dict[str, Any]) -> None:
    raise Broken(1, 2)


def test_an_exception_with_a_constructor_of_its_own_is_the_cause(kept: Kept) -> None:
    with pytest.raises(WorkerGroupError) as caught:
        fit(raises_oddly, kept())
    assert type(caught.value.__cause__).__name__ == "Broken"


def wraps(config: dict[str, Any]) -> None:
    try:
        loops.fail("raise")
    except ZeroDivisionError as error:
        raise ValueError("the batch is bad") from error


def test_the_exception_from_which_another_was_raised_is_named(kept: Kept) -> None:
    with pytest.raises(WorkerGroupError, match=r"bad\n\(caused by ZeroDivisionError: it cannot be divided\)\n"):
        fit(wraps, kept(), ScalingConfig(num_workers=1))


# ---- stopping


@pytest.fixture
def begun(kept: Kept, tmp_path: Path) -> Iterator[Callable[..., train.run.Run]]:  # type: ignore[name-defined]
    """Start a run; it has ended when the test has."""
    runs = []

    def begin(function: Any, **options: Any) -> Any:
        config = options | {"folder": str(tmp_path)}
        trainer = DataParallelTrainer(function, train_loop_config=config, scaling_config=TWO, run_config=kept())
        runs.append(trainer.start())
        return runs[-1]

    yield begin
    for run in runs:
        for _ in range(3):
            run.stop()
        wait_until(lambda run=run: not run.running, "the run's end")


def test_stop_ends_all_ranks_after_the_same_report(begun: Any, tmp_path: Path) -> None:
    run = begun(loops.until_stopped)
    wait_until(lambda: all((tmp_path / f"reports-{rank}").exists() for rank in range(2)), "reports of both ranks")
    assert "running" in repr(run)
    run.stop()
    result = run.result(timeout=60)
    assert result.stopped and result.metrics is not None
    last = {(tmp_path / f"ended-{rank}").read_text() for rank in range(2)}
    assert last == {str(result.metrics["number"])}


def test_a_rank_that_never_reports_is_interrupted_when_the_others_have_stopped(begun: Any, tmp_path: Path) -> None:
    run = begun(loops.silent)
    wait_until(lambda: run.metrics is not None and (tmp_path / "there-1").exists(), "a report")
    run.stop()
    assert run.result(timeout=60).stopped
    assert (tmp_path / "ended-1").read_text() == "interrupted"


def test_the_second_press_interrupts_functions_that_never_report(begun: Any, tmp_path: Path) -> None:
    run = begun(loops.silent, reports=False)
    wait_until(lambda: all((tmp_path / f"there-{rank}").exists() for rank in range(2)), "both ranks")
    run.stop()
    run.stop()
    assert run.result(timeout=60).stopped
    assert {(tmp_path / f"ended-{rank}").read_text() for rank in range(2)} == {"interrupted"}


def test_a_function_that_never_reports_can_ask_whether_to_stop(
    begun: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller, "STOPPED_S", 100.0)  # a rank that asks a second later than the other is not cut off
    run = begun(loops.until_asked)
    wait_until(lambda: all((tmp_path / f"there-{rank}").exists() for rank in range(2)), "both ranks")
    run.stop()
    assert run.result(timeout=60).return_value == "asked"


def test_the_stack_of_a_run_is_that_of_each_rank(begun: Any, tmp_path: Path) -> None:
    run = begun(loops.until_asked)
    wait_until(lambda: all((tmp_path / f"there-{rank}").exists() for rank in range(2)), "both ranks")
    wait_until(lambda: nbaccel.stack("run").count("in until_asked") == 2, "both stacks")
    assert re.search(r"^run, rank 0, pid \d+:\n.*loops\.py.*\n.*\n\nrun, rank 1, pid \d+:\n", nbaccel.stack("run"))
    run.stop()
    assert run.result(timeout=60).return_value == "asked"
    with pytest.raises(ValueError, match="Nothing is called 'run'"):
        nbaccel.stack("run")


def test_the_stack_of_a_run_whose_ranks_are_not_known_yet_says_so(
    begun: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_facts, "SNAPSHOTS_PER_S", 1e-3)  # only the first snapshot is published: without ranks
    run = begun(loops.until_asked)
    wait_until(lambda: all((tmp_path / f"there-{rank}").exists() for rank in range(2)), "both ranks")
    assert nbaccel.stack("run") == "run is waiting; no rank runs yet."
    run.stop()
    assert run.result(timeout=60).return_value == "asked"


def test_a_rank_that_hangs_in_c_says_where_and_ends_with_the_third_press(
    begun: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setattr(controller, "HANGS_S", 0.0)
    monkeypatch.setattr(stacks, "PATIENCE_S", 60.0)  # it is asked once where it hangs
    run = begun(loops.hangs_in_c)
    wait_until(lambda: all((tmp_path / f"there-{rank}").exists() for rank in range(2)), "both ranks")

    def where() -> str:
        worker_group = run._worker_group
        return "; ".join(map(run_module.place_of, run_module.stacks_of(worker_group.seats))) if worker_group else ""

    # Both in this function: that rank 1 answers while C code has the lock is what faulthandler is for.
    wait_until(lambda: where().count("is in hangs_in_c (loops.py line") == 2, "both stacks")
    run.stop()
    run.stop()
    hangs = r"run has not ended: .*rank 1 is in hangs_in_c \(loops.py line \d+\)\. Stop again ends"
    wait_until(lambda: re.search(hangs, written_so_far(2)), "where rank 1 stands")
    assert "run interrupts the function. Stop again ends its processes." in written_so_far(2) and run.running
    run.stop()
    assert run.result(timeout=60).stopped


def test_ctrl_c_in_fit_returns_a_result(kept: Kept, tmp_path: Path) -> None:
    def press() -> None:
        wait_until(lambda: (tmp_path / "runs/run/run.jsonl").exists(), "the run")
        wait_until(lambda: '"report"' in (tmp_path / "runs/run/run.jsonl").read_text(), "a report")
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    result = fit(loops.until_stopped, kept(), folder=str(tmp_path))
    presser.join()
    assert result.stopped and result.metrics is not None


# ---- what is told at once


def test_two_runs_of_one_name_at_once_are_refused(begun: Any, kept: Kept) -> None:
    run = begun(loops.until_stopped)
    with pytest.raises(ControllerError, match=f"is under way in process {os.getpid()}"):
        fit(loops.steps, kept())
    assert run.running


def test_a_worker_group_that_never_fits_is_told_with_numbers(kept: Kept) -> None:
    with pytest.raises(ControllerError, match=r"8 workers ask for 1 GPU each, which is 8 of the 2 GPU"):
        fit(loops.steps, kept(), ScalingConfig(num_workers=8, use_gpu=True))
    with pytest.warns(DeprecationWarning):
        nine = ScalingConfig(num_workers=2, resources_per_worker={"CPU": 2}, trainer_resources={"CPU": 1})
    with pytest.raises(ControllerError, match=r"2 CPU each, and trainer_resources for 1, which is 5 of the 4 CPU"):
        fit(loops.steps, kept(), nine)


def test_metrics_that_views_cannot_be_sent_do_not_end_the_run(kept: Kept) -> None:
    odd = {"file": os.fsdecode(b"a\xff.png"), "hash": 2**70, "loss": float("nan")}
    result = fit(reports, kept(), ScalingConfig(num_workers=1), metrics=odd)
    assert result.metrics is not None and result.metrics["hash"] == 2**70 and result.metrics["file"] == odd["file"]


def reports(config: dict[str, Any]) -> None:
    train.report(config["metrics"])


@pytest.mark.parametrize(
    ("scaling", "why"),
    [
        (ScalingConfig(num_workers=1, label_selector={"zone": "x"}), r"no node has the labels zone=x\."),
        (ScalingConfig(num_workers=2, placement_strategy="STRICT_SPREAD"), r"its 2 bundles do not fit together .*\."),
    ],
)
def test_a_worker_group_that_no_node_can_hold_is_told_as_a_worker_group(
    scaling: ScalingConfig, why: str, kept: Kept
) -> None:
    told = rf"(?i)^The worker group can never be placed: .*{why} Ask for what there is"
    with pytest.raises(ControllerError, match=told) as caught:
        fit(loops.steps, kept(), scaling)
    assert "It waits" not in str(caught.value)


def test_a_run_that_never_fits_has_its_result_and_lets_go_of_its_folder(kept: Kept) -> None:
    with pytest.raises(ControllerError) as caught:
        fit(loops.steps, kept(), ScalingConfig(num_workers=8, use_gpu=True))
    result = caught.value.result
    assert result is not None and result.error is caught.value
    assert fit(loops.steps, kept(), steps=1).path == result.path


def test_a_value_of_another_rank_need_not_be_sent(kept: Kept) -> None:
    def function(config: Any) -> Any:
        return threading.Lock() if train.get_context().get_world_rank() else "sent"

    assert fit(function, kept()).return_value == "sent"


def test_trainer_resources_of_zero_take_nothing(kept: Kept) -> None:
    with pytest.warns(DeprecationWarning):
        four = ScalingConfig(num_workers=2, resources_per_worker={"CPU": 2}, trainer_resources={"CPU": 0})
    assert fit(loops.steps, kept(), four, steps=1).metrics == {"step": 0, "loss": 1.0}


def test_a_folder_that_cannot_be_written_is_told_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ControllerError, match=r"cannot be written.*NBACCEL_STORAGE"):
        fit(loops.steps, RunConfig(name="a", storage_path=str(tmp_path / "file")))


# ---- other ways to run


def test_elastic_workers_are_as_many_as_fit(kept: Kept, tmp_path: Path) -> None:
    wait_until(lambda: nbaccel.available_resources().get("CPU") == 4, "the CPUs of the worker group before")
    elastic = ScalingConfig(num_workers=(1, 8), resources_per_worker={"CPU": 2})
    result = fit(loops.facts, kept(), elastic, folder=str(tmp_path))
    assert result.return_value["size"] == 2


def test_devices_of_a_node_are_shared_only_where_the_backend_says_so(kept: Kept, tmp_path: Path) -> None:
    result = fit(loops.facts, kept(), ScalingConfig(num_workers=2, use_gpu=True), folder=str(tmp_path))
    assert result.return_value["visible"] == "0"


@pytest.mark.parametrize("workers", [0, 2])
def test_each_rank_reads_its_part_of_the_datasets(workers: int, kept: Kept, tmp_path: Path) -> None:
    result = DataParallelTrainer(
        loops.reads_its_part,
        train_loop_config={"folder": str(tmp_path)},
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=kept(),
        datasets={"train": list(range(6)), "valid": [1, 2, 3]},
        dataset_config=DataConfig(["train"]),
    ).fit()
    found = [ast.literal_eval((tmp_path / f"rows-{rank}").read_text()) for rank in range(workers or 1)]
    assert found == ([([0, 1, 2], 3), ([3, 4, 5], 3)] if workers else [([0, 1, 2, 3, 4, 5], 3)])
    assert result.return_value == found[0][0]


def test_callbacks_run_here_with_the_metrics_of_all_ranks(kept: Kept, tmp_path: Path) -> None:
    seen: list[Any] = []
    told: list[Any] = []

    class Seen(UserCallback):
        def after_report(self, run_context: Any, metrics: list[dict[str, Any]], checkpoint: Any) -> None:
            seen.append((metrics, checkpoint is not None))

        def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
            seen.append({rank: type(error).__name__ for rank, error in worker_exceptions.items()})
            told.append(run_context)

    with pytest.raises(WorkerGroupError):
        fit(
            loops.steps,
            kept(callbacks=[Seen()]),
            fails_in=1,
            rank=0,
            how="raise",
            once=str(tmp_path / "once"),
            together=True,
        )
    assert seen[0] == ([{"step": 0, "loss": 1.0}] * 2, True) and seen[-1][0] == "ZeroDivisionError"
    assert told[0].get_run_config().name and told[0].train_loop_config["how"] == "raise"
    assert (told[0].scaling_config.num_workers, told[0].run_id[:4]) == (2, "run-")


class NotingBackend(Backend):
    """Notes in every worker, in a file of its own, when it is called; and fails at the end."""

    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        self.folder = backend_config.folder
        worker_group.execute(note, self.folder, "start")

    def on_training_start(self, worker_group: Any, backend_config: Any) -> None:
        worker_group.execute(note, self.folder, "training")

    def on_shutdown(self, worker_group: Any, backend_config: Any) -> None:
        worker_group.execute(note, self.folder, "shutdown")
        raise ZeroDivisionError("at the end")


def note(folder: str, what: str) -> None:
    with open(Path(folder, f"noted-{os.getpid()}"), "a") as file:
        file.write(f"{what} ")


class NotingConfig(BackendConfig):
    folder = ""

    @property
    def backend_cls(self) -> type[Backend]:
        return NotingBackend


def test_a_backend_is_called_before_and_after_the_function_while_the_workers_live(
    kept: Kept, tmp_path: Path, capsys: Any
) -> None:
    config = NotingConfig()
    config.folder = str(tmp_path)
    trainer = DataParallelTrainer(loops.steps, backend_config=config, scaling_config=TWO, run_config=kept())
    assert trainer.fit().metrics == {"step": 3, "loss": 0.25}
    assert [path.read_text() for path in tmp_path.glob("noted-*")] == ["start training shutdown "] * 2
    assert "NotingBackend.on_shutdown failed: ZeroDivisionError('at the end')" in capsys.readouterr().err


def test_without_workers_the_function_runs_here_and_keeps_its_checkpoints(kept: Kept) -> None:
    here = ScalingConfig(num_workers=0)
    result = fit(loops.steps, kept(), here, steps=2)
    assert result.return_value == 0 and result.checkpoint is not None and result.checkpoint.load() == {"step": 1}
    with pytest.raises(ZeroDivisionError):
        fit(loops.steps, kept("b"), here, steps=3, fails_in=2, rank=0, how="raise", once=f"{result.path}/once")
    assert fit(loops.steps, kept("b"), here, steps=3).return_value == 2
    with pytest.raises(RuntimeError):
        train.get_context()


def test_functions_of_two_threads_do_not_share_this_process(kept: Kept) -> None:
    here = ScalingConfig(num_workers=0)
    told: list[str] = []

    def other() -> None:
        try:
            fit(loops.steps, kept("other"), here, steps=1)
        except ValueError as error:
            told.append(str(error))

    def outer(config: dict[str, Any]) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        fit(loops.steps, kept("inner"), here, steps=1)  # of the same thread
        train.report({"step": 7})

    assert fit(outer, kept(), here).metrics == {"step": 7}
    assert len(told) == 1 and "ScalingConfig(num_workers=1)" in told[0]
    fit(loops.steps, kept("other"), here, steps=1)


def test_a_run_in_a_task_and_in_a_thread(kept: Kept, tmp_path: Path) -> None:
    @nbaccel.remote(num_cpus=1)
    def outer(config: RunConfig) -> Any:
        return fit(loops.steps, config, steps=2).metrics

    in_a_task = outer.remote(kept("in-a-task"))
    found: list[Result] = []
    thread = threading.Thread(target=lambda: found.append(fit(loops.steps, kept("in-a-thread"), steps=2)))
    thread.start()
    thread.join()
    assert nbaccel.get(in_a_task) == found[0].metrics == {"step": 1, "loss": 0.5}


def test_a_task_may_not_take_what_a_worker_group_holds(cluster: Place) -> None:
    wait_until(lambda: nbaccel.available_resources().get("CPU") == 4, "the worker groups' CPUs")
