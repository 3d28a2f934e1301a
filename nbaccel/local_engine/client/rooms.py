"""Room in the arena that this process was given and has not filled yet.

A Room is made by the reader thread and gives itself up when it is dropped unused: a KeyboardInterrupt at any moment
between asking for room and telling the head what lies there costs nothing.
"""

from __future__ import annotations

from typing import Any

from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link


class Room:
    """An offset of the arena, ours until `used`."""

    __slots__ = ("_link", "message", "offset", "request", "used")

    def __init__(self, link: Link, allocated: wire.Allocated) -> None:
        self._link = link
        self.request = allocated.request
        self.offset = allocated.offset
        self.message = allocated.message
        self.used = allocated.offset < 0

    def __del__(self) -> None:
        if not self.used:
            self._link.say_later(wire.GiveUp(self.offset, self.request))


class Rooms:
    """Asks for room."""

    def __init__(self, link: Link) -> None:
        self._link = link
        link.receivers[wire.Allocated] = self._allocated

    def _allocated(self, message: wire.Allocated) -> None:
        room: Any = Room(self._link, message)
        self._link._answered(room)

    def take(self, size: int) -> Room:
        """Room for `size` bytes. Raises ObjectStoreFullError."""
        request, reply = self._link._question()
        self._link.say_at_once(wire.Allocate(request, size))
        room: Room = self._link._wait_for(request, reply, None)
        if room.offset < 0:
            raise exceptions.ObjectStoreFullError(room.message)
        return room
