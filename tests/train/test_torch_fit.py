"""Process groups of real workers, on CPUs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel.train import FailureConfig, RunConfig, ScalingConfig, WorkerGroupError, run
from nbaccel.train.torch import TorchConfig, TorchTrainer
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.rig import wait_until, written_so_far

pytest.importorskip("torch")

from tests.train import torch_loops

Kept = Callable[..., RunConfig]
TWO = ScalingConfig(num_workers=2)

pytestmark = pytest.mark.usefixtures("torch_cluster")


@pytest.fixture(scope="module")
def torch_cluster(patient: None) -> Iterator[Place]:
    """One head whose workers have torch loaded."""
    place = Place()
    with inside(place):
        nbaccel.init(num_cpus=4, num_gpus=4, preload=["torch"])
        yield place
        assert_idle()


def fit(function: Any, run_config: RunConfig, scaling: ScalingConfig = TWO, **options: Any) -> Any:
    return TorchTrainer(function, scaling_config=scaling, run_config=run_config, **options).fit()


def test_workers_that_have_torch_loaded_have_also_loaded_what_a_rank_needs() -> None:
    @nbaccel.remote(num_cpus=0)
    def loaded() -> list[str]:
        import sys

        return [name for name in ("nbaccel.train.worker", "nbaccel.train.torch.config") if name in sys.modules]

    assert len(nbaccel.get(loaded.remote())) == 2


def test_two_ranks_learn_what_one_process_learns(kept: Kept) -> None:
    result = fit(torch_loops.together, kept(), train_loop_config={})
    found = result.return_value
    assert found["losses"] == pytest.approx(torch_loops.alone(), rel=1e-5)
    assert (found["kind"], found["backend"], found["threads"]) == ("DistributedDataParallel", "gloo", 1)
    assert [each["loss"] for each in result.history] == found["losses"]
    assert set(result.checkpoint.load()["model"]) == {"module.weight", "module.bias"}
    variables = found["variables"]
    assert all(variables.values()) and variables["WORLD_SIZE"] == "2" and variables["RANK"] == "0"
    assert variables["MASTER_ADDR"] == "127.0.0.1" and variables["ACCELERATE_TORCH_DEVICE"] == "cpu"


def test_a_function_for_gpus_runs_on_devices_that_are_only_counted(
    kept: Kept, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_notified", set())
    shared = ScalingConfig(num_workers=2, use_gpu=True, resources_per_worker={"GPU": 2})
    found = fit(torch_loops.together, kept(), shared, train_loop_config={}).return_value
    assert (found["device"], found["devices"], found["backend"]) == ("cpu", ["cpu"], "gloo")
    assert fit(torch_loops.together, kept(), shared, train_loop_config={}).path.endswith("run-2")
    assert capsys.readouterr().err.count("The GPUs of this run are logical") == 1  # not by each run again


def test_a_program_that_was_written_for_torchrun_runs_unprepared(kept: Kept) -> None:
    config = TorchConfig(backend="gloo", init_method="tcp")
    assert fit(torch_loops.plain_torch_distributed, kept(), torch_config=config).return_value == 3


def test_a_function_may_close_our_group_before_it_begins_its_own(kept: Kept) -> None:
    assert fit(torch_loops.closes_the_group_first, kept()).return_value == 3


def test_a_rank_that_closes_its_group_keeps_no_other_waiting(kept: Kept) -> None:
    assert fit(torch_loops.one_closes_its_group, kept()).return_value == [0, 2]


def test_a_loader_keeps_its_options_and_shuffles_each_pass(kept: Kept) -> None:
    passes, changes, options, batches = fit(torch_loops.epochs_of_a_loader, kept()).return_value
    assert all(len(each) == 4 for each in passes) and changes
    assert (options, batches) == ((True, 1, 3), 2)


def test_seeds_make_the_same_numbers(kept: Kept) -> None:
    first, second = (fit(torch_loops.seeded, kept(name)).return_value for name in ("a", "b"))
    assert first == second


def test_the_rank_that_failed_is_told_and_not_those_who_waited_for_it(kept: Kept) -> None:
    with pytest.raises(WorkerGroupError, match="rank 1 failed, before its report 2") as caught:
        fit(torch_loops.one_fails_in_step_two, kept(failure_config=FailureConfig(0)), train_loop_config={})
    assert str(caught.value.__cause__) == "expected 32 rows, got 31"


def test_where_each_rank_stands_can_be_asked_while_one_waits_in_an_operation(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    from nbaccel.train import controller, run

    monkeypatch.setattr(controller, "STILL_S", 0.5)
    trainer = TorchTrainer(
        torch_loops.nobody_comes,
        train_loop_config={"folder": str(tmp_path)},
        scaling_config=TWO,
        run_config=kept(),
    )
    begun = trainer.start()
    wait_until(lambda: all((tmp_path / f"there-{rank}").exists() for rank in range(2)), "both ranks")

    def standing() -> list[str]:
        worker_group = begun._worker_group
        return [run.place_of(stack) for stack in run.stacks_of(worker_group.seats)] if worker_group else []

    wait_until(lambda: "waits in all_reduce" in "".join(standing()[:1]), "rank 0 to wait")
    wait_until(lambda: "is in nobody_comes (torch_loops.py line" in "".join(standing()[1:]), "rank 1 to be there")
    said = r"run has not reported yet: rank 0 waits in all_reduce \(torch_loops\.py line \d+\)"
    wait_until(lambda: re.search(said, written_so_far(2)), "a line about the ranks")
    for _ in range(3):
        begun.stop()
    assert begun.result(timeout=60).stopped


def test_one_worker_has_a_group_of_its_own_and_its_model_is_not_wrapped(kept: Kept) -> None:
    found = fit(torch_loops.together, kept(), ScalingConfig(num_workers=1), train_loop_config={}).return_value
    assert found["kind"] == "Linear" and found["losses"] == pytest.approx(torch_loops.alone(), rel=1e-5)
