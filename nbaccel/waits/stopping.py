"""The Stop button cancels the tasks that the interrupted cell submitted and waits for.

The first press cancels (KeyboardInterrupt in the task, its worker stays warm). A second press within `AGAIN_S` seconds
forces (the worker is killed, its device becomes free). `init(on_interrupt="detach")`, the default of scripts, leaves
tasks alone; "force" kills at the first press. Tasks that another cell submitted are never touched.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.handles.refs import ObjectRef, ObjectRefGenerator
from nbaccel.views import sinks, wording

AGAIN_S = 3.0

_policy: str | None = None
_last_stop = -1e9
_last_cancelled: list[Any] = []


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
    done = _done_by_this_press()
    mine = [thing for thing in _of_this_cell(waited) if id(thing) not in done]
    again = {id(thing) for thing in _last_cancelled} if recently_stopped() else set()
    number = _unfinished_tasks(mine)
    forced = {id(thing) for thing in mine if chosen == "force" or id(thing) in again}
    for thing in mine:
        _cancel([thing], force=id(thing) in forced)
    _remember([*_last_cancelled, *mine] if done else mine)
    done.update(map(id, mine))
    _say(number, killed=bool(forced))
    return mine


def _done_by_this_press() -> set[int]:
    """The ids of what the interrupt that is being handled has cancelled already; to be added to."""
    press = sys.exc_info()[1]
    if not isinstance(press, KeyboardInterrupt):
        return set()
    found: set[int] = press.__dict__.setdefault("_nbaccel_cancelled", set())
    return found


def _unfinished_tasks(things: list[Any]) -> int:
    """The number of tasks to cancel: when a wait for many stops, most of them may have ended already."""
    engine = engines.started()
    refs = [thing for thing in things if isinstance(thing, ObjectRef)]
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
    if policy() != "detach":
        _let_go[id(thing)] = thing


def cell_ended(error: BaseException | None) -> None:
    """A cell has ended. If Stop ended it, cancel its awaited tasks."""
    let_go = list(_let_go.values())
    _let_go.clear()
    if let_go and error is not None and type(error).__name__ in ("KeyboardInterrupt", "CancelledError"):
        waiting_was_stopped(let_go)


__all__ = [
    "await_was_cancelled",
    "cell_ended",
    "policy",
    "pressed_again",
    "recently_stopped",
    "set_policy",
    "waiting_was_stopped",
]
