"""Calls that a driver sends directly to its actors: their order, who has a result, what the head knows, who dies."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.util.state import list_actors, list_objects, list_tasks
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.rig import wait_until


@pytest.fixture(scope="module")
def head() -> Iterator[Place]:
    """A head for the whole module, with direct calls."""
    with inside(Place()) as place:
        os.environ["NBACCEL_DIRECT_CALLS"] = "1"
        nbaccel.init(num_cpus=2, object_store_memory=64 << 20)
        yield place


@pytest.fixture(autouse=True)
def cluster(head: Place) -> Iterator[Place]:
    yield head
    assert_idle()


@nbaccel.remote
class Notes:
    """It writes down what it is called with."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.kept: list[Any] = []

    def pid(self) -> int:
        return os.getpid()

    def note(self, what: Any) -> Any:
        self.seen.append(what)
        return what

    def read(self) -> list[Any]:
        return self.seen

    def fail(self, what: str) -> None:
        raise ValueError(what)

    def wait_for(self, path: str) -> str:
        """Wait until the file is there."""
        wait_until(lambda: os.path.exists(path), path)
        return path

    def run_until_cancelled(self) -> None:
        wait_until(lambda: nbaccel.get_runtime_context().is_canceled(), "the cancellation")

    def put(self, value: Any) -> list[Any]:
        return [nbaccel.put(value)]

    def double_elsewhere(self, value: int) -> int:
        return nbaccel.get(double.remote(value))

    def keep_from(self, boxed: list[Any]) -> None:
        self.kept = boxed

    def read_kept(self) -> Any:
        return nbaccel.get(self.kept[0])

    def leave(self) -> None:
        nbaccel.actor.exit_actor()


@nbaccel.remote
def double(value: int) -> int:
    return 2 * value


@nbaccel.remote
def unpack(boxed: list[Any]) -> Any:
    return nbaccel.get(boxed[0])


def line_of(actor: Any) -> Any:
    started: Any = engines.started()
    way = started.direct.connections.get(actor._actor_id_bytes)
    return way if way is not None and way.is_open else None


def connected(actor: Any) -> Any:
    """The actor, once it is called directly. Each line of the test makes a first call, which goes through the head."""
    nbaccel.get(actor.pid.remote())
    wait_until(lambda: line_of(actor) is not None, "the connection")
    return actor


def sent_by(actor: Any) -> int:
    started: Any = engines.started()
    way = started.direct.connections.get(actor._actor_id_bytes)
    return way.sent if way is not None else 0


# ---- the way


def test_later_calls_of_a_line_are_direct_and_are_answered() -> None:
    notes = connected(Notes.remote())
    answers = [nbaccel.get(notes.note.remote(number)) for number in range(50)]
    assert answers == list(range(50))
    wait_until(lambda: nbaccel.get(notes.note.remote(50)) == 50 and sent_by(notes), "a direct call")


