"""Tasks that go straight to a worker on loan: who has a result, what the head knows, who gets the worker back."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.util.state import list_objects, list_tasks
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.local_engine.loan_programs import (
    is_straight,
    on_loan,
    open_loans,
    pid_of,
    run_until_stopped,
    runs,
    same,
    straight_results,
    wait_for,
)
from tests.rig import wait_until


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    """A head for the whole module, which lends workers."""
    with inside(Place()) as place:
        os.environ["NBACCEL_STRAIGHT_CALLS"] = os.environ["NBACCEL_LOANS"] = "1"
        nbaccel.init(num_cpus=2, num_gpus=1, object_store_memory=64 << 20)
        yield place


@pytest.fixture(autouse=True)
def cluster(head: Place) -> Iterator[Place]:
    yield head
    assert_idle()
    started: Any = engines.started()
    wait_until(lambda: not started.straight._lines, "the end of all loans")
    wait_until(lambda: not started.holdings._private, "the last private ref to go")


def until_it_runs(ref: Any, mark: Path) -> None:
    wait_until(lambda: runs(ref.task_id().hex(), mark), "the task to begin")


@nbaccel.remote
def fail(value: Any) -> None:
    if value != "/":
        raise ValueError("seven")


@nbaccel.remote
def large(value: Any) -> bytes:
    return b"" if value == "/" else bytes(300_000)


@nbaccel.remote
def put(value: Any) -> Any:
    return value if value == "/" else [nbaccel.put(value)]


@nbaccel.remote
def double_elsewhere(value: Any) -> Any:
    return value if value == "/" else nbaccel.get(double.remote(value))


@nbaccel.remote
def double(value: int) -> int:
    return 2 * value


@nbaccel.remote
def double_after(value: Any, path: str = "") -> Any:
    if value != "/":
        wait_until(lambda: os.path.exists(path), path)
    return value if value == "/" else nbaccel.get(double.remote(value))


@nbaccel.remote
def unpack(boxed: list[Any]) -> Any:
    return nbaccel.get(boxed[0])


@nbaccel.remote
def progress(path: str) -> None:
    if path != "/":
        nbaccel.report_progress(1, 2)
    wait_until(lambda: os.path.exists(path), path)


@nbaccel.remote
def change_directory(value: str) -> str:
    before = os.getcwd()
    if value != "/":
        os.chdir(value)
    return before


@nbaccel.remote(num_gpus=1)
def on_device(value: int) -> int:
    return value


@nbaccel.remote
class Asker:
    def double(self, value: int) -> int:
        return 2 * value


# ---- the way


def test_lone_tasks_go_straight_and_are_answered_by_other_processes() -> None:
    for number, (pid, back) in straight_results(pid_of, 50):
        assert back == number and pid != os.getpid()


def test_a_burst_is_answered_whole_beside_a_loan() -> None:
    nbaccel.get(on_loan(same, 1))
    assert nbaccel.get([same.remote(number) for number in range(2_000)]) == list(range(2_000))


def test_tasks_of_several_threads_are_answered() -> None:
    wrong: list[Any] = []

    def submit(start: int) -> None:
        for number in range(start, start + 150):
            if nbaccel.get(same.remote(number)) != number:
                wrong.append(number)

    threads = [threading.Thread(target=submit, args=(start,)) for start in (0, 1_000, 2_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_tasks_on_devices_and_with_large_arguments_go_through_the_head() -> None:
    array = bytes(50_000)
    for number in range(20):
        ref = on_device.remote(number)
        assert not is_straight(ref) and nbaccel.get(ref) == number
        ref = same.remote(array)
        assert not is_straight(ref) and nbaccel.get(ref) == array


def test_what_follows_another_task_goes_through_the_head() -> None:
    for number in range(20):
        ref = double.remote(same.remote(number))
        assert not is_straight(ref) and nbaccel.get(ref) == 2 * number


# ---- results


def test_an_error_comes_through_the_head_and_counts_as_read() -> None:
    for _ in range(3):
        with pytest.raises(ValueError, match="seven"):
            nbaccel.get(on_loan(fail, 7))


def test_a_large_result_and_refs_come_through_the_head() -> None:
    assert len(nbaccel.get(on_loan(large, 7))) == 300_000
    assert nbaccel.get(nbaccel.get(on_loan(put, "inside"))[0]) == "inside"


def test_a_task_on_loan_may_wait_for_tasks_of_its_own() -> None:
    for number in range(3):
        assert nbaccel.get(on_loan(double_elsewhere, number)) == 2 * number


def test_a_task_on_loan_that_waits_gives_its_cpu_to_the_one_it_waits_for(tmp_path: Path) -> None:
    for number in range(3):
        gate, other, mark = (tmp_path / f"{what}{number}" for what in ("gate", "other", "mark"))
        ref = on_loan(double_after, number, str(gate))
        busy = wait_for.remote(str(other), str(mark))
        until_it_runs(busy, mark)  # the other CPU is taken
        gate.touch()
        assert nbaccel.get(ref) == 2 * number
        other.touch()
        nbaccel.get(busy)


def test_lone_tasks_that_wait_follow_each_other_among_others() -> None:
    all_cpus = double_elsewhere.options(num_cpus=2)
    for number in range(100):
        function = (double_elsewhere, all_cpus, double)[number % 3]
        assert [nbaccel.get(function.remote(each)) for each in range(5)] == [0, 2, 4, 6, 8]


def test_a_result_that_is_here_can_be_given_to_others() -> None:
    for number in range(3):
        ref = on_loan(same, number)
        assert nbaccel.get(ref) == number
        assert nbaccel.get([double.remote(ref), unpack.remote([ref])]) == [2 * number, number]


def test_a_result_that_is_still_to_come_can_be_given_to_others(tmp_path: Path) -> None:
    for number in range(3):
        gate = tmp_path / str(number)
        ref = on_loan(wait_for, str(gate))
        other = unpack.remote([ref])
        gate.touch()
        assert nbaccel.get(other) == nbaccel.get(ref)


def test_results_can_be_awaited_waited_for_and_be_futures(tmp_path: Path) -> None:
    async def awaited(ref: Any) -> Any:
        return await ref

    for number in range(3):
        assert asyncio.run(awaited(on_loan(same, number))) == number
        assert on_loan(same, number).future().result(60) == number
        gate = tmp_path / str(number)
        late = on_loan(wait_for, str(gate))
        assert nbaccel.wait([late], timeout=0) == ([], [late])
        gate.touch()
        assert nbaccel.wait([late], timeout=60) == ([late], [])


def test_results_that_nobody_holds_leave_nothing_behind() -> None:
    for number in range(3):
        on_loan(same, number)
    started: Any = engines.started()
    wait_until(lambda: not started.straight.book._open, "the last answer")
    wait_until(lambda: not list_objects(), "the head's last object to go")


# ---- what the head knows


def test_what_has_ended_is_listed_as_soon_as_it_is_asked_for() -> None:
    for _ in range(3):
        ref = on_loan(same, 7)
        nbaccel.get(ref)
        states = {task["task_id"]: task["state"] for task in list_tasks(limit=10_000)}
        assert states[ref.task_id().hex()] == "FINISHED"


def test_what_is_under_way_is_listed_and_holds_its_cpu(tmp_path: Path) -> None:
    for number in range(3):
        gate, mark = tmp_path / str(number), tmp_path / f"{number} has begun"
        ref = on_loan(wait_for, str(gate), str(mark))
        until_it_runs(ref, mark)
        states = {task["task_id"]: task["state"] for task in list_tasks(limit=10_000)}
        assert states[ref.task_id().hex()] == "RUNNING"
        assert nbaccel.available_resources()["CPU"] == 1
        assert nbaccel.explain(ref)
        gate.touch()
        nbaccel.get(ref)


def test_an_idle_worker_on_loan_is_free_for_who_asks() -> None:
    for number in range(3):
        nbaccel.get(on_loan(same, number))
        assert nbaccel.available_resources() == nbaccel.cluster_resources()


def test_progress_of_a_task_on_loan_is_seen(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    ref = on_loan(progress, str(gate))

    def seen() -> bool:
        rows = [row for row in nbaccel.snapshot().tasks if row.task_id == ref.task_id().hex()]
        return bool(rows) and rows[0].progress == (1.0, 2.0)

    wait_until(seen, "the progress")
    gate.touch()
    nbaccel.get(ref)


def test_a_task_on_loan_can_be_cancelled() -> None:
    for force in (False, True, False):
        ref = on_loan(run_until_stopped, "on")
        nbaccel.cancel(ref, force=force)
        with pytest.raises(exceptions.TaskCancelledError):
            nbaccel.get(ref)


def test_what_a_task_changed_is_set_right_before_other_work_comes(tmp_path: Path) -> None:
    home = nbaccel.get(change_directory.remote("/"))
    nbaccel.get(on_loan(change_directory, str(tmp_path)))
    assert [nbaccel.get(change_directory.remote("/")) for _ in range(20)] == [home] * 20
    assert set(nbaccel.get([change_directory.remote("/") for _ in range(20)])) == {home}


# ---- who waits gets it back


def test_a_worker_on_loan_that_idles_comes_back_by_itself() -> None:
    nbaccel.get(on_loan(same, 1))
    wait_until(lambda: not open_loans(), "the loan to end")


def test_whoever_waits_gets_the_resources_of_loans() -> None:
    both = same.options(num_cpus=2)
    for number in range(5):
        nbaccel.get(on_loan(same, number))
        assert nbaccel.get(both.remote(number)) == number
        actor = Asker.options(num_cpus=2).remote()
        assert nbaccel.get(actor.double.remote(number)) == 2 * number
        nbaccel.kill(actor)


def test_work_that_waits_starts_when_the_task_on_loan_has_ended(tmp_path: Path) -> None:
    both = same.options(num_cpus=2)
    for number in range(3):
        gate, mark = tmp_path / str(number), tmp_path / f"{number} has begun"
        ref = on_loan(wait_for, str(gate), str(mark))
        until_it_runs(ref, mark)  # a worker that ends its loan begins nothing
        waiting = both.remote(number)
        assert "wait_for" in nbaccel.explain(waiting).sentence
        gate.touch()
        assert nbaccel.get(waiting) == number
        nbaccel.get(ref)


def test_a_driver_that_stands_still_does_not_keep_others_from_its_worker(tmp_path: Path) -> None:
    """The thread that gives workers back does not run while this process does not; nor does a question."""
    both = same.options(num_cpus=2)
    started: Any = engines.started()
    for number in range(5):
        loan = on_loan(same, number)
        nbaccel.get(loan)
        for way in open_loans():
            way.used_at = time.monotonic() + 3600  # it is not given back for being idle
        waiting = both.remote(number)
        assert nbaccel.get(waiting) == number
        wait_until(lambda: not started.straight._lines, "the end of the line")


# ---- deaths


def test_a_task_whose_worker_dies_runs_again(tmp_path: Path) -> None:
    gate, mark = tmp_path / "gate", tmp_path / "mark"
    ref = on_loan(wait_for, str(gate), str(mark))
    until_it_runs(ref, mark)
    (worker,) = [task["worker_pid"] for task in list_tasks(detail=True) if task["task_id"] == ref.task_id().hex()]
    os.kill(worker, 9)
    wait_until(lambda: runs(ref.task_id().hex(), mark) == 2, "the second run")
    gate.touch()
    assert nbaccel.get(ref) != worker


def test_an_idle_worker_on_loan_that_dies_is_replaced() -> None:
    for _ in range(3):
        pid, _ = nbaccel.get(on_loan(pid_of, 1))
        os.kill(pid, 9)
        assert [nbaccel.get(pid_of.remote(number))[1] for number in range(20)] == list(range(20))
