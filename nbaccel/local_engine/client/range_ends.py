"""Which ranges of the arena have ended in this process, so that the head may use their memory again.

A range may end between any two steps of the user's code, and Ctrl-C may come just then. Python drops what is raised in
a finaliser with all that the finaliser would still have done. So the end itself is noted by a queue, in one step into
which no interrupt can come; only the nudge for the writer may be lost, and then the news comes a little later.
"""

from __future__ import annotations

import weakref

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.memory import Range


class _Mark(weakref.ref[Range]):
    """A range that may have ended, by the id of its object."""

    __slots__ = ("id",)
    id: bytes


class RangeEnds:
    """Tells the head of them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._marks: set[_Mark] = set()
        link.when_ended[_Mark] = self._say

    def watch(self, range: Range) -> None:
        """Tell the head when this range ends."""
        mark = _Mark(range, self._link.ended.put)
        mark.id = range.id
        self._marks.add(mark)
        self._link.nudge_at_end_of(range)

    def _say(self, ended: list[_Mark]) -> None:
        self._marks.difference_update(ended)
        self._link._outbox.append(wire.Unmapped([mark.id for mark in ended]))
