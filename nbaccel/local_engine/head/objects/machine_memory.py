"""How much memory of the machine a head may keep ready, and whose turn it is: all heads of a user share one amount.

The lock is on the user's runtime directory itself, so that it leaves no file behind. The system gives it up when its
holder ends, however that happens.
"""

from __future__ import annotations

import fcntl
import os
import sys

from nbaccel.views import sessions

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
