"""Stop in a wait for futures cancels the tasks that the wait is for, once, and no others."""

from __future__ import annotations

import gc
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.waits import ref_future, stopping
from tests.rig import Gate, wait_until


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    nbaccel.init(num_cpus=4, on_interrupt="cancel")
    yield
    nbaccel.shutdown()
    stopping.set_policy(None)


@nbaccel.remote(num_cpus=0)
def waits(gate: Any) -> None:
    nbaccel.get(gate.wait.remote())


@pytest.fixture
def gate() -> Iterator[Any]:
    gate = Gate.remote()
    yield gate
    nbaccel.kill(gate)
    stopping._last_cancelled.clear()


class Cancels:
    """The engine of this process, and what was cancelled: how, by task."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.forced: list[bool] = []
        cancel = engines.current().cancel
        patch.setattr(
            engines.current(), "cancel", lambda ref, **how: (self.forced.append(how["force"]), cancel(ref, **how))
        )


@pytest.fixture
def cancels(monkeypatch: pytest.MonkeyPatch) -> Cancels:
    return Cancels(monkeypatch)


def is_waited_for(future: Any) -> bool:
    """Whether a thread sleeps in a wait for this future."""
    return any(waiter.event._cond._waiters for waiter in list(future._waiters))


def stopped_in(wait: Callable[[], object], future: Callable[[], Any]) -> None:
    """Press Stop once the main thread waits for this future."""

    def press() -> None:
        wait_until(lambda: is_waited_for(future()), "the main thread to wait")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        wait()
    thread.join()


def is_cancelled(ref: Any) -> bool:
    try:
        nbaccel.get(ref, timeout=60)
    except exceptions.TaskCancelledError:
        return True
    return False


@pytest.mark.parametrize(
    "wait",
    [
        lambda waited: futures.wait(waited),
        lambda waited: futures.wait(waited, 600, return_when=futures.FIRST_COMPLETED),
        lambda waited: list(futures.as_completed(waited)),
        lambda waited: waited[0].result(),
        lambda waited: waited[0].exception(600),
    ],
    ids=["wait", "first", "as_completed", "result", "exception"],
)
def test_stop_cancels_what_a_wait_for_futures_is_for(gate: Any, cancels: Cancels, wait: Any) -> None:
    ref, other = waits.remote(gate), waits.remote(gate)
    future, unrelated = ref.future(), other.future()
    stopped_in(lambda: wait([future]), lambda: future)
    assert is_cancelled(ref) and cancels.forced == [False]
    assert not unrelated.done() and nbaccel.wait([other], timeout=0)[1] == [other]


def test_stop_cancels_the_futures_of_several_kinds_and_leaves_strange_ones_alone(gate: Any, cancels: Cancels) -> None:
    strange: Any = futures.Future()
    pool = nbaccel.Executor(num_cpus=0)
    mine, of_pool = waits.remote(gate).future(), pool.submit(lambda: nbaccel.get(gate.wait.remote()))
    stopped_in(lambda: futures.wait([strange, mine, of_pool]), lambda: mine)
    for future in (mine, of_pool):
        assert isinstance(future.exception(60), exceptions.TaskCancelledError)
    assert cancels.forced == [False, False] and not strange.done()
    pool.shutdown()


def test_one_press_inside_of_a_block_with_an_executor_does_not_count_twice(gate: Any, cancels: Cancels) -> None:
    def block() -> None:
        with nbaccel.Executor(num_cpus=0) as pool:
            made.extend(pool.submit(lambda: nbaccel.get(gate.wait.remote())) for _ in range(2))
            made[0].result()

    made: list[Any] = []
    stopped_in(block, lambda: made[0] if made else futures.Future())
    assert all(isinstance(future.exception(60), exceptions.TaskCancelledError) for future in made)
    assert cancels.forced == [False, False]


def test_detached_tasks_go_on(gate: Any, cancels: Cancels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "_policy", "detach")
    future = waits.remote(gate).future()
    stopped_in(lambda: futures.wait([future]), lambda: future)
    assert not cancels.forced
    nbaccel.get(gate.open.remote())
    assert future.result(60) is None


def test_a_future_behaves_like_any_other() -> None:
    fine, failed = nbaccel.remote(abs).remote(-3).future(), nbaccel.remote(lambda: 1 / 0).remote().future()
    assert fine.result(60) == 3 and isinstance(failed.exception(60), ZeroDivisionError)
    assert futures.wait([fine, failed]).done == {fine, failed}
    assert set(futures.as_completed([fine, failed], 60)) == {fine, failed}
    assert not fine.cancel()


def test_a_wait_that_takes_too_long_says_so(gate: Any) -> None:
    future = waits.remote(gate).future()
    for wait in (future.result, future.exception):
        with pytest.raises(TimeoutError):
            wait(0)
    assert futures.wait([future], 0).not_done == {future}
    assert future.cancel()
    with pytest.raises(futures.CancelledError):
        future.result()
    nbaccel.get(gate.open.remote())


def test_a_future_that_lives_on_keeps_no_object() -> None:
    ref = nbaccel.remote(abs).remote(-3)
    future = ref.future()
    future.result(60)
    gone = weakref.ref(ref)
    del ref
    wait_until(lambda: gc.collect() >= 0 and gone() is None, "the ref to go")
    assert future.result() == 3


def test_the_names_of_concurrent_futures_that_this_relies_on_are_there() -> None:
    future: Any = futures.Future()
    waiter = futures._base._create_and_install_waiters([future], futures._base._AS_COMPLETED)
    assert future._waiters == [waiter] and type(waiter.event) is threading.Event
    assert ref_future.RefFuture.__mro__[1] is futures.Future
