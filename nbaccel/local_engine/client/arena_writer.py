"""Filling ranges of the arena: fresh ones with pwritev, recycled and prepared ones through a mapping that is kept.

Measured for 100 MB: pwritev takes 19 ms into pages that are there (it looks up each page) and 39 ms into fresh ones; a
copy through a mapping takes 39 ms when each page has to be mapped first, 18 ms when they are mapped at once
(MAP_POPULATE), and 9 ms, as any copy in memory, when the mapping is there already. So the first write of a range by
this process uses pwritev, the second maps it, and all others cost the copy alone. In a driver so does the first, where
the head has had pages ready and `arena_window` has mapped them.

A mapping loses its pages when the head gives memory of the arena back: to write through it then would cost a fault for
each page. So mappings are dropped when the head has given back since.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

from nbaccel.local_engine.arena import pages
from nbaccel.local_engine.client.arena_window import ArenaWindow

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
