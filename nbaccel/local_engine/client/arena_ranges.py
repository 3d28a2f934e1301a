"""Ranges of the arena that the head has given to this process and that hold no value yet.

The reader thread makes an `ArenaRange`, and a range that is dropped unused gives itself back. A KeyboardInterrupt at
any moment between the request for a range and the message that says what lies there therefore loses nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nbaccel import exceptions
from nbaccel.handles.told_end import ToldEnd
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link


class ArenaRange(ToldEnd):
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
        self._link.say_at_once(wire.Allocate(request, size))
        allocated: ArenaRange = self._link._wait_for(request, reply, None)
        if allocated.offset < 0:
            raise exceptions.ObjectStoreFullError(allocated.message)
        return allocated
