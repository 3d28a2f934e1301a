"""Allocates ranges of the arena: a first-fit allocator over offsets, which merges neighbouring free ranges.

It owns no memory: the arena itself is one memfd, as large as the store's limit and backed only where it was written.
Lowest offsets are used first, so that the touched part stays small. The memory of freed space is kept for a while, as
fresh pages cost several times the copy that fills them; `head/objects/page_keeper.py` gives it back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

PAGE = 4096


def pages(size: int) -> int:
    """`size` rounded up to whole pages: a mapping starts at a page."""
    return -(-size // PAGE) * PAGE


class Arena:
    """Offsets of one arena of `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity - capacity % PAGE
        self.used = 0
        self.touched = 0  # highest end that was ever handed out
        self._starts: list[int] = [0] if self.capacity else []  # of free ranges, ascending
        self._size_at: dict[int, int] = {0: self.capacity} if self.capacity else {}
        self._taken: dict[int, int] = {}
        self._aside: dict[int, int] = {}  # free ranges that are not handed out now

    def take(self, size: int) -> int | None:
        """Take a range of `size` bytes, rounded up to whole pages. Returns its offset, or None if it does not fit."""
        need = pages(max(size, 1))
        for position, start in enumerate(self._starts):
            have = self._size_at[start]
            if have >= need:
                self._cut(position, start, have, need)
                return start
        return None

    def _cut(self, position: int, start: int, have: int, need: int) -> None:
        del self._size_at[start]
        if have == need:
            del self._starts[position]
        else:
            self._starts[position] = start + need
            self._size_at[start + need] = have - need
        self._taken[start] = need
        self.used += need
        self.touched = max(self.touched, start + need)

    def give(self, offset: int) -> int:
        """Give back the range at this offset and return its size in bytes. Raises KeyError if it was not taken."""
        size = self._taken.pop(offset)
        self.used -= size
        self._free(offset, size)
        return size

    def _free(self, offset: int, size: int) -> None:
        position = bisect_left(self._starts, offset)
        if position < len(self._starts) and self._starts[position] == offset + size:  # merge with the next
            size += self._size_at.pop(self._starts.pop(position))
        if position > 0:
            before = self._starts[position - 1]
            if before + self._size_at[before] == offset:  # merge with the one before
                self._size_at[before] += size
                return
        insort(self._starts, offset)
        self._size_at[offset] = size

    def free_ranges(self) -> Iterator[tuple[int, int]]:
        """(start, end) of each free range, lowest first, as `take` looks for room."""
        for start in self._starts:
            yield start, start + self._size_at[start]

    def set_aside(self, offset: int, size: int) -> None:
        """Hand out nothing of this part of a free range until `put_back`; it does not count as used."""
        position = bisect_right(self._starts, offset) - 1
        start = self._starts.pop(position)
        end = start + self._size_at.pop(start)
        assert start <= offset and offset + size <= end, (offset, size, start, end)
        self._aside[offset] = size
        for low, high in ((start, offset), (offset + size, end)):
            if low < high:
                insort(self._starts, low)
                self._size_at[low] = high - low

    def put_back(self, offset: int) -> None:
        """A range that was set aside may be handed out again."""
        self._free(offset, self._aside.pop(offset))

    def size_at(self, offset: int) -> int:
        """The size in bytes of the taken range at this offset. Raises KeyError if it was not taken."""
        return self._taken[offset]

    def check(self) -> None:
        """Assert that free and taken ranges cover the arena exactly, and that no two free ranges touch."""
        ranges = sorted(
            [(start, size, True) for start, size in self._size_at.items()]
            + [(start, size, False) for start, size in [*self._taken.items(), *self._aside.items()]]
        )
        assert self._starts == sorted(self._size_at)
        end, was_free = 0, False
        for start, size, free in ranges:
            assert start == end and size > 0 and not (free and was_free), (start, end, size)
            end, was_free = start + size, free
        assert end == self.capacity
        assert self.used == sum(self._taken.values())
