"""Ends the two agents of Ray that would survive a killed notebook for a minute, because they do not notice its end.

Ray's own processes end with the driver that started them. The agents look after a minute only. A small process of ours
waits for the driver's end, which it also sees when that was killed, and then ends them.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

RAYLET_ENDS_S = 60.0  # far above what it takes; the agents look by themselves after that
AGENTS_END_S = 2.0
LOOK_EVERY_S = 0.05

Known = tuple[int, float]  # a process by its id and the time of its start (clock ticks): ids are used again


def begin() -> subprocess.Popen[bytes] | None:
    """Start the process that waits for the end of this one; None where Ray's processes are not found."""
    raylet, agents = _agents()
    if raylet is None or not agents:
        return None
    words = [str(part) for known in ((os.getpid(), started_at(os.getpid())), raylet, *agents) for part in known]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", os.path.abspath(__file__), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a signal to the notebook's group does not kill it too
    )


def _agents() -> tuple[Known | None, list[Known]]:
    """The raylet that this process has started, and its children: the agents, and workers that end by themselves."""
    raylets = [pid for pid in children_of(os.getpid()) if b"raylet/raylet" in command_of(pid)]
    if not raylets:
        return None, []
    return (raylets[-1], started_at(raylets[-1])), [(pid, started_at(pid)) for pid in children_of(raylets[-1])]


def children_of(parent: int) -> list[int]:
    """Read by ourselves: psutil leaves children out whose clock was set while they started."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return sorted(pid for pid in pids if _facts(pid)[1:2] == [str(parent)])


def command_of(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _facts(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on; empty where there is none.

    As nbaccel.proc does it, which is not imported here: this file runs by itself, without site-packages, to start fast.
    """
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:  # a process may have any name
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def started_at(pid: int) -> float:
    """0 where there is no such process."""
    facts = _facts(pid)
    return float(facts[19]) if facts and facts[0] != "Z" else 0.0


def lives(known: Known) -> bool:
    """One that had ended before its start was read (0) lives no more, though nobody has its id."""
    return known[1] > 0 and started_at(known[0]) == known[1]


def _wait_for_end(known: Known) -> None:
    try:
        end = os.pidfd_open(known[0])
    except OSError:
        return
    if lives(known):
        select.select([end], [], [])


def _gone_within(known: list[Known], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(map(lives, known)):
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _send(known: list[Known], number: int) -> None:
    for each in known:
        if lives(each):
            try:
                os.kill(each[0], number)
            except OSError:
                continue


def main(words: list[str]) -> None:
    """In the process that waits; `words`: ids and starts of the driver, the raylet and its agents."""
    driver, raylet, *agents = [(int(words[i]), float(words[i + 1])) for i in range(0, len(words), 2)]
    _wait_for_end(driver)
    if not _gone_within([raylet], RAYLET_ENDS_S):
        return  # another process keeps it
    _send(agents, signal.SIGTERM)
    if not _gone_within(agents, AGENTS_END_S):
        _send(agents, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
