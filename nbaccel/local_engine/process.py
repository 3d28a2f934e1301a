"""System calls that the life of processes needs and Python has no name for; sentences about how one ended."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from collections.abc import Collection

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)
OOM_SCORE_ADJ = 300  # above a kernel's 0: when memory runs out, a worker goes first


def raise_descriptor_limit() -> None:
    """As many open files as the system allows: each worker costs the head and the log process a few."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def die_with_parent(parent_pid: int) -> None:
    """End this process by SIGKILL when its parent's thread ends; end it now if that has already happened."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(0)


def become_subreaper() -> None:
    """Adopt orphans: every worker whose forker has gone becomes our child, so that we learn how it ends."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def prefer_as_victim() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(OOM_SCORE_ADJ))
    except OSError:
        pass  # a container that forbids it


def ending(status: int) -> tuple[str, int | None, int | None]:
    """(words, exit code, signal number) of a wait status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was killed by {_signal_name(number)}{_hint(number)}", None, number
    code = os.WEXITSTATUS(status)
    return f"exited with code {code}", code, None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _hint(number: int) -> str:
    hints = {
        signal.SIGKILL: " (kill -9, or the kernel's out-of-memory killer)",
        signal.SIGSEGV: " (a segmentation fault in native code)",
        signal.SIGABRT: " (native code gave up: abort())",
        signal.SIGBUS: " (memory that could not be provided)",
    }
    return hints.get(signal.Signals(number), "") if number in list(signal.Signals) else ""


def start_time(pid: int) -> int:
    """When the process started, in clock ticks since boot: with the pid it names a process for good. 0 if it is
    gone.
    """
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether a living process is a child of another, or a child's child."""
    seen: set[int] = set()
    while pid > 1 and pid not in seen and pid != ancestor:
        seen.add(pid)
        try:
            with open(f"/proc/{pid}/stat") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            return False
    return bool(seen) and pid == ancestor


def kill_sessions(pids: set[int]) -> None:
    """SIGKILL workers and what they started: everything in their sessions, and their descendants in other ones."""
    descendants = _descendants(pids)  # now: a parent that is dead has no children
    for pid in pids:
        kill_group(pid)
    for pid in pids | descendants:
        _kill(pid)  # it may not have made its own group yet
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in pids:
            fields = _stat(int(entry))
            if fields is not None and (fields[1] in pids or fields[1] in descendants):
                kill_group(fields[0])


def _descendants(pids: set[int]) -> set[int]:
    found: set[int] = set()
    pending = list(pids)
    while pending:
        children = _children(pending.pop()) - found
        found |= children
        pending += children
    return found


def _children(pid: int) -> set[int]:
    """Of all threads of a process; none where the kernel has no such list: sessions are all there is to go by."""
    children: set[int] = set()
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children.update(map(int, file.read().split()))
    except OSError:
        pass  # it ended meanwhile, or has no list
    return children


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it was faster, or has another user by now


def kill_orphans(sessions: Collection[int]) -> None:
    """SIGKILL those of our adopted children that belong to these sessions."""
    try:
        with open("/proc/thread-self/children") as file:
            children = file.read().split()
    except OSError:
        return  # a kernel without this list: their groups were killed, and at the end everything is
    for child in children:
        fields = _stat(int(child))
        if fields is not None and int(child) not in sessions and fields[1] in sessions:
            kill_group(fields[0])


def kill_marked(variable: str, value: str) -> None:
    """SIGKILL every process, but us, that was started with this variable: what hid in a session of its own."""
    mark = f"{variable}={value}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            if mark in environment(int(entry)):
                os.kill(int(entry), signal.SIGKILL)
        except OSError:
            continue  # another user's, or gone


def environment(pid: int) -> list[bytes]:
    """The variables that a process was started with.

    They cannot be read for a moment while a process begins to run a program: the file is empty until the kernel has
    laid out the new program's memory. This waits until that is done, at most a second.

    Raises OSError: the process is another user's, or has ended.
    """
    deadline = time.monotonic() + 1
    while True:
        with open(f"/proc/{pid}/environ", "rb") as file:
            content = file.read()
        if content or not _begins_a_program(pid) or time.monotonic() > deadline:
            return content.split(b"\0")
        time.sleep(0.001)


def _begins_a_program(pid: int) -> bool:
    """Whether a process has memory, and the kernel has not noted yet where its variables lie."""
    fields = _stat_fields(pid)
    virtual_bytes, variables_end = int(fields[20]), int(fields[48])
    return virtual_bytes > 0 and variables_end == 0


def kill_group(group: int) -> None:
    """SIGKILL a process group, whose leader may have been reaped."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it was faster


def _stat(pid: int) -> tuple[int, int] | None:
    """(process group, session) of a process."""
    try:
        fields = _stat_fields(pid)
        return int(fields[2]), int(fields[3])
    except (OSError, IndexError, ValueError):
        return None


def _stat_fields(pid: int) -> list[str]:
    """What /proc says of a process after its name: the state is field 0 here, and field 3 in proc(5)."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()
