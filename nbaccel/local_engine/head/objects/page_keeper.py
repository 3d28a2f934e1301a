"""Keeps memory ready for the next large values, and gives back what nobody has used for a while.

```
  a large value needed more memory ──► Populate, piece by piece ──► PagesReady to its driver, which maps what is ready
  free for 8 s, or memory is short ──► set aside, GiveBack        ──► may be handed out again, as if never used
```
The mover does both: fresh pages cost several times the copy that fills them, and the head must not stop for them. One
order is under way at a time. To populate changes no bytes, so it does not matter who is given them meanwhile. What is
given back loses its bytes, so it is set aside until that is done. All heads of a user share the memory that may be kept
ready; the lock is on the user's runtime directory, leaves no file behind, and ends with its holder.
"""

from __future__ import annotations

import fcntl
import os
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.arena import PAGE, Arena
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.side_processes import mover
from nbaccel.views import sessions

MERGED_S = 0.5  # neighbours that came free within so short a time are one run


class FreeRun(NamedTuple):
    """Bytes of the arena that are free and have memory. `is_new`: nobody has used this memory yet."""

    start: int
    end: int
    since: float
    is_new: bool


class FreePages:
    """The free runs of one arena, disjoint. What is not in a run is taken, or has no memory."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._starts: list[int] = []  # ascending
        self._runs: dict[int, FreeRun] = {}
        self.bytes = 0
        self.new_bytes = 0

    # ---- what has happened

    def taken(self, offset: int, size: int) -> bool:
        """A range was handed out. Whether it needed more memory than was used before."""
        before, new_before = self.bytes, self.new_bytes
        self._cut(offset, offset + size)
        return self.new_bytes < new_before or before - self.bytes < size

    def given(self, offset: int, size: int, now: float) -> None:
        """A range came back. It was written, so it has memory."""
        self._put(FreeRun(offset, offset + size, now, False))

    def populated(self, offset: int, size: int, now: float) -> None:
        """These bytes have memory now; those of them that are free are new runs, unless they had memory before."""
        for start, end in list(self._gaps_between(offset, offset + size)):
            self._put(FreeRun(start, end, now, True))

    def given_back(self, offset: int, size: int) -> None:
        """The memory of these bytes goes back to the system."""
        self._cut(offset, offset + size)

    # ---- what may happen next

    def next_gap(self, most: int) -> tuple[int, int] | None:
        """(offset, size) of the first free bytes without memory, at most so many; None if all free bytes have some."""
        for start, end in self._gaps_between(0, self._arena.capacity):
            return start, min(end - start, most)
        return None

    def unused_since(self, when: float, most: int) -> tuple[int, int] | None:
        """(offset, size) of neighbouring runs, at most so many bytes, that nobody has used since this time."""
        for position, start in enumerate(self._starts):
            if self._runs[start].since <= when:
                end = self._end_of_due(position, when)
                return start, min(end - start, most)
        return None

    def _end_of_due(self, position: int, when: float) -> int:
        end = self._runs[self._starts[position]].end
        for start in self._starts[position + 1 :]:
            run = self._runs[start]
            if run.start != end or run.since > when:
                break
            end = run.end
        return end

    def stretches(self, least: int, most: int) -> list[tuple[int, int]]:
        """(start, end) of free bytes with memory, where at least so many lie together; the lowest, at most so many."""
        joined: list[tuple[int, int]] = []
        for start in self._starts:
            end = self._runs[start].end
            if joined and joined[-1][1] == start:
                joined[-1] = joined[-1][0], end
            else:
                joined.append((start, end))
        chosen = []
        for start, end in joined:
            if min(end - start, most) >= least:
                chosen.append((start, min(end, start + most)))
                most -= chosen[-1][1] - start
        return chosen

    # ---- runs

    def _gaps_between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        for start, end in self._arena.free_ranges():
            start, end = max(start, low), min(end, high)
            for run in self._within(start, end):
                if start < run.start:
                    yield start, run.start
                start = run.end
            if start < end:
                yield start, end

    def _within(self, low: int, high: int) -> list[FreeRun]:
        """The runs that have a byte in common with this range."""
        first = max(bisect_right(self._starts, low) - 1, 0)
        last = bisect_left(self._starts, high)
        return [run for start in self._starts[first:last] if (run := self._runs[start]).end > low]

    def _cut(self, low: int, high: int) -> None:
        for run in self._within(low, high):
            self._remove(run)
            if run.start < low:
                self._add(run._replace(end=low))
            if run.end > high:
                self._add(run._replace(start=high))

    def _put(self, run: FreeRun) -> None:
        """Add a run, joined with the one before it if both came free at about the same time."""
        position = bisect_left(self._starts, run.start)
        if position > 0:
            before = self._runs[self._starts[position - 1]]
            if before.end == run.start and before.is_new == run.is_new and run.since - before.since < MERGED_S:
                self._remove(before)
                run = FreeRun(before.start, run.end, before.since, run.is_new)
        self._add(run)

    def _add(self, run: FreeRun) -> None:
        insort(self._starts, run.start)
        self._runs[run.start] = run
        self._count(run, 1)

    def _remove(self, run: FreeRun) -> None:
        del self._starts[bisect_left(self._starts, run.start)]
        del self._runs[run.start]
        self._count(run, -1)

    def _count(self, run: FreeRun, sign: int) -> None:
        self.bytes += sign * (run.end - run.start)
        if run.is_new:
            self.new_bytes += sign * (run.end - run.start)

    def check(self) -> None:
        """Assert that the runs are disjoint, that all their bytes are free, and that the sums are right."""
        end = 0
        for start in self._starts:
            run = self._runs[start]
            assert end <= run.start == start < run.end, run
            assert any(low <= start and run.end <= high for low, high in self._arena.free_ranges()), run
            end = run.end
        assert self.bytes == sum(run.end - run.start for run in self._runs.values())
        assert self.new_bytes == sum(run.end - run.start for run in self._runs.values() if run.is_new)


SPARED = 10  # the part of all memory, 1 by this, that is left to others
STALLED = 10.0  # per cent of the last ten seconds in which some process waited for memory: then it is short
_UNLIMITED = 1 << 60


class MachineMemory:
    """The memory that this machine, and this head's container, have left. `root` is where /proc and /sys lie."""

    def __init__(self, root: str | os.PathLike[str] = "/") -> None:
        self._root = root
        self._lock_fd = -1

    def room_bytes(self) -> int:
        """How much may be taken for later; 0 or less if the machine is short of memory."""
        if self._stalled() >= STALLED:
            return 0
        return min(self._of_machine(), self._of_container())

    def _of_machine(self) -> int:
        facts = self._table("proc/meminfo")
        total, available = facts.get("MemTotal:", 0), facts.get("MemAvailable:", 0)
        return (available - total // SPARED) * 1024

    def _of_container(self) -> int:
        most = self._number("sys/fs/cgroup/memory.max")
        now = self._number("sys/fs/cgroup/memory.current")
        if most is None or now is None:
            return sys.maxsize
        cached = self._table("sys/fs/cgroup/memory.stat").get("inactive_file", 0)  # goes when memory is needed
        return most - most // SPARED - (now - cached)

    def _stalled(self) -> float:
        for word in self._words("proc/pressure/memory"):
            if word.startswith("avg10="):
                return float(word.removeprefix("avg10="))
        return 0.0

    def _number(self, path: str) -> int | None:
        words = self._words(path)
        return int(words[0]) if words and words[0].isdigit() and int(words[0]) < _UNLIMITED else None

    def _table(self, path: str) -> dict[str, int]:
        lines = [line.split() for line in self._text(path).splitlines()]
        return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}

    def _words(self, path: str) -> list[str]:
        return self._text(path).split()

    def _text(self, path: str) -> str:
        try:
            with open(os.path.join(self._root, path)) as file:
                return file.read()
        except OSError:
            return ""  # this kernel or container does not say it

    # ---- whose turn it is

    def take_turn(self) -> bool:
        """Whether this head may keep memory ready now: no other head of this user does."""
        if self._lock_fd < 0:
            self._lock_fd = _locked(sessions.directory())
        return self._lock_fd >= 0

    def end_turn(self) -> None:
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


def _locked(path: str | os.PathLike[str]) -> int:
    """A descriptor that holds a directory's lock; -1 if somebody else does, or it cannot be locked (on a network)."""
    fd = -1
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if fd >= 0:
            os.close(fd)
        return -1
    return fd


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
        notify_driver: Callable[[int, wire.PagesReady], None],
    ) -> None:
        self._timers = timers
        self._arena = arena
        self._memory = memory
        self._order = order
        self._rest = rest
        self._notify_driver = notify_driver
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
            self._send(mover.GiveBack(*due))
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
            self._send(mover.Populate(*gap))
            return
        self._wanted_by = None
        ready = self.pages.stretches(LARGE_BYTES, READY_BYTES)
        if ready:
            self._notify_driver(client, wire.PagesReady(ready, self.times_given_back))

    def _send(self, order: PagesOrder) -> None:
        self._under_way = order
        self._order(order)

    def send_again(self) -> None:
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
