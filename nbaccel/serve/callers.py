"""This process's way to deployments: one loop for all its links, and a route for each deployment that it calls.

In a driver or a task the loop has a thread of its own, which begins with the first call. In a replica it is the
replica's own loop, so that a call from async code changes no thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

import nbaccel
from nbaccel import engine as engines
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.link import Exchange, Frame, FrameKind, FrameLink, LinkLost, connect, new_loop
from nbaccel.serve.records import decode_membership, encode
from nbaccel.serve.routing import Route

T = TypeVar("T")

_REPORT_S = 0.2  # between two reports of a queue
_AGAIN_S = 0.1  # between two attempts to reach the door, which has a successor when it dies
_LONGEST_PAUSE_S = 2.0
_decode = msgspec.msgpack.decode


def folder() -> str:
    """Where the sockets of this job's door and replicas are: inside of the session's directory, for this user alone."""
    facts = nbaccel.get_runtime_context()
    return os.path.join(facts.get_temp_dir(), f"serve-{facts.get_job_id()}")


def door_path() -> str:
    return os.path.join(folder(), "door")


class Callers:
    """The routes of one process (or of one replica) to deployments of its session."""

    def __init__(self, path: str, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """`loop`: the one that runs here already; without it a thread with a loop of its own begins."""
        self._path = path
        self._routes: dict[tuple[str, str], Route] = {}
        self._watches: list[asyncio.Task[None]] = []
        self._door: FrameLink | None = None
        self._door_lock = asyncio.Lock()
        self._posted: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self._thread: threading.Thread | None = None
        self.loop = loop or new_loop()
        if loop is None:
            self._thread = threading.Thread(target=self._run, name="nbaccel-serve", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    # ---- from other threads

    def is_here(self) -> bool:
        """Whether the calling code runs in this loop: it must not block."""
        return asyncio._get_running_loop() is self.loop

    def post(self, act: Callable[[], None]) -> None:
        """Call this in the loop soon. Many posts are one wake-up."""
        self._posted.append(act)
        if not self._is_woken:
            self._is_woken = True
            self.loop.call_soon_threadsafe(self._drain)

    def _drain(self) -> None:
        self._is_woken = False
        while self._posted:
            self._posted.popleft()()

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run a coroutine in the loop. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work(), self.loop)

    def close(self) -> None:
        """Give up all calls and end the thread, if it is this object's own."""
        if self.loop.is_closed():
            return
        if self._thread is None:
            self._end_all()
            return
        self.loop.call_soon_threadsafe(self._end_all)
        self.loop.call_soon_threadsafe(self.loop.stop)
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _end_all(self) -> None:
        for watch in self._watches:
            watch.cancel()
        for route in self._routes.values():
            route.close()
        if self._door is not None:
            self._door.close()

    # ---- in the loop

    def route(self, app: str, deployment: str) -> Route:
        """The route to a deployment, which learns its replicas from the door."""
        key = (app, deployment)
        found = self._routes.get(key)
        if found is None:
            found = self._routes[key] = Route(f"{deployment} of {app}")
            self._watches.append(asyncio.ensure_future(self._watch(app, deployment, found)))
        return found

    async def _watch(self, app: str, deployment: str, route: Route) -> None:
        """Keep the members of a route as the door has them."""
        pause_s = _AGAIN_S
        while True:
            try:
                door = await self._reach()
                exchange = door.call(encode({"op": "watch", "app": app, "deployment": deployment}))
                reporter = _QueueReporter(route, exchange)
                while (frame := await exchange.next()).kind is FrameKind.CHUNK:
                    members, pause_s = decode_membership(frame.meta), _AGAIN_S
                    route.queue_grew = reporter.begin if members.scales else None
                    route.set(members)
                    if members.scales and route.queued:
                        reporter.begin()
            except (OSError, LinkLost):
                pass  # its successor comes, or the session ends
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _reach(self) -> FrameLink:
        """The link to the door. Raises OSError."""
        async with self._door_lock:
            if self._door is None or self._door.lost_because:
                self._door = await connect(self._path, FrameLink)
            return self._door

    async def ask_door(self, op: str, body: bytes = b"", **facts: Any) -> Frame:
        """Ask the controller something. Raises what it raised, LinkLost and OSError."""
        door = await self._reach()
        frame = await door.ask(encode({"op": op, "size": len(body), **facts}), body)
        if frame.kind is FrameKind.ERROR:
            raise RayServeException(_decode(frame.meta)["message"])
        return frame


class _QueueReporter:
    """Reports to the door how many requests wait at a route, while any does."""

    def __init__(self, route: Route, exchange: Exchange) -> None:
        self._route = route
        self._exchange = exchange
        self._is_due = False

    def begin(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(_REPORT_S, self._report)

    def _report(self) -> None:
        self._is_due = False
        if self._exchange.ended:
            return
        self._exchange.link.send(FrameKind.CHUNK, self._exchange.id, encode(self._route.queued))
        if self._route.queued:
            self.begin()


# ---- the one of this code

adopted: ContextVar[Callers] = ContextVar("adopted")  # a replica's
_own: Callers | None = None
_own_lock = threading.Lock()
_own_engine: object = None
engines.before_end(lambda engine: close())


def current() -> Callers:
    """The way of the running code. Starts nothing of the cluster."""
    replicas = adopted.get(None)
    if replicas is not None:
        return replicas
    return _own if _own is not None and _own_engine is engines.started() else _own_to(door_path())


def blocking() -> Callers:
    """A way that this code may wait for: not that of a replica whose own loop runs it."""
    ways = current()
    return _own_to(ways._path) if ways.is_here() else ways


def _own_to(path: str) -> Callers:
    global _own, _own_engine
    with _own_lock:
        if _own is not None and (_own_engine is not engines.started() or _own._path != path):
            _own.close()
            _own = None
        if _own is None:
            _own, _own_engine = Callers(path), engines.started()
        return _own


def close() -> None:
    """The session ends: all calls are given up."""
    global _own
    with _own_lock:
        ended, _own = _own, None
    if ended is not None:
        ended.close()
