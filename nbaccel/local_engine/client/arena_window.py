"""A mapping of the whole arena, through which a driver fills ranges whose pages were mapped before they were asked for.

```
  head ── PagesReady: these parts have memory ──► a thread maps their pages ──► the next large put is a copy in memory
```
The mapping takes addresses but no memory of its own: pages that nobody prepared are never touched through it.
"""

from __future__ import annotations

import mmap
import os
import threading
from contextlib import suppress
from typing import NamedTuple

from nbaccel.local_engine import memory, wire
from nbaccel.local_engine.client.link import block_signals

_PIECE_BYTES = 8 << 20  # mapped at once: 1 ms, in which no other thread can change this process's mappings
_NORESERVE = 0x4000  # MAP_NORESERVE
MOST_MAPPED_BYTES = 1 << 30  # then the window begins anew: tables of pages take memory, too


class Mapped(NamedTuple):
    """Which parts of the arena are mapped with all their pages: (start, end), ascending, none touches another."""

    mapping: mmap.mmap | None = None
    parts: tuple[tuple[int, int], ...] = ()
    times_given_back: int = 0  # when they were mapped


class ArenaWindow:
    """One for each driver. Only the thread changes what is mapped; readers take all of it at once."""

    def __init__(self, arena_fd: int) -> None:
        self._fd = arena_fd
        self._mapped = Mapped()
        self._lock = threading.Lock()
        self._wanted: wire.PagesReady | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def pages_ready(self, message: wire.PagesReady) -> None:
        """Map these parts, in a thread that nobody waits for."""
        with self._lock:
            self._wanted = message
            if self._thread is None and not self._is_closed:
                thread = threading.Thread(target=self._prepare, name="nbaccel-pages", daemon=True)
                with suppress(RuntimeError):  # this process may have no more threads: it does without
                    thread.start()
                    self._thread = thread

    def mapping_of(self, offset: int, size: int, times_given_back: int) -> mmap.mmap | None:
        """The window, if the pages of this range are mapped and the head has not given them back since."""
        mapped = self._mapped
        if mapped.times_given_back != times_given_back:
            return None
        is_ready = any(start <= offset and offset + size <= end for start, end in mapped.parts)
        return mapped.mapping if is_ready else None

    def close(self) -> None:
        """End the thread. The mapping ends when nobody copies into it any more."""
        with self._lock:
            self._is_closed = True
            thread = self._thread
        if thread is not None:
            thread.join()
        self._mapped = Mapped()

    # ---- the thread

    def _prepare(self) -> None:
        block_signals()
        while (message := self._next()) is not None:
            mapping = self._begun(message)
            for start, end in message.stretches if mapping is not None else []:
                assert mapping is not None
                self._map(mapping, start, end)

    def _next(self) -> wire.PagesReady | None:
        with self._lock:
            message, self._wanted = self._wanted, None
            if message is None or self._is_closed:
                self._thread = message = None
            return message

    def _begun(self, message: wire.PagesReady) -> mmap.mmap | None:
        """The mapping, without the parts that have lost their pages, or that are too many."""
        before = self._mapped
        size = sum(end - start for start, end in before.parts)
        if before.times_given_back == message.times_given_back and size <= MOST_MAPPED_BYTES and before.mapping:
            return before.mapping
        try:
            mapping = mmap.mmap(self._fd, os.fstat(self._fd).st_size, flags=mmap.MAP_SHARED | _NORESERVE)
        except (OSError, ValueError):  # this process may not use so many addresses: it does without
            return None
        self._mapped = Mapped(mapping, (), message.times_given_back)
        return mapping

    def _map(self, mapping: mmap.mmap, start: int, end: int) -> None:
        for offset in range(start, end, _PIECE_BYTES):
            size = min(_PIECE_BYTES, end - offset)
            if self._is_closed or self._wanted is not None or not memory.populate(mapping, offset, size):
                return
            self._mapped = self._mapped._replace(parts=joined([*self._mapped.parts, (offset, offset + size)]))


def joined(parts: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same bytes in as few parts as possible, ascending."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return tuple(found)
