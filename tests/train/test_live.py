"""A run is seen while it goes, by everyone who looks at the cluster, and can be stopped from there."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import nbaccel
from nbaccel import api
from nbaccel.notebook import reprs
from nbaccel.train import Result, RunConfig, ScalingConfig, WorkerGroupError
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.run import Run
from nbaccel.train.run_facts import MOST_ENDED
from nbaccel.views import run_snapshot, sinks
from nbaccel.views.run_snapshot import RunSnapshot
from tests.rig import wait_until
from tests.train import loops

Kept = Callable[..., RunConfig]
pytestmark = pytest.mark.usefixtures("cluster")


def trainer(function: object, config: RunConfig, **given: object) -> DataParallelTrainer:
    scaling = ScalingConfig(num_workers=2, use_gpu=True)
    return DataParallelTrainer(function, train_loop_config=given, scaling_config=scaling, run_config=config)  # type: ignore[arg-type]


def shown(run: Run) -> RunSnapshot | None:
    """The snapshot of this run that an observer would have."""
    found = run_snapshot.of_snapshot(nbaccel.snapshot())
    return next((each for each in found if each.path == run.path), None)


def test_a_run_is_in_the_snapshot_of_the_cluster_and_stops_when_a_view_asks_it_to(kept: Kept, tmp_path: Path) -> None:
    run = trainer(loops.until_stopped, kept(), folder=str(tmp_path)).start()
    wait_until(lambda: (now := shown(run)) is not None and now.reports > 2)
    wait_until(
        lambda: (tmp_path / "reports-1").exists(), "reports of rank 1, or it is interrupted as one that is silent"
    )
    now = shown(run)
    assert now is not None and now.state == "running" and now.curves[0].name == "number"
    assert [(each.rank, each.state) for each in now.ranks] == [(0, "running"), (1, "running")]
    assert sorted(id for each in now.ranks for id in each.devices["GPU"]) == ["0", "1"]

    def press() -> None:
        for what in (
            "jump",
            "stop 7",
            "stop 0",
            "stop 0",
        ):  # the last is a second press of a button drawn before the first
            api.ask(now.id, what)

    # As a button does it: from another thread, while this one does something else.
    presser = threading.Thread(target=press)
    presser.start()
    result = run.result(60)
    presser.join()
    assert result.stopped and result.metrics is not None
    ends = {(tmp_path / f"ended-{rank}").read_text() for rank in range(2)}
    assert ends == {str(result.metrics["number"])}  # after the same report: nobody was interrupted
    last = shown(run)
    assert last is not None and last.state == "stopped" and last.ended_at is not None and last.stops == 1


def test_the_snapshot_of_a_failed_run_says_which_rank_and_why(kept: Kept, tmp_path: Path) -> None:
    given = {"fails_in": 2, "how": "raise", "once": str(tmp_path / "once"), "together": True}
    run = trainer(loops.steps, kept(), **given).start()
    with pytest.raises(WorkerGroupError):
        run.result(60)
    last = shown(run)
    assert last is not None and last.state == "failed" and "rank 1" in last.why
    assert last.ranks[1].state == "failed" and len(last.checkpoints) == 2


def test_views_show_only_the_last_of_many_runs_that_have_ended(kept: Kept) -> None:
    runs = [trainer(loops.steps, kept(f"run-{number}"), steps=1).start() for number in range(1)]
    for number in range(1, MOST_ENDED + 2):
        runs[-1].result(60)
        runs.append(trainer(loops.steps, kept(f"run-{number}"), steps=1).start())
    runs[-1].result(60)
    names = {each.name for each in run_snapshot.of_snapshot(nbaccel.snapshot())}
    assert names == {run.name for run in runs[-MOST_ENDED:]}


@pytest.mark.parametrize("how", ["finished", "failed"])
def test_a_run_that_has_ended_is_seen_and_not_kept(kept: Kept, tmp_path: Path, how: str) -> None:
    given = {"fails_in": 2, "how": "raise", "once": str(tmp_path / "once")} if how == "failed" else {}
    run = trainer(loops.steps, kept(), **given).start()
    with suppress(WorkerGroupError):
        run.result(60)
    seen, gone = shown(run), weakref.ref(run)
    assert seen is not None and seen.state == how
    del run
    wait_until(lambda: gc.collect() >= 0 and gone() is None, "the run's end")
    api.ask(seen.id, "stop 0")  # a button that was drawn before
    assert [each.state for each in run_snapshot.of_snapshot(nbaccel.snapshot()) if each.id == seen.id] == [how]


class Captured:
    """What a training function has captured; it stands for the handle of an actor."""


def test_what_the_function_has_captured_goes_when_the_run_ends(kept: Kept) -> None:
    captured = Captured()
    gone = weakref.ref(captured)

    def train_func(config: dict[str, object], captured: Captured = captured) -> None:
        assert captured is not None

    made = trainer(train_func, kept())
    run = made.start()
    del captured, train_func, made
    run.result(60)
    wait_until(lambda: gone() is None, "the end of what was captured")  # although the run is still here
    assert run.name


def test_a_result_is_drawn_from_what_the_folder_holds(kept: Kept) -> None:
    result = trainer(loops.steps, kept(), steps=3).fit()
    snapshot = result.snapshot()
    assert (snapshot.name, snapshot.state, snapshot.reports) == ("run", "finished", 3)
    assert {curve.name: curve.points[-1] for curve in snapshot.curves} == {"step": (2, 2.0), "loss": (2, 1 / 3)}
    assert [each.report for each in snapshot.checkpoints] == [0, 1, 2]
    assert run_snapshot.time_words(snapshot, 0.0) == ""
    assert "checkpoint_000002" in reprs.result_html(result)


def test_a_function_in_this_process_is_seen_as_well(kept: Kept, tmp_path: Path) -> None:
    here = ScalingConfig(num_workers=0)
    DataParallelTrainer(loops.steps, train_loop_config={"steps": 3}, scaling_config=here, run_config=kept("here")).fit()
    given = {"fails_in": 1, "rank": 0, "how": "raise", "once": str(tmp_path / "once")}
    with pytest.raises(ZeroDivisionError):
        DataParallelTrainer(
            loops.steps, train_loop_config=given, scaling_config=here, run_config=kept("fails-here")
        ).fit()
    runs = {run.name: run for run in run_snapshot.of_snapshot(nbaccel.snapshot())}
    assert (runs["here"].state, runs["here"].reports, runs["here"].ranks[0].state) == ("finished", 3, "returned")
    assert runs["fails-here"].state == "failed" and "it cannot be divided" in runs["fails-here"].why


@pytest.mark.parametrize("presses", [1, 2])
def test_a_function_in_this_process_stops_when_a_view_asks_it_to(presses: int, kept: Kept, tmp_path: Path) -> None:
    def press() -> None:
        there = "reports-0" if presses == 1 else "there-0"
        wait_until(lambda: (tmp_path / there).exists(), "the function")
        (seen,) = (each for each in run_snapshot.of_snapshot(nbaccel.snapshot()) if each.is_under_way)
        for stops in range(presses):
            api.ask(seen.id, f"stop {stops}")

    presser = threading.Thread(target=press)
    presser.start()
    result = DataParallelTrainer(
        loops.until_stopped if presses == 1 else loops.silent,
        train_loop_config={"folder": str(tmp_path), "reports": False},
        scaling_config=ScalingConfig(num_workers=0),
        run_config=kept("here"),
    ).fit()
    presser.join()
    assert result.stopped and Result.from_path(result.path).stopped
    assert (tmp_path / "ended-0").read_text() == (str(result.metrics["number"]) if result.metrics else "interrupted")


class Recorded(sinks.Sinks):
    """Notes which snapshots come."""

    def __init__(self) -> None:
        super().__init__()
        self.snapshots: list[RunSnapshot] = []

    def run(self, snapshot: RunSnapshot) -> None:
        self.snapshots.append(snapshot)


def test_the_first_and_last_snapshot_always_come_and_none_twice(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded()
    monkeypatch.setattr(sinks, "installed", recorded)
    trainer(loops.steps, kept(), steps=40).fit()
    states = [each.state for each in recorded.snapshots]
    assert states[0] == "waiting" and states[-1] == "finished" and recorded.snapshots[-1].reports == 40
    assert all(one != other for one, other in zip(recorded.snapshots, recorded.snapshots[1:], strict=False))
    assert len({each.id for each in recorded.snapshots}) == 1
