"""Keeps memory ready for the next large values, and gives back what nobody has used for a while.

```
  a large value needed more memory ──► Populate, piece by piece ──► PagesReady to its driver, which maps what is ready
  free for 8 s, or memory is short ──► set aside, GiveBack        ──► may be handed out again, as if never used
```
The mover does both: fresh pages cost several times the copy that fills them, and the head must not stop for them. One
order is under way at a time. To populate changes no bytes, so it does not matter who is given them meanwhile. What is
given back loses its bytes, so it is set aside until that is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.arena import PAGE, Arena
from nbaccel.local_engine.head.objects.free_pages import FreePages
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.side_processes import mover

READY_BYTES = 256 << 20  # kept ready at most, by all heads of a user together
LARGE_BYTES = 1 << 20  # a value from which on ready pages are worth their mapping
UNUSED_S = 8.0  # then free memory goes; with the time between two looks that is less than ten seconds
LOOK_S = 1.0
_POPULATED_AT_ONCE = 32 << 20  # 10 ms: so long an object that goes to disk may have to wait
_GIVEN_AT_ONCE = 256 << 20

PagesOrder = mover.Populate | mover.GiveBack


class Memory(Protocol):
    """The machine's memory, which several heads share."""

    def room_bytes(self) -> int: ...
    def take_turn(self) -> bool: ...
    def end_turn(self) -> None: ...


class PageKeeper:
    """Of one arena. `order` gives the mover an order; `rest` is called when no memory is left to look after."""

    def __init__(
        self,
        timers: LoopTimers,
        arena: Arena,
        memory: Memory,
        *,
        order: Callable[[PagesOrder], None],
        rest: Callable[[], None],
        tell_driver: Callable[[int, wire.PagesReady], None],
    ) -> None:
        self._timers = timers
        self._arena = arena
        self._memory = memory
        self._order = order
        self._rest = rest
        self._tell_driver = tell_driver
        self.pages = FreePages(arena)
        self.times_given_back = 0  # mappings of the arena that are older have lost pages
        self._under_way: PagesOrder | None = None
        self._wanted_by: int | None = None  # the client whose value needed more memory
        self._is_looking = False

    @property
    def is_giving_back(self) -> bool:
        """Whether a part of the arena cannot be handed out for a moment."""
        return isinstance(self._under_way, mover.GiveBack)

    # ---- what happens to the arena

    def taken(self, offset: int, client: int | None) -> None:
        """A range was handed out, to a client that makes a new value."""
        size = self._arena.size_at(offset)
        if self.pages.taken(offset, size) and client is not None and size >= LARGE_BYTES:
            self._wanted_by = client

    def filled(self) -> None:
        """A range was written: now there is time to make others ready."""
        if self._wanted_by is not None:
            self._go_on()

    def given(self, offset: int, size: int) -> None:
        """A range came back to the arena."""
        self.pages.given(offset, size, self._timers.now())
        self._look_later()

    # ---- one order after the other

    def _go_on(self) -> None:
        if self._under_way is not None:
            return
        due = self.pages.unused_since(self._gone_by(), _GIVEN_AT_ONCE)
        if due is not None:
            self._arena.set_aside(*due)
            self.pages.given_back(*due)
            self._say(mover.GiveBack(*due))
        elif self._wanted_by is not None:
            self._make_ready(self._wanted_by)
        if self._under_way is None and not self.pages.new_bytes:
            self._memory.end_turn()

    def _gone_by(self) -> float:
        """What has been free since this time goes: everything, when the machine is short of memory."""
        now = self._timers.now()
        if self.pages.bytes and self._memory.room_bytes() <= 0:
            self._wanted_by = None
            return now
        return now - UNUSED_S

    def _make_ready(self, client: int) -> None:
        most = min(READY_BYTES - self.pages.bytes, self._memory.room_bytes(), _POPULATED_AT_ONCE) // PAGE * PAGE
        gap = self.pages.next_gap(most) if most >= LARGE_BYTES and self._memory.take_turn() else None
        if gap is not None:
            self._say(mover.Populate(*gap))
            return
        self._wanted_by = None
        ready = self.pages.stretches(LARGE_BYTES, READY_BYTES)
        if ready:
            self._tell_driver(client, wire.PagesReady(ready, self.times_given_back))

    def _say(self, order: PagesOrder) -> None:
        self._under_way = order
        self._order(order)

    def say_again(self) -> None:
        """The mover died: its successor does again what has not been reported."""
        if self._under_way is not None:
            self._order(self._under_way)

    def done(self, report: mover.PagesDone) -> None:
        """The mover has carried out the order."""
        order, self._under_way = self._under_way, None
        if isinstance(order, mover.GiveBack):
            self._arena.put_back(order.offset)
            self.times_given_back += 1
        elif report.error:
            self._wanted_by = None
        else:
            self.pages.populated(report.offset, report.size, self._timers.now())
        self._look_later()
        self._go_on()

    # ---- looking

    def _look_later(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._timers.after(LOOK_S, self._look)

    def _look(self) -> None:
        self._is_looking = False
        self._go_on()
        if self.pages.bytes or self._under_way is not None:
            self._look_later()
        else:
            self._rest()
