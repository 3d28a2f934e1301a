"""Which tasks share a process: those on a CPU do, those on an accelerator do not, unless max_calls says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbaccel
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.local_engine import turnover
from tests.rig import is_alive, wait_until


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    with inside(Place()) as place:
        nbaccel.init(num_cpus=1, num_gpus=1, resources={"NPU": 1})
        yield place


@pytest.fixture(autouse=True)
def cluster(head: Place) -> Iterator[Place]:
    yield head
    assert_idle()


def runs(function: Any, times: int = 6) -> tuple[list[int], list[int]]:
    """The pids of so many calls, one after the other, and the traces that each found."""
    found = [nbaccel.get(function.remote()) for _ in range(times)]
    return [pid for pid, _traces in found], [traces for _pid, traces in found]


def test_tasks_on_a_cpu_share_a_process() -> None:
    pids, traces = runs(turnover.on_cpu)
    assert len(set(pids)) == 1
    assert traces == list(range(traces[0], traces[0] + 6))


@pytest.mark.parametrize(
    "function",
    [turnover.on_gpu, turnover.on_npu, turnover.on_cpu.options(num_gpus=1), turnover.on_cpu.options(num_gpus=0.25)],
    ids=["num_gpus", "a resource", "options", "a fraction"],
)
def test_every_task_on_an_accelerator_has_a_fresh_process(function: Any) -> None:
    pids, traces = runs(function)
    assert len(set(pids)) == 6
    assert traces == [0] * 6
    wait_until(lambda: not any(is_alive(pid) for pid in pids), "their end")


def test_max_calls_0_keeps_the_process_and_what_is_on_the_device() -> None:
    pids, traces = runs(turnover.reused_on_gpu)
    assert len(set(pids)) == 1
    assert traces == list(range(traces[0], traces[0] + 6))


@pytest.mark.parametrize("function", [turnover.three_calls, turnover.three_calls_on_gpu], ids=["CPU", "GPU"])
def test_max_calls_n_ends_the_process_after_so_many(function: Any) -> None:
    pids, traces = runs(function, 9)
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [3, 3, 3]
    assert [found - traces[start] for start in (0, 3, 6) for found in traces[start : start + 3]] == [0, 1, 2] * 3


def test_many_fresh_processes_at_once_lose_nothing() -> None:
    found = nbaccel.get([turnover.on_cpu.options(num_gpus=0.1, num_cpus=0).remote() for _ in range(40)])
    assert len({pid for pid, _traces in found}) == 40
