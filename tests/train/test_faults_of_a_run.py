"""A rank that is killed, in whatever phase: the run goes on, and no report or checkpoint is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nbaccel import train
from nbaccel.train import (
    BackendConfig,
    Checkpoint,
    ControllerError,
    FailureConfig,
    RunConfig,
    ScalingConfig,
)
from nbaccel.train.configs import Backend
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.census import Place
from tests.rig import wait_until
from tests.train import loops

Kept = Callable[..., RunConfig]
TWO = ScalingConfig(num_workers=2)
STEPS = 4
PHASES = ("placing", "joining", "first step", "report", "commit", "restart")

pytestmark = pytest.mark.usefixtures("cluster")


def die_once(config: dict[str, Any], phase: str, rank: int, times: int = 1) -> None:
    """Kill this process if its rank is to die in this phase and has not yet."""
    if config["phase"] != phase or rank != config["rank"]:
        return
    for number in range(times):
        try:
            Path(config["folder"], f"died-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def joining(config: dict[str, Any]) -> Iterator[None]:
    die_once(config, "joining", train.get_context().get_world_rank())
    yield


class KillsWhilePlacing(Backend):
    """What a framework does with the workers before the function begins."""

    def on_start(self, worker_group: Any, backend_config: Any) -> None:
        for rank in range(len(worker_group)):
            worker_group.execute_single(rank, die_once, backend_config.config, "placing", rank)


@dataclass
class Deadly(BackendConfig):
    config: dict[str, Any]

    @property
    def backend_cls(self) -> type[Backend]:
        return KillsWhilePlacing

    @property
    def train_func_context(self) -> Any:
        return partial(joining, self.config)


def function(config: dict[str, Any]) -> int:
    """Each rank brings its part of each checkpoint."""
    from nbaccel.train import storage

    rank = train.get_context().get_world_rank()
    checkpoint = train.get_checkpoint()
    start = json.loads(Path(checkpoint.path, "rank-0").read_text()) + 1 if checkpoint is not None else 0
    die_once(config, "first step", rank)
    die_once(config, "restart", rank, times=2)
    bring = storage.bring

    def deadly(*args: Any, **options: Any) -> int:
        size = bring(*args, **options)
        if args[2] == 2:
            die_once(config, "commit", rank)
        return size

    storage.bring = deadly
    for step in range(start, STEPS):
        mine = Path(config["folder"], f"mine-{rank}")
        mine.mkdir(exist_ok=True)
        (mine / f"rank-{rank}").write_text(json.dumps(step))
        train.report({"step": step}, checkpoint=Checkpoint.from_directory(mine))
        if step == 1:
            die_once(config, "report", rank)
    return start


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("phase", PHASES)
def test_a_rank_that_is_killed_costs_no_report_and_no_checkpoint(
    phase: str, rank: int, kept: Kept, tmp_path: Path
) -> None:
    config = {"phase": phase, "rank": rank, "folder": str(tmp_path)}
    result = DataParallelTrainer(
        function,
        train_loop_config=config,
        backend_config=Deadly(config),
        scaling_config=TWO,
        run_config=kept(failure_config=FailureConfig(max_failures=2)),
    ).fit()
    assert (tmp_path / "died-0").exists() and (tmp_path / "died-1").exists() == (phase == "restart")
    assert [each["step"] for each in result.history] == list(range(STEPS))
    assert [Path(each.path).name for each, _ in result.best_checkpoints] == [
        f"checkpoint_{step:06d}" for step in range(STEPS)
    ]
    for step, (checkpoint, metrics) in enumerate(result.best_checkpoints):
        assert sorted(os.listdir(checkpoint.path)) == ["rank-0", "rank-1"] and metrics == {"step": step}
    assert sorted(name for name in os.listdir(result.path) if name.startswith(".")) == [".lock"]


def unequal(config: dict[str, Any]) -> str:
    """Rank 1 reports half as often and returns early; rank 0 goes on."""
    rank = train.get_context().get_world_rank()
    for step in range(4 if rank == 0 else 2):
        train.report({"step": step}, checkpoint=Checkpoint.save({"step": step}) if rank == 0 else None)
    return "done"


def test_ranks_may_report_unequally_often_and_return_early(kept: Kept) -> None:
    result = DataParallelTrainer(unequal, train_loop_config={}, scaling_config=TWO, run_config=kept()).fit()
    assert result.metrics == {"step": 3} and len(result.best_checkpoints) == 4


def in_the_way(config: dict[str, Any]) -> None:
    """Somebody else has put something where the checkpoint is to be."""
    if train.get_context().get_world_rank() == 0:
        Path(train.get_context().get_trial_dir(), "checkpoint_000000").write_text("mine")
    train.collective.barrier()
    train.report({"loss": 1}, checkpoint=Checkpoint.save({}) if train.get_context().get_world_rank() == 0 else None)
    train.collective.barrier()


def test_a_checkpoint_that_cannot_be_committed_ends_the_run_with_what_to_do(kept: Kept) -> None:
    with pytest.raises(ControllerError, match=r"cannot write its folder .*: .*checkpoint_000000") as caught:
        DataParallelTrainer(in_the_way, train_loop_config={}, scaling_config=TWO, run_config=kept()).fit()
    assert caught.value.result is not None and caught.value.result.metrics == {"loss": 1}


def test_a_callback_that_raises_ends_the_run(kept: Kept) -> None:
    class Raises(train.UserCallback):
        def after_report(self, *args: Any) -> None:
            raise LookupError("of the callback")

    config = kept(callbacks=[Raises()])
    with pytest.raises(ControllerError, match="LookupError: of the callback"):
        DataParallelTrainer(loops.steps, train_loop_config={}, scaling_config=TWO, run_config=config).fit()


def test_a_callbacks_error_of_the_network_is_not_taken_for_one_of_the_disk(kept: Kept) -> None:
    class Raises(train.UserCallback):
        def after_report(self, *args: Any) -> None:
            raise ConnectionError("the tracker is away")

    config = kept(callbacks=[Raises()])
    with pytest.raises(ControllerError, match="could not go on: ConnectionError: the tracker is away"):
        DataParallelTrainer(loops.steps, train_loop_config={}, scaling_config=TWO, run_config=config).fit()


KILLED = """
import nbaccel
from nbaccel.train import ScalingConfig, RunConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from tests.train import loops
nbaccel.init(num_cpus=2)
DataParallelTrainer(loops.steps, train_loop_config={"steps": 10**9}, scaling_config=ScalingConfig(num_workers=2),
                    run_config=RunConfig(name="run", storage_path=STORAGE)).fit()
"""


def test_a_driver_that_is_killed_leaves_nothing_but_a_run_that_goes_on(kept: Kept, tmp_path: Path) -> None:
    place = Place()
    storage = tmp_path / "runs"
    try:
        program = place.start(KILLED.replace("STORAGE", repr(str(storage))))
        wait_until(lambda: (storage / "run" / "checkpoint_000002").exists(), "checkpoints")
        program.kill()
        program.communicate()
        place.assert_nothing_left()
    finally:
        place.clear()
    past = train.Result.from_path(storage / "run")
    assert past.checkpoint is not None and past.error is None
    last = past.checkpoint.load()["step"]
    result = DataParallelTrainer(
        loops.steps, train_loop_config={"steps": last + 3}, scaling_config=TWO, run_config=kept()
    ).fit()
    assert result.return_value >= last + 1 and result.metrics is not None and result.metrics["step"] == last + 2
    assert [each["step"] for each in result.history] == list(range(last + 3))
