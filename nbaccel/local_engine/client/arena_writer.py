"""Filling ranges of the arena: fresh ones with pwritev, recycled and prepared ones through a mapping that is kept.

Measured for 100 MB: pwritev takes 19 ms into pages that are there (it looks up each page) and 39 ms into fresh ones; a
copy through a mapping takes 39 ms when each page has to be mapped first, 18 ms when they are mapped at once
(MAP_POPULATE), and 9 ms, as any copy in memory, when the mapping is there already. So the first write of a range by
this process uses pwritev, the second maps it, and all others cost the copy alone. In a driver so does the first, where
the head has had pages ready and `ArenaWindow` has mapped them.

A mapping loses its pages when the head gives memory of the arena back: to write through it then would cost a fault for
each page. So mappings are dropped when the head has given back since.

Ranges of the arena that the head has given to this process and that hold no value yet.

The reader thread makes an `ArenaRange`, and a range that is dropped unused gives itself back. A KeyboardInterrupt at
any moment between the request for a range and the message that says what lies there therefore loses nothing.

A mapping of the whole arena, through which a driver fills ranges whose pages were mapped before they were asked for.
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
from functools import partial
from typing import Any, NamedTuple

from nbaccel import exceptions
from nbaccel.handles.safe_finalizer import SafeFinalizer
from nbaccel.local_engine import memory, wire
from nbaccel.local_engine.arena import pages
from nbaccel.local_engine.client.link import Link, block_signals


class ArenaRange(SafeFinalizer):
    """A range that starts at `offset`. It belongs to this process until it is used."""

    __slots__ = ("message", "offset", "request", "times_given_back")

    def __init__(self, link: Link, allocated: wire.Allocated) -> None:
        self.request = allocated.request
        self.offset = allocated.offset
        self.message = allocated.message
        self.times_given_back = allocated.times_given_back
        if allocated.offset >= 0:
            self.__del__ = partial(link.ended.put, wire.GiveUp(allocated.offset, allocated.request))

    def use(self) -> None:
        """The head knows of the value that lies here."""
        del self.__del__


class ArenaRanges:
    """Asks the head for ranges."""

    def __init__(self, link: Link) -> None:
        self._link = link
        link.receivers[wire.Allocated] = self._allocated
        link.when_ended[wire.GiveUp] = link._outbox.extend

    def _allocated(self, message: wire.Allocated) -> None:
        allocated: Any = ArenaRange(self._link, message)
        self._link._answered(allocated)

    def take(self, size: int) -> ArenaRange:
        """A range of `size` bytes. Raises ObjectStoreFullError."""
        request, reply = self._link._question()
        self._link.send_at_once(wire.Allocate(request, size))
        allocated: ArenaRange = self._link._wait_for(request, reply, None)
        if allocated.offset < 0:
            raise exceptions.ObjectStoreFullError(allocated.message)
        return allocated


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


KEEP_FROM_BYTES = 1 << 20  # below, a write is over before a mapping would pay
KEPT_BYTES = 1 << 30  # of mappings that this process keeps
_PIECES = 512  # of one pwritev; the system takes at most 1024
_STRIDE = 1 << 24  # a copy lets other threads run (and Stop be heard) after so many bytes


class ArenaWriter:
    """Writes values into the arena. Only the process that was given a range writes there."""

    def __init__(self, arena_fd: int, kept_bytes: int = KEPT_BYTES) -> None:
        self._fd = arena_fd
        self._limit = kept_bytes
        self._written: dict[int, int] = {}  # offset -> bytes, of ranges filled once
        self._kept: dict[int, mmap.mmap] = {}  # offset -> mapping, the one used last at the end
        self._kept_bytes = 0
        self._times_given_back = 0
        self.window = ArenaWindow(arena_fd)

    def write(self, pieces: list[Any], offset: int, size: int, times_given_back: int = 0) -> None:
        """Fill the range at `offset` with the pieces, `size` bytes together."""
        views = [view for view in (memoryview(piece).cast("B") for piece in pieces) if view.nbytes]
        if size < KEEP_FROM_BYTES:
            self._write_through(views, offset)
            return
        if times_given_back != self._times_given_back:
            self._forget_mappings()
            self._times_given_back = times_given_back
        window = self.window.mapping_of(offset, size, times_given_back)
        mapping = self._mapping(offset, size) if window is None else None
        if window is not None:
            _copy(views, window, offset)
        elif mapping is not None:
            _copy(views, mapping)
        else:
            self._write_through(views, offset)

    def close(self) -> None:
        """Release the mappings."""
        self.window.close()
        self._forget_mappings()

    def _forget_mappings(self) -> None:
        self._kept.clear()
        self._written.clear()
        self._kept_bytes = 0

    def _mapping(self, offset: int, size: int) -> mmap.mmap | None:
        """A mapping of a range that was filled before; None for another range."""
        mapping = self._kept.pop(offset, None)
        if mapping is not None and len(mapping) >= size:
            self._kept[offset] = mapping
            return mapping
        if mapping is not None:
            self._kept_bytes -= len(mapping)
        if self._written.get(offset, 0) < size or pages(size) > self._limit:
            self._written[offset] = size
            return None
        return self._keep(offset, size)

    def _keep(self, offset: int, size: int) -> mmap.mmap:
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        mapping = mmap.mmap(self._fd, pages(size), flags=flags, offset=offset)
        self._kept_bytes += len(mapping)
        while self._kept_bytes > self._limit and self._kept:
            self._kept_bytes -= len(self._kept.pop(next(iter(self._kept))))  # closed when nobody copies into it
        self._kept[offset] = mapping
        return mapping

    def _write_through(self, views: list[memoryview], offset: int) -> None:
        rest = list(views)
        while rest:
            done = os.pwritev(self._fd, rest[:_PIECES], offset)
            offset += done
            while rest and done >= rest[0].nbytes:
                done -= rest.pop(0).nbytes
            if done:
                rest[0] = rest[0][done:]


def _copy(views: list[memoryview], mapping: mmap.mmap, at: int = 0) -> None:
    with memoryview(mapping) as target:
        for view in views:
            for start in range(0, view.nbytes, _STRIDE):
                part = view[start : start + _STRIDE]
                target[at : at + part.nbytes] = part
                at += part.nbytes