def test_calls_keep_their_order_whichever_way_each_takes(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    expected: list[Any] = []
    for number in range(120):
        if number % 10 == 7:
            notes.note.remote(nbaccel.put(number))  # through the head
        elif number % 10 == 8:
            notes.note.remote(double.remote(number))  # it waits there
        else:
            notes.note.remote(number)
        expected.append(2 * number if number % 10 == 8 else number)
        if number % 30 == 29:
            nbaccel.get(notes.pid.remote())
    assert nbaccel.get(notes.read.remote()) == expected


def test_a_burst_comes_back_whole_and_in_order() -> None:
    notes = connected(Notes.remote())
    for _ in range(3):
        nbaccel.get(notes.note.remote(0))
    assert nbaccel.get([notes.note.remote(number) for number in range(3_000)]) == list(range(3_000))
    assert nbaccel.get(notes.read.remote())[-3_000:] == list(range(3_000))


def test_several_threads_may_call_one_actor() -> None:
    notes = connected(Notes.remote())
    wrong: list[Any] = []

    def call(start: int) -> None:
        for number in range(start, start + 100):
            if nbaccel.get(notes.note.remote(number)) != number:
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(start,)) for start in (0, 1_000, 2_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = nbaccel.get(notes.read.remote())
    assert wrong == []
    for start in (0, 1_000, 2_000):
        assert [number for number in seen if start <= number < start + 100] == list(range(start, start + 100))


@pytest.mark.parametrize(
    "options",
    [
        {"max_restarts": 1},
        {"max_concurrency": 2},
        {"max_task_retries": 1, "max_restarts": 1},
        {"max_pending_calls": 5},
        {"name": "kept", "lifetime": "detached"},
    ],
    ids=["restarts", "threads", "retries", "limit", "detached"],
)
def test_actors_with_rules_of_their_own_are_called_through_the_head(options: dict[str, Any]) -> None:
    notes = Notes.options(**options).remote()
    assert [nbaccel.get(notes.note.remote(number)) for number in range(5)] == list(range(5))
    assert sent_by(notes) == 0
    nbaccel.kill(notes)
    wait_until(lambda: not [actor for actor in list_actors() if actor["state"] != "DEAD"], "its end")


# ---- actors with a loop


@nbaccel.remote
class Loop:
    """Its calls are begun in their order, and end as they like."""

    def __init__(self) -> None:
        self.begun: list[Any] = []

    async def pid(self) -> int:
        return os.getpid()

    async def note(self, what: Any) -> Any:
        self.begun.append(what)
        return what

    async def wait_for(self, path: str) -> str:
        self.begun.append("waits")
        while not os.path.exists(path):
            await asyncio.sleep(0.005)
        return path

    async def fail(self, what: str) -> None:
        raise ValueError(what)

    async def asks(self, value: int) -> int:
        await asyncio.sleep(0)
        return await double.remote(value)

    async def read(self) -> list[Any]:
        return self.begun

    async def leave(self) -> None:
        nbaccel.actor.exit_actor()


def looping() -> Any:
    """Its later calls are direct: each method has been called once."""
    loop = connected(Loop.remote())
    nbaccel.get([loop.wait_for.remote("/"), loop.asks.remote(0)])
    with pytest.raises(ValueError, match="first"):
        nbaccel.get(loop.fail.remote("first"))
    nbaccel.get(loop.note.remote("first"))
    assert nbaccel.get(loop.read.remote()) == ["waits", "first"]
    started: Any = engines.started()
    way = started.direct.connections[loop._actor_id_bytes]
    wait_until(lambda: not way._at_head, "the calls through the head to have come back")  # whoever waited knows sooner
    return loop


def test_calls_of_an_asyncio_actor_begin_in_their_order_and_come_back_in_any(tmp_path: Any) -> None:
    loop = looping()
    before = sent_by(loop)
    waiting = [loop.wait_for.remote(str(tmp_path / "gate")) for _ in range(3)]
    notes = [loop.note.remote(number) for number in range(2_000)]
    assert nbaccel.get(notes) == list(range(2_000))
    assert nbaccel.wait(waiting, num_returns=3, timeout=0)[0] == []
    (tmp_path / "gate").touch()
    assert nbaccel.get(waiting) == [str(tmp_path / "gate")] * 3
    assert nbaccel.get(loop.read.remote())[2:] == ["waits"] * 3 + list(range(2_000))
    assert sent_by(loop) - before == 2_004


def test_an_asyncio_call_that_fails_or_speaks_with_the_head_is_answered_through_it(tmp_path: Any) -> None:
    loop = looping()
    waiting = loop.wait_for.remote(str(tmp_path / "gate"))
    for number in range(5):
        failed, asked, noted = loop.fail.remote("no"), loop.asks.remote(number), loop.note.remote(number)
        with pytest.raises(ValueError, match="no"):
            nbaccel.get(failed)
        assert nbaccel.get([asked, noted]) == [2 * number, number]
    (tmp_path / "gate").touch()
    assert nbaccel.get(waiting) == str(tmp_path / "gate")


def test_an_asyncio_call_that_has_begun_can_be_cancelled_and_leaves_the_others(tmp_path: Any) -> None:
    loop = looping()
    first = loop.wait_for.remote(str(tmp_path / "gate"))
    for number in range(5):
        waiting = loop.wait_for.remote(str(tmp_path / "never"))
        noted = loop.note.remote(number)
        nbaccel.cancel(waiting)
        with pytest.raises(exceptions.TaskCancelledError):
            nbaccel.get(waiting)
        assert nbaccel.get(noted) == number
    (tmp_path / "gate").touch()
    assert nbaccel.get(first) == str(tmp_path / "gate")


def test_what_is_under_way_at_an_asyncio_actor_is_listed(tmp_path: Any) -> None:
    loop = looping()
    refs = [loop.wait_for.remote(str(tmp_path / "gate")) for _ in range(5)]
    running = [task["task_id"] for task in list_tasks() if task["state"] == "RUNNING"]
    assert {ref.task_id().hex() for ref in refs} <= set(running)
    (tmp_path / "gate").touch()
    nbaccel.get(refs)
    states = {task["task_id"]: task["state"] for task in list_tasks()}
    assert {states[ref.task_id().hex()] for ref in refs} == {"FINISHED"}


def test_an_asyncio_actor_that_ends_itself_keeps_what_it_had_answered(tmp_path: Any) -> None:
    loop = looping()
    waiting = loop.wait_for.remote(str(tmp_path / "never"))
    noted = [loop.note.remote(number) for number in range(50)]
    assert nbaccel.get(noted) == list(range(50))
    for ref in (loop.leave.remote(), waiting):
        with pytest.raises(exceptions.ActorDiedError):
            nbaccel.get(ref)
    assert nbaccel.get(noted) == list(range(50))


# ---- results


def test_errors_large_results_and_refs_come_through_the_head() -> None:
    notes = connected(Notes.remote())
    for _ in range(3):
        with pytest.raises(ValueError, match="seven"):
            nbaccel.get(notes.fail.remote("seven"))
        assert len(nbaccel.get(notes.note.remote(bytes(200_000)))) == 200_000
        assert nbaccel.get(nbaccel.get(notes.put.remote("inside"))[0]) == "inside"
        assert nbaccel.get(notes.double_elsewhere.remote(4)) == 8


def test_a_result_that_is_here_can_be_given_to_others() -> None:
    notes = connected(Notes.remote())
    for number in range(3):
        ref = notes.note.remote(number)
        assert nbaccel.get(ref) == number
        assert nbaccel.get([double.remote(ref), unpack.remote([ref])]) == [2 * number, number]
        assert nbaccel.get(notes.note.remote(ref)) == number


def test_a_result_that_is_still_to_come_can_be_given_to_others(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    for number in range(3):
        gate = tmp_path / str(number)
        notes.wait_for.remote(str(gate))
        ref = notes.note.remote(number)
        others = [double.remote(ref), unpack.remote([ref])]
        del ref
        gate.touch()
        assert nbaccel.get(others) == [2 * number, number]


def test_an_actor_keeps_what_it_was_lent_in_a_call_through_the_head() -> None:
    notes = connected(Notes.remote())
    inner = nbaccel.put("lent")
    notes.keep_from.remote([inner])
    del inner
    for _ in range(3):
        assert nbaccel.get(notes.read_kept.remote()) == "lent"


def test_results_can_be_awaited_waited_for_and_be_futures(tmp_path: Any) -> None:
    notes = connected(Notes.remote())

    async def awaited(number: int) -> Any:
        return await notes.note.remote(number)

    for number in range(3):
        assert asyncio.run(awaited(number)) == number
        assert notes.note.remote(number).future().result(60) == number
        gate = tmp_path / str(number)
        late = notes.wait_for.remote(str(gate))
        assert nbaccel.wait([late], timeout=0) == ([], [late])
        gate.touch()
        assert nbaccel.wait([late], timeout=60) == ([late], [])


def _get_into(ref: Any, seen: list[Any]) -> None:
    seen.append(nbaccel.get(ref))


def test_the_result_of_the_only_call_reaches_all_who_wait_for_it(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    for number in range(20):
        gate = tmp_path / str(number)
        ref = notes.wait_for.remote(str(gate))
        seen: list[Any] = []
        threads = [threading.Thread(target=_get_into, args=(ref, seen)) for _ in range(3)]
        for thread in threads:
            thread.start()
        future = ref.future()
        gate.touch()
        assert nbaccel.get(ref) == future.result(60) == str(gate)
        for thread in threads:
            thread.join(60)
        assert seen == [str(gate)] * 3


def test_a_wait_for_the_only_call_ends_with_its_time_or_its_actor(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    for _ in range(3):
        assert nbaccel.get(notes.note.remote(1), timeout=60) == 1
    pid = nbaccel.get(notes.pid.remote())
    late = notes.wait_for.remote(str(tmp_path / "gate"))
    with pytest.raises(exceptions.GetTimeoutError):
        nbaccel.get(late, timeout=0.1)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(late, timeout=60)


def test_results_that_nobody_holds_leave_nothing_behind() -> None:
    notes = connected(Notes.remote())
    for number in range(3):
        for _ in range(100):
            notes.note.remote(number)
        assert nbaccel.get(notes.read.remote())
    started: Any = engines.started()
    wait_until(lambda: not started.references._private, "the last ref to go")
    wait_until(lambda: not started.direct.calls.by_task, "the last answer")
    wait_until(lambda: not list_objects(), "the head's last object to go")


# ---- what the head knows


def test_what_has_ended_is_listed_as_soon_as_it_is_asked_for() -> None:
    notes = connected(Notes.remote())
    for number in range(20):
        nbaccel.get(notes.note.options(name="counted").remote(number))
        states = [task["state"] for task in list_tasks(filters=[("name", "=", "counted")])]
        assert states == ["FINISHED"] * (number + 1)


def test_what_is_under_way_is_listed_and_explained(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    for number in range(3):
        gate = tmp_path / str(number)
        running = notes.wait_for.remote(str(gate))
        waiting = notes.note.remote(number)
        states = {task["task_id"]: task["state"] for task in list_tasks()}
        assert states[running.task_id().hex()] == "RUNNING"
        assert states[waiting.task_id().hex()] == "SUBMITTED_TO_WORKER"
        assert nbaccel.explain(waiting)
        gate.touch()
        nbaccel.get(waiting)


def test_a_live_view_shows_a_call_while_it_runs_though_nobody_asks(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    seen: list[Any] = []
    engines.current().watch(seen.append, metrics=False)
    for number in range(3):
        gate = tmp_path / str(number)
        running = notes.wait_for.remote(str(gate))
        wait_until(lambda: bool(seen) and seen[-1].counts["RUNNING"] == 1, "the call to be shown")
        gate.touch()
        nbaccel.get(running)
        wait_until(lambda: seen[-1].counts["RUNNING"] == 0, "its end to be shown")
    engines.current().watch(None)


def test_a_live_view_of_a_burst_says_nothing_that_cannot_be_and_ends_with_the_truth() -> None:
    notes = connected(Notes.remote())
    seen: list[Any] = []
    engines.current().watch(seen.append, metrics=False)
    wait_until(lambda: bool(seen), "the first snapshot")
    before = nbaccel.snapshot().counts["FINISHED"]
    for _ in range(3):
        refs = [notes.note.remote(number) for number in range(1_000)]
        assert nbaccel.explain(refs[-1])  # it waits, or has ended
        assert nbaccel.get(refs) == list(range(1_000))
    wait_until(lambda: seen[-1].counts["FINISHED"] == before + 3_000, "all ends to be shown")
    engines.current().watch(None)
    assert all(snapshot.counts["RUNNING"] <= 1 for snapshot in seen)  # of an actor that runs one call after the other
    finished = [snapshot.counts["FINISHED"] for snapshot in seen]
    assert finished == sorted(finished)


def test_a_call_that_waits_can_be_cancelled() -> None:
    notes = connected(Notes.remote())
    for number in range(3):
        running = notes.run_until_cancelled.remote()
        waiting = notes.note.remote(number)
        nbaccel.cancel(waiting)
        nbaccel.cancel(running)  # the actor hears of it after the other
        for ref in (waiting, running):
            with pytest.raises(exceptions.TaskCancelledError):
                nbaccel.get(ref)
    assert nbaccel.get(notes.read.remote()) == []


def test_a_cancelled_call_leaves_the_connection_to_its_actor() -> None:
    notes = connected(Notes.remote())
    line = line_of(notes)
    for number in range(10):
        running = notes.run_until_cancelled.remote()
        waiting = notes.note.remote(number)
        nbaccel.cancel(waiting)
        nbaccel.cancel(running)
        for ref in (waiting, running):
            with pytest.raises(exceptions.TaskCancelledError):
                nbaccel.get(ref, timeout=60)
        assert line_of(notes) is line
    assert nbaccel.get(notes.read.remote()) == []


def test_results_for_a_connection_that_its_caller_has_closed_come_from_the_head(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    running = notes.wait_for.remote(str(tmp_path / "gate"))
    later = [notes.note.remote(number) for number in range(3)]
    line_of(notes).stop_reading()
    (tmp_path / "gate").touch()
    nbaccel.get(running, timeout=60)
    assert nbaccel.get(later, timeout=60) == list(range(3))
    assert nbaccel.get(notes.read.remote()) == list(range(3))


def test_calls_under_way_keep_an_actor_whose_handle_has_gone(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    refs = [notes.wait_for.remote(str(tmp_path / "gate"))]
    refs += [notes.note.remote(number) for number in range(5)]
    del notes
    (tmp_path / "gate").touch()
    assert nbaccel.get(refs)[1:] == list(range(5))


# ---- deaths


def test_the_death_of_an_actor_fails_all_its_open_calls(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    pid = nbaccel.get(notes.pid.remote())
    done = [notes.note.remote(number) for number in range(5)]
    assert nbaccel.get(done) == list(range(5))
    refs = [notes.wait_for.remote(str(tmp_path / "never")), *(notes.note.remote(number) for number in range(5))]
    other = double.remote(refs[-1])
    os.kill(pid, signal.SIGKILL)
    for ref in [*refs, other]:
        with pytest.raises(exceptions.ActorDiedError):
            nbaccel.get(ref)
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(notes.note.remote(1))
    assert nbaccel.get(done) == list(range(5))  # they are here
    wait_until(lambda: line_of(notes) is None, "the end of the connection")


def test_a_call_after_kill_does_not_overtake_it() -> None:
    notes = connected(Notes.remote())
    for _ in range(3):
        nbaccel.get(notes.note.remote(1))
    nbaccel.kill(notes)
    with pytest.raises(exceptions.ActorDiedError):
        nbaccel.get(notes.note.remote(2))


def test_an_actor_that_ends_itself_answers_that_call_and_fails_the_others() -> None:
    notes = connected(Notes.remote())
    for _ in range(3):
        nbaccel.get(notes.note.remote(1))
    refs = [notes.leave.remote(), notes.note.remote(2)]
    for ref in refs:
        with pytest.raises(exceptions.ActorDiedError):
            nbaccel.get(ref)


def test_connections_end_with_their_actors() -> None:
    actors = [connected(Notes.remote()) for _ in range(5)]
    assert nbaccel.get([actor.note.remote(1) for actor in actors]) == [1] * 5
    started: Any = engines.started()
    assert len(started.direct.listened) >= 5
    actors.clear()
    wait_until(lambda: not started.direct.listened and not started.direct.connections, "the connections to end")


def test_an_interrupt_of_a_wait_leaves_the_call_as_it_was(tmp_path: Any) -> None:
    notes = connected(Notes.remote())
    for number in range(3):
        gate = tmp_path / str(number)
        ref = notes.wait_for.remote(str(gate))
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            while True:
                nbaccel.wait([ref], timeout=60)
                time.sleep(60)
        timer.join()
        gate.touch()
        assert nbaccel.get(ref) == str(gate)
