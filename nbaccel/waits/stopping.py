"""The Stop button cancels the tasks that the interrupted cell submitted and waits for.

The first press cancels (KeyboardInterrupt in the task, its worker stays warm). A second press within `AGAIN_S` seconds
forces (the worker is killed, its device becomes free). `init(on_interrupt="detach")`, the default of scripts, leaves
tasks alone; "force" kills at the first press. Tasks that another cell submitted are never touched.

Threads of the cell wait too: those that it started, and those of pools (`ThreadPoolExecutor`, `asyncio.to_thread`),
which may be older and work for whoever submits. Their waits end by the same press, and what they waited for and this
cell submitted is cancelled. Other threads of earlier cells go on.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.views import sinks, wording
from nbaccel.waits import interruptible

if TYPE_CHECKING:
    import asyncio

    from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator

T = TypeVar("T")

AGAIN_S = 3.0
DRAIN_S = 2.0  # after a press, in which threads of the cell may take the next item of a queue: it ends at once
POOLS_END_S = 0.5  # for which a stopped cell waits for pools that are shut down to run empty

_policy: str | None = None
_last_stop = -1e9
_last_cancelled: list[Any] = []
_waited: dict[int, list[Any]] = {}  # threads beside the main one -> the refs and streams that they wait for
_awaited: WeakKeyDictionary[asyncio.Future[Any], tuple[int, list[Any]]] = WeakKeyDictionary()  # in loops of threads
_older: WeakSet[threading.Thread] = WeakSet()  # those there before the running cell: their numbers are used again
_draining_until = -1e9
_one_at_a_time = threading.RLock()


def set_policy(policy: str | None) -> None:
    """Set the policy of init(on_interrupt=). None: cancel in IPython, detach elsewhere."""
    global _policy
    _policy = policy


def policy() -> str:
    """The current policy: "cancel", "detach" or "force"."""
    if _policy is not None:
        return _policy
    return "cancel" if _in_ipython() else "detach"


def _in_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def waiting_was_stopped(waited: Iterable[Any]) -> list[Any]:
    """A KeyboardInterrupt ended a wait for these refs and streams. Returns those whose tasks are now cancelled.

    The caller handles the interrupt. On its way out of a block it may pass several waits, and is one press for all.
    """
    chosen = policy()
    if chosen == "detach":
        return []
    done = _done_by_this_press() | _done_for_this_thread()
    mine = [thing for thing in _of_this_cell(waited) if id(thing) not in done]
    again = {id(thing) for thing in _last_cancelled} if recently_stopped() else set()
    number = _unfinished_tasks(mine)
    forced = {id(thing) for thing in mine if chosen == "force" or id(thing) in again}
    for thing in mine:
        _cancel([thing], force=id(thing) in forced)
    _remember([*_last_cancelled, *mine] if done else mine)
    _done_by_this_press().update(map(id, mine))
    _say(number, killed=bool(forced))
    return mine


def wait_in_thread(wait: Callable[[], T], waited: list[Any]) -> T:
    """Wait in another thread than the main one, until `threads_were_stopped` ends it by a KeyboardInterrupt."""
    thread = threading.get_ident()
    if thread in _waited or policy() == "detach":
        return wait()
    _waited[thread] = waited
    try:
        with interruptible.stoppable():
            if time.monotonic() < _draining_until and _is_of_this_cell(threading.current_thread()):
                threads_were_stopped(_last_stop)
            return wait()
    finally:
        del _waited[thread]


def await_in_thread(future: asyncio.Future[Any], things: list[Any]) -> None:
    """A future or an asyncio task awaits these refs and streams. If its loop is of another thread than the main one,
    `threads_were_stopped` ends the loop by a KeyboardInterrupt, as Python does with a main thread's.
    """
    thread = threading.current_thread()
    if engines.cell_source is None or thread is threading.main_thread() or policy() == "detach":
        return
    _awaited[future] = (thread.ident or 0, things)
    if time.monotonic() < _draining_until and _is_of_this_cell(thread):
        threads_were_stopped(_last_stop)


def threads_were_stopped(pressed_at: float) -> None:
    """Stop was pressed: end the waits of the cell's threads, and cancel what they wait for and the cell submitted.

    `pressed_at` is of time.monotonic(): what has been cancelled since then is done. Several threads may call this for
    one press.
    """
    if policy() != "detach":
        with _one_at_a_time:
            _stop_threads(pressed_at)


def _stop_threads(pressed_at: float) -> None:
    global _draining_until
    chosen = policy()
    waiting = interruptible.waiting_threads()
    of_cell = {thread.ident or 0 for thread in threading.enumerate() if _is_of_this_cell(thread)}
    threads, awaits = of_cell & waiting, _awaits_of(of_cell)
    known = {id(thing) for thing in _last_cancelled}
    again = known if _last_stop < pressed_at < _last_stop + AGAIN_S else set()
    waited = [*(_waited.get(thread, []) for thread in threads), *awaits.values()]
    things = {id(thing): thing for each in waited for thing in each}
    mine = [thing for thing in _of_this_cell(things.values()) if id(thing) in again or id(thing) not in known]
    number = _unfinished_tasks(mine)
    forced = {id(thing) for thing in mine if chosen == "force" or id(thing) in again}
    for thing in mine:
        _cancel([thing], force=id(thing) in forced)
    if mine:
        _remember([*_last_cancelled, *mine])
    _draining_until = time.monotonic() + DRAIN_S
    interruptible.end_waits(threads)
    for loop in {future.get_loop() for future in awaits}:
        with suppress(RuntimeError):  # it was closed meanwhile
            loop.call_soon_threadsafe(_interrupt)
    _say(number, killed=bool(forced))


def _awaits_of(threads: set[int]) -> dict[asyncio.Future[Any], list[Any]]:
    """What the loops of these threads await; other threads may begin further awaits meanwhile."""
    futures = [future for reference in _awaited.keyrefs() if (future := reference()) and not future.done()]
    found = [(future, _awaited[future]) for future in futures]
    return {future: things for future, (thread, things) in found if thread in threads}


def _interrupt() -> None:
    raise KeyboardInterrupt("Stop was pressed")


def _is_of_this_cell(thread: threading.Thread) -> bool:
    """Whether the running cell started the thread, or it belongs to a pool that works for any cell. Threads of nbaccel
    are no cell's: a training run has one.
    """
    if thread.name.startswith("nbaccel"):
        return False
    if thread not in _older:
        return True
    pools = sys.modules.get("concurrent.futures.thread")
    return pools is not None and getattr(thread, "_target", None) is getattr(pools, "_worker", pools)


def cell_started() -> None:
    """A cell begins: the threads that are there now are none that it started."""
    global _older, _draining_until
    _older = WeakSet(threading.enumerate())
    _draining_until = -1e9


def _done_by_this_press() -> set[int]:
    """The ids of what the interrupt that is being handled has cancelled already; to be added to."""
    press = sys.exc_info()[1]
    if not isinstance(press, KeyboardInterrupt):
        return set()
    found: set[int] = press.__dict__.setdefault("_nbaccel_cancelled", set())
    return found


def _done_for_this_thread() -> set[int]:
    """The ids of what `threads_were_stopped` has cancelled, before it ended the waits of this thread."""
    return set() if threading.current_thread() is threading.main_thread() else {id(thing) for thing in _last_cancelled}


def _unfinished_tasks(things: list[Any]) -> int:
    """The number of tasks to cancel: when a wait for many stops, most of them may have ended already."""
    engine = engines.started()
    refs = [thing for thing in things if not thing._is_stream]
    if refs and engine is not None:
        with suppress(RayError, OSError):  # a head that has gone: the awaited values are lost as well
            over = {id(ref) for ref in engine.wait(refs, len(refs), 0.0, False)[0]}
            things = [thing for thing in things if id(thing) not in over]
    return len({thing.task_id().binary() for thing in things})


def _say(number: int, *, killed: bool) -> None:
    """Show what Stop did, under the cell that it ended."""
    if number:
        done = f"Stopped: {wording.count(number, 'task')} {'killed' if killed else 'cancelled'}."
        sinks.installed.notice(sinks.Notice("stopped", done))


def pressed_again() -> bool:
    """Stop was pressed while nothing runs: force what the press before cancelled. Returns whether there was any."""
    if time.monotonic() - _last_stop >= AGAIN_S or not _last_cancelled:
        return False
    _cancel(_last_cancelled, force=True)
    _last_cancelled.clear()
    return True


def recently_stopped() -> bool:
    """Whether another press now would force."""
    return bool(_last_cancelled) and time.monotonic() - _last_stop < AGAIN_S


def _remember(cancelled: list[Any]) -> None:
    global _last_stop
    _last_stop = time.monotonic()
    _last_cancelled[:] = cancelled


def _of_this_cell(waited: Iterable[Any]) -> list[Any]:
    """The refs and streams that the running cell submitted; outside of a notebook all of them."""
    cell = engines.cell_source()[1] if engines.cell_source is not None else b""
    return [thing for thing in waited if thing._cell == cell]


def _cancel(things: list[Any], *, force: bool) -> None:
    engine = engines.started()
    if engine is None:
        return
    for thing in things:
        try:
            engine.cancel(thing, force=force, recursive=True)
        except ValueError:  # an actor's task cannot be forced: asking is all that can be done
            engine.cancel(thing, force=False, recursive=True)


# ---- awaited refs: a stopped cell cancels its asyncio futures, and so do wait_for and gather, which must not matter

_let_go: dict[int, ObjectRef[Any] | ObjectRefGenerator] = {}


def await_was_cancelled(thing: ObjectRef[Any] | ObjectRefGenerator) -> None:
    """An await of a ref or stream was cancelled. Only the end of the cell tells whether Stop was the reason."""
    if policy() != "detach" and id(thing) not in _done_for_this_thread():
        _let_go[id(thing)] = thing


def cell_ended(error: BaseException | None) -> None:
    """A cell has ended. If Stop ended it, cancel its awaited tasks, and let its pools run empty."""
    let_go = list(_let_go.values())
    _let_go.clear()
    if error is None or type(error).__name__ not in ("KeyboardInterrupt", "CancelledError"):
        return
    if let_go:
        waiting_was_stopped(let_go)
    deadline = time.monotonic() + POOLS_END_S
    for thread in threading.enumerate():
        if thread not in _older and _is_of_ended_pool(thread):
            thread.join(max(0.0, deadline - time.monotonic()))


def _is_of_ended_pool(thread: threading.Thread) -> bool:
    """Whether it only empties the queue of a ThreadPoolExecutor that is shut down, as a `with` does on its way out."""
    pools = sys.modules.get("concurrent.futures.thread")
    if pools is None or getattr(thread, "_target", None) is not getattr(pools, "_worker", pools):
        return False
    executor = getattr(thread, "_args", (lambda: None,))[0]()
    return executor is None or getattr(executor, "_shutdown", False)


__all__ = [
    "await_in_thread",
    "await_was_cancelled",
    "cell_ended",
    "cell_started",
    "policy",
    "pressed_again",
    "recently_stopped",
    "set_policy",
    "threads_were_stopped",
    "wait_in_thread",
    "waiting_was_stopped",
]
