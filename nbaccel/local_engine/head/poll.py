"""The head's event loop (sockets, pipes, child signals, timers), acts that are tried again, and the head's own log."""

from __future__ import annotations

import heapq
import itertools
import select
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, Protocol

MOST_LINES = 200
Note = Callable[[str], None]  # writes one line to the head's own log


class Notes:
    """Call it with a text to write a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}"
        self.lines.append(line)
        del self.lines[:-MOST_LINES]
        try:
            sys.stderr.write(line + "\n")  # its own log file
            sys.stderr.flush()
        except OSError:
            pass  # a full disk: it is remembered above


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


FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 60.0


class RetryUntilSuccess:
    """Call it with an act that may be begun a second time: what the first try has done is not done again.

    Whatever the exception, somebody waits for the act or something stays taken until it is done. It is noted each time.
    """

    def __init__(self, timers: LoopTimers, note: Note) -> None:
        self._timers = timers
        self._note = note

    def __call__(self, act: Callable[[], None], pause_s: float = FIRST_PAUSE_S) -> None:
        try:
            act()
        except Exception:
            self._timers.after(pause_s, lambda: self(act, min(2 * pause_s, LONGEST_PAUSE_S)))
            self._note(f"this is retried in {pause_s:g} s:\n{traceback.format_exc()}")
