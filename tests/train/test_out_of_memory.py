"""A rank that ran out of device memory is told of whoever else uses its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nbaccel.train import RunConfig, ScalingConfig, WorkerGroupError, collective, get_context
from nbaccel.train.data_parallel_trainer import DataParallelTrainer
from nbaccel.train.failures import memory_of
from nbaccel.train.ranks import Facts, Seat
from nbaccel.views.snapshot import DeviceMetrics, DeviceRow, Holder

GIB = 1 << 30


def seat(rank: int, device: str) -> Seat:
    return Seat(rank, Facts("n", "", "", 100 + rank, {"GPU": [device]}), rank, 3, rank, 3, 0, 1)


def row(id: str, **more: Any) -> DeviceRow:
    return DeviceRow("n", "GPU", int(id), id, "nvidia", "NVIDIA GPU", "real", **more)


def test_ranks_tasks_and_programs_on_the_device_are_named_with_their_memory() -> None:
    worker_group = [seat(0, "0"), seat(1, "1"), seat(2, "1")]
    metrics = DeviceMetrics(
        memory_used_bytes=79 * GIB, processes=[(101, 20 * GIB), (102, 19 * GIB), (7, 30 * GIB), (9, None)]
    )
    busy = row("1", memory_bytes=80 * GIB, metrics=metrics, holders=[Holder("infer", 0.25, pid=7)])
    assert memory_of(worker_group[1], worker_group, 18 * GIB, [row("0"), busy]) == (
        "GPU 1 has 80 GiB, of which 79 GiB are in use. Rank 1 had at most 18 GiB. Others on it: infer (pid 7, 30 GiB), "
        "rank 2 (pid 102, 19 GiB), a program outside of nbaccel (pid 9)."
    )


def test_what_nobody_measured_is_left_out() -> None:
    assert memory_of(seat(0, "0"), [seat(0, "0")], None, [row("0")]) == (
        "GPU 0 has no memory left. Nobody else is known to use it."
    )
    assert memory_of(seat(0, "0"), [], None, []) == ""


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


def runs_out(config: dict[str, Any]) -> None:
    collective.barrier()
    if get_context().get_world_rank() == 1:
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
    collective.barrier()


def test_the_error_of_a_run_has_it(cluster: Any, kept: Callable[..., RunConfig]) -> None:
    halves = ScalingConfig(num_workers=2, use_gpu=True, resources_per_worker={"GPU": 0.5})
    with pytest.raises(
        WorkerGroupError, match=r"GPU 0 has no memory left\. Others on it: rank 0 \(pid \d+\)\."
    ) as caught:
        DataParallelTrainer(runs_out, train_loop_config={}, scaling_config=halves, run_config=kept()).fit()
    assert caught.value.first_rank == 1
