"""Allocates ranges of the arena: a first-fit allocator over offsets, which merges neighbouring free ranges.

It owns no memory: the arena itself is one memfd, as large as the store's limit and backed only where it was written.
Freed space is kept (fresh pages cost ten times the copy that fills them), lowest offsets are used first, so that the
touched part stays small.
"""

from __future__ import annotations

from bisect import bisect_left, insort

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
        freed = size
        position = bisect_left(self._starts, offset)
        if position < len(self._starts) and self._starts[position] == offset + size:  # merge with the next
            size += self._size_at.pop(self._starts.pop(position))
        if position > 0:
            before = self._starts[position - 1]
            if before + self._size_at[before] == offset:  # merge with the one before
                self._size_at[before] += size
                return freed
        insort(self._starts, offset)
        self._size_at[offset] = size
        return freed

    def size_at(self, offset: int) -> int:
        """The size in bytes of the taken range at this offset. Raises KeyError if it was not taken."""
        return self._taken[offset]

    def check(self) -> None:
        """Assert that free and taken ranges cover the arena exactly, and that no two free ranges touch."""
        ranges = sorted(
            [(s, z, True) for s, z in self._size_at.items()] + [(s, z, False) for s, z in self._taken.items()]
        )
        assert self._starts == sorted(self._size_at)
        end, was_free = 0, False
        for start, size, free in ranges:
            assert start == end and size > 0 and not (free and was_free), (start, end, size)
            end, was_free = start + size, free
        assert end == self.capacity
        assert self.used == sum(self._taken.values())
