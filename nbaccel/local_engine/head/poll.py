"""The head's event loop: sockets, pipes, child signals and timers, each with the function to call."""

from __future__ import annotations

import heapq
import itertools
import select
import time
from collections.abc import Callable
from typing import Any, Protocol


class LoopTimers(Protocol):
    """The loop's clock, for components that wait for nothing but time."""

    def now(self) -> float: ...
    def at(self, when: float, call: Callable[[], None]) -> None: ...
    def after(self, pause_s: float, call: Callable[[], None]) -> None: ...


class Loop(LoopTimers, Protocol):
    """The loop, for components that have descriptors of their own."""

    def register(self, source: Any, on_readable: Callable[[], None]) -> None: ...
    def unregister(self, source: Any) -> None: ...
    def want_write(self, source: Any, on_writable: Callable[[], None]) -> None: ...
    def pause_reading(self, source: Any, paused: bool) -> None: ...


class Poll:
    """epoll with callbacks and timers. `clock` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.now = clock
        self._epoll = select.epoll()
        self._readers: dict[int, Callable[[], None]] = {}
        self._writers: dict[int, Callable[[], None]] = {}
        self._paused: set[int] = set()  # of the readers: only their end is reported
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def register(self, source: Any, on_readable: Callable[[], None]) -> None:
        fd = source if isinstance(source, int) else source.fileno()
        self._readers[fd] = on_readable
        self._epoll.register(fd, select.EPOLLIN)

    def unregister(self, source: Any) -> None:
        fd = source if isinstance(source, int) else source.fileno()
        if self._readers.pop(fd, None) is not None:
            self._writers.pop(fd, None)
            self._paused.discard(fd)
            self._epoll.unregister(fd)

    def want_write(self, source: Any, on_writable: Callable[[], None]) -> None:
        """Call a function once, when the socket takes bytes again."""
        fd = source if isinstance(source, int) else source.fileno()
        if fd in self._readers:
            self._writers[fd] = on_writable
            self._watch(fd)

    def pause_reading(self, source: Any, paused: bool) -> None:
        """Stop reading, or read again. A paused reader is still called when the other side has gone."""
        fd = source if isinstance(source, int) else source.fileno()
        if fd not in self._readers or (fd in self._paused) == paused:
            return
        (self._paused.add if paused else self._paused.discard)(fd)
        self._watch(fd)

    def _watch(self, fd: int) -> None:
        reading = 0 if fd in self._paused else select.EPOLLIN
        self._epoll.modify(fd, reading | (select.EPOLLOUT if fd in self._writers else 0))

    def after(self, pause_s: float, call: Callable[[], None]) -> None:
        """Call a function after so many seconds."""
        self.at(self.now() + pause_s, call)

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Call a function at this time of the clock."""
        heapq.heappush(self._timers, (when, next(self._order), call))

    def once(self) -> None:
        """Wait for events, and call their functions."""
        timeout_s = -1.0
        if self._timers:
            timeout_s = max(self._timers[0][0] - self.now(), 0)
        for fd, mask in self._epoll.poll(timeout_s):
            if mask & select.EPOLLOUT:
                writer = self._writers.pop(fd, None)
                if fd in self._readers:
                    self._watch(fd)
                if writer is not None:
                    writer()
            if mask & ~select.EPOLLOUT:
                reader = self._readers.get(fd)
                if reader is not None:
                    reader()
        timers = self._timers
        if timers:
            now = self.now()
            while timers and timers[0][0] <= now:
                heapq.heappop(timers)[2]()

    def close(self) -> None:
        self._epoll.close()
