"""A worker on loan dies before, in or after the flight of a task whose result the caller, another or nobody wants.

With tasks that go through the head the outcome is the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from tests.census import Place
from tests.heads import assert_idle, inside, rows
from tests.local_engine.loan_programs import is_straight, kill, on_loan, outcome, pid_of, runs, same, wait_for
from tests.rig import wait_until

WAYS = {"through the head": "0", "on loan": "1"}
WANTED_BY = ["the caller", "another", "nobody"]


@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def head(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A head for the cells of the worker; tasks take one way, then the other."""
    with inside(Place()) as place:
        os.environ["NBACCEL_STRAIGHT_CALLS"] = "1"
        os.environ["NBACCEL_LOANS"] = request.param
        nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
        yield place


@pytest.fixture
def cluster(head: Place) -> Iterator[Place]:
    yield head
    assert_idle()


def sent(function: Any, *arguments: Any) -> Any:
    """The ref of a task that has taken the way of this head."""
    if os.environ["NBACCEL_LOANS"] == "1":
        return on_loan(function, *arguments)
    ref = function.remote(*arguments)
    assert not is_straight(ref)
    return ref


def wanted(ref: Any, by: str) -> Any:
    """What the one who wants the result holds of it; None if nobody does."""
    return {"the caller": lambda: ref, "another": lambda: same.remote(ref)}.get(by, lambda: None)()


def worker_of(ref: Any, mark: Path) -> int:
    """The pid of the process that runs this task, once it does."""
    wait_until(lambda: runs(ref.task_id().hex(), mark), "the task to begin")
    task_id = ref.task_id().hex()
    return int(next(row["pid"] for row in rows("tasks") if row["task_id"] == task_id))


@pytest.mark.parametrize("by", WANTED_BY)
@pytest.mark.parametrize("retries", [0, 1])
def test_a_worker_dies_in_flight(cluster: Place, tmp_path: Path, retries: int, by: str) -> None:
    gate, mark = tmp_path / "gate", tmp_path / "mark"
    ref = sent(wait_for.options(max_retries=retries), str(gate), str(mark))
    pid, held = worker_of(ref, mark), wanted(ref, by)
    task_id = ref.task_id().hex()
    del ref
    kill(pid)
    if retries:
        wait_until(lambda: runs(task_id, mark) == 2, "the second run")
        gate.touch()
    if held is not None:
        found = outcome(held)
        assert found == "WorkerCrashedError" if not retries else found not in (pid, "WorkerCrashedError")


@pytest.mark.parametrize("by", WANTED_BY)
def test_a_worker_dies_before_the_task_is_sent(cluster: Place, by: str) -> None:
    for _ in range(3):
        pid, _ = nbaccel.get(sent(pid_of, "/"))
        kill(pid)
        held = wanted(pid_of.remote(5), by)
        if held is not None:
            assert outcome(held)[1] == 5


@pytest.mark.parametrize("by", WANTED_BY)
def test_a_worker_dies_after_the_answer(cluster: Place, by: str) -> None:
    for _ in range(3):
        ref = sent(pid_of, 5)
        pid, _ = nbaccel.get(ref)
        kill(pid)
        held = wanted(ref, by)
        del ref
        if held is not None:
            assert outcome(held) == (pid, 5)
