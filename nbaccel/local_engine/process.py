"""System calls on processes that Python does not offer, and sentences about how a process ended."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Collection

from nbaccel import proc

MARK = "NBACCEL_SESSION"  # in the environment of a head and of all that it starts
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
OOM_SCORE_ADJ = 300  # a notebook kernel has 0: when memory runs out, Linux kills a worker first

NICENESS = 5  # of workers: a kernel that computes beside a task has three quarters of their CPU (Ray: 15)
AUTOGROUP = "/proc/self/autogroup"
_VARIABLE = "RAY_worker_niceness"
_TRIES, _PAUSE_S = 100, 0.11


def raise_descriptor_limit() -> None:
    """Raise the limit of open files as far as possible: the head and the log process need a few for each worker."""
    import resource

    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def die_with_parent(parent_pid: int) -> None:
    """End this process by SIGKILL when its parent's thread ends; end it now if that has already happened."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(0)


def become_subreaper() -> None:
    """Adopt orphans: every worker whose forker has gone becomes our child, so that we learn how it ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(what: int, value: int) -> None:
    import ctypes  # a driver needs none of this

    ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def prefer_as_victim() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(OOM_SCORE_ADJ))
    except OSError:
        pass  # some containers forbid it


def be_nice() -> None:
    """Let other programs go first, such as the kernel and JupyterLab, as much as RAY_worker_niceness says (0 to 19).

    A worker has a session of its own. Where Linux gives each session an equal share (autogroup, as on most desktops),
    the niceness of a process counts only within its session, so that the session gets one as well.
    """
    try:
        niceness = max(int(os.environ.get(_VARIABLE, NICENESS)), os.getpriority(os.PRIO_PROCESS, 0))
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
    except (ValueError, OSError):
        return  # no number, or a system that has none
    if not _is_nice_session(niceness):
        threading.Thread(target=_be_nice_later, args=(niceness,), daemon=True).start()


def _be_nice_later(niceness: int) -> None:
    """Linux lets a user set one of them every tenth of a second, and workers start faster."""
    for _ in range(_TRIES):
        time.sleep(_PAUSE_S)
        if _is_nice_session(niceness):
            return


def _is_nice_session(niceness: int) -> bool:
    """Set the niceness of this session; False if that is to be tried again."""
    try:
        _set_group(niceness)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a system without groups
    return True


def _set_group(niceness: int) -> None:
    with open(AUTOGROUP, "w") as group:
        group.write(str(niceness))


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
        return proc.stat(pid).start_ticks
    except OSError:
        return 0


def descends_from(pid: int, ancestor: int) -> bool:
    """Whether a living process is a descendant of another."""
    seen: set[int] = set()
    while pid > 1 and pid not in seen and pid != ancestor:
        seen.add(pid)
        try:
            pid = proc.stat(pid).parent
        except OSError:
            return False
    return bool(seen) and pid == ancestor


def kill_sessions(pids: set[int]) -> None:
    """SIGKILL workers and the processes that they started: all of their sessions, and descendants in other sessions."""
    descendants = _descendants(pids)  # before the first kill: a dead parent no longer lists its children
    for pid in pids:
        kill_group(pid)
    for pid in pids | descendants:
        _kill(pid)  # the process may not have its own group yet
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in pids:
            facts = _stat(int(entry))
            if facts is not None and (facts.session in pids or facts.session in descendants):
                kill_group(facts.group)


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
        pass  # the process ended meanwhile, or this kernel has no such list
    return children


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # the process has already ended, or has changed its user


WORKER = "NBACCEL_WORKER"  # in the environment of a worker and of all that it starts: its id


def kill_orphans(sessions: Collection[int], dead: Collection[str], living: Collection[int]) -> None:
    """SIGKILL those of our adopted children that belong to these sessions, or that one of these dead workers started.

    A process that its worker put into a session of its own is known by the variable that it was started with.
    """
    try:
        with open("/proc/thread-self/children") as file:
            children = file.read().split()
    except OSError:
        return  # no such list in this kernel: their groups are killed, and all else at the head's end
    for child in children:
        facts = _stat(int(child))
        if facts is None or int(child) in sessions or int(child) in living:
            continue
        if facts.session in sessions:
            kill_group(facts.group)
        elif not facts.has_ended and _worker_of(int(child)) in dead:
            kill_sessions({int(child)})


def _worker_of(pid: int) -> str:
    """The id of the worker that started a process, "" if none did."""
    begins = f"{WORKER}=".encode()
    try:
        return (
            next((each for each in proc.environment(pid) if each.startswith(begins)), b"=").decode().partition("=")[2]
        )
    except (OSError, UnicodeDecodeError):
        return ""


def kill_marked(variable: str, value: str) -> None:
    """SIGKILL every other process that was started with this variable, even in a session of its own."""
    for pid in proc.started_with(variable, value):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue  # it has ended, or has changed its user


def kill_group(group: int) -> None:
    """SIGKILL a process group, whose leader may have been reaped."""
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # the group has already ended


def _stat(pid: int) -> proc.Stat | None:
    try:
        return proc.stat(pid)
    except OSError:
        return None
