"""Who of a worker's two threads reads its link next: what each of them is at, as states with their moves.

```
  main thread   IDLE ── begin ──► WORKS ── idle ──► IDLE
  reader        SLEEPS ── begin (woken) ──► STANDS_BY ◄── main is idle ── CALLED
                  ▲                           │  │  ▲                       ▲
                  └── LOOKS times idle ───────┘  │  └── stop ── READS       │
                                                 ├── read, when called or when work lasts ──► READS
                                                 └── wait (the main thread awaits an answer) ──┘
```
An idle main thread reads by itself. The reader takes over while it works: at once when it is called, else when the work
has lasted for one look. Each state is written by one thread at a time but `reader`, which both write: a call that the
reader overlooks costs one look, since it finds the main thread at the same work then. `MOVES` is the whole table.
"""

from __future__ import annotations

from enum import Enum

LOOKS = 4  # the reader sleeps after finding the main thread idle so often: to wake it costs less than more looks


class Main(Enum):
    """What the main thread is at."""

    IDLE = "idle"  # it reads, or waits for a message from the reader
    WORKS = "works"


class Reader(Enum):
    """What the reader is at."""

    SLEEPS = "sleeps"  # until it is woken, however long
    STANDS_BY = "stands by"  # it checks the main thread from time to time
    CALLED = "called"  # it was woken and has not taken its turn yet
    READS = "reads"


State = Main | Reader
MOVES: dict[tuple[State, str], State] = {
    (Main.IDLE, "idle"): Main.IDLE,
    (Main.IDLE, "begin"): Main.WORKS,
    (Main.WORKS, "begin"): Main.WORKS,
    (Main.WORKS, "idle"): Main.IDLE,
    (Reader.SLEEPS, "begin"): Reader.STANDS_BY,
    (Reader.STANDS_BY, "begin"): Reader.STANDS_BY,
    (Reader.CALLED, "begin"): Reader.CALLED,
    (Reader.READS, "begin"): Reader.READS,
    (Reader.SLEEPS, "wait"): Reader.CALLED,
    (Reader.STANDS_BY, "wait"): Reader.CALLED,
    (Reader.CALLED, "wait"): Reader.CALLED,
    (Reader.READS, "wait"): Reader.READS,
    (Reader.STANDS_BY, "look"): Reader.STANDS_BY,
    (Reader.CALLED, "look"): Reader.STANDS_BY,
    (Reader.STANDS_BY, "read"): Reader.READS,
    (Reader.CALLED, "read"): Reader.READS,
    (Reader.READS, "stop"): Reader.STANDS_BY,
    (Reader.STANDS_BY, "sleep"): Reader.SLEEPS,
    (Reader.SLEEPS, "stay"): Reader.STANDS_BY,
}

# Enum members cost a Python-level lookup each time they are named on Python 3.11, and these are named for each task.
_IDLE, _WORKS = Main.IDLE, Main.WORKS
_SLEEPS, _STANDS_BY, _CALLED, _READS = Reader.SLEEPS, Reader.STANDS_BY, Reader.CALLED, Reader.READS


class SocketOwner:
    """The two states, and what each thread does next."""

    __slots__ = ("begun", "looks", "main", "reader")

    def __init__(self) -> None:
        self.main = _IDLE
        self.reader = _SLEEPS
        self.begun = 0  # how many tasks the main thread has begun
        self.looks = 0  # how often the reader found the main thread idle

    # ---- the main thread

    def idles(self) -> None:
        """It has nothing to run."""
        self.main = _IDLE

    def begins(self) -> bool:
        """It has something to run; whether it has to wake the reader."""
        self.main = _WORKS
        self.begun += 1
        if self.reader is not _SLEEPS:
            return False
        self.reader = _STANDS_BY
        return True

    def waits(self) -> bool:
        """It has said something, and may wait for an answer; whether it has to call the reader."""
        if self.main is _IDLE or self.reader is _CALLED or self.reader is _READS:
            return False
        self.reader = _CALLED
        return True

    # ---- the reader

    def is_wanted(self, begun: int, called: bool) -> bool:
        """The reader looks: has it to read, when so much had been `begun` at its last look?"""
        if self.main is _IDLE:
            self.looks += 1
            self.reader = _STANDS_BY
            return False
        if not called and self.begun != begun:
            return False
        self.looks = 0
        return True

    def reads(self) -> None:
        self.reader = _READS

    def stops(self) -> None:
        self.reader = _STANDS_BY

    def goes_on(self, begun: int, *, has_brought: bool) -> bool:
        """The reader has read once: does it read again? An idle main thread that wanted the turn waits for it."""
        return not has_brought and (self.begun == begun or self.main is _IDLE)

    def falls_asleep(self) -> bool:
        """Whether the reader may sleep now. The main thread may have begun something, and thought it awake."""
        self.looks = 0
        self.reader = _SLEEPS
        if self.main is _IDLE:
            return True
        self.reader = _STANDS_BY
        return False
