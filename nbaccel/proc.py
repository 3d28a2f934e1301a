"""Facts about processes and this boot from /proc, which only this module reads, so that its fields are parsed once.

Functions that do not say otherwise raise OSError if the process has ended or is hidden from this user.
"""

from __future__ import annotations

import functools
import os
import socket
import time

_PROGRAM_BEGINS_S = 1.0  # the longest wait for a program whose memory is being laid out; it takes microseconds


class Stat:
    """The fields of /proc/<pid>/stat that nbaccel uses; proc(5) describes them."""

    def __init__(
        self, state: str, parent: int, group: int, session: int, start_ticks: int, virtual_bytes: int, code_end: int
    ) -> None:
        self.state = state  # one letter
        self.parent = parent
        self.group = group
        self.session = session
        self.start_ticks = start_ticks  # since boot; together with the pid it identifies a process
        self.virtual_bytes = virtual_bytes
        self.code_end = code_end  # an address; 0 until the kernel has laid out the program's memory

    @property
    def has_ended(self) -> bool:
        """Whether the process is a zombie: it has ended, and its parent has not read its exit status."""
        return self.state in ("Z", "X")


def stat(pid: int) -> Stat:
    """Read /proc/<pid>/stat."""
    with open(f"/proc/{pid}/stat", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()  # the name before it may contain spaces and parentheses
    if len(fields) < 49:
        raise ProcessLookupError(f"/proc/{pid}/stat is cut short: the process has just ended.")
    return Stat(fields[0], *(int(fields[i]) for i in (1, 2, 3, 19, 20, 24)))


def is_running(pid: int, start_ticks: int, boot: str) -> bool:
    """Whether the process that had this id, start time and boot still runs; ids are used again."""
    if boot != boot_id():
        return False
    try:
        facts = stat(pid)
    except OSError:
        return False
    return not facts.has_ended and facts.start_ticks == start_ticks


def pid_namespace() -> int:
    """The id of the PID namespace that this process sees; 0 if /proc does not give it.

    The same number names another process, or none, in another namespace of the same boot: containers of one pod,
    sandboxes, `unshare --pid`.
    """
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def environment(pid: int) -> list[bytes]:
    """The variables that a process was started with, each `b"NAME=value"`.

    They cannot be read for a moment while a process begins to run a program: the file is empty until the kernel has
    laid out the new program's memory. This waits until that is done.
    """
    deadline = time.monotonic() + _PROGRAM_BEGINS_S
    program = 0  # the address where its code ended at the last look: it identifies the program
    while True:
        with open(f"/proc/{pid}/environ", "rb") as file:
            content = file.read()
        if content or time.monotonic() > deadline:
            return content.split(b"\0")
        facts = stat(pid)
        if not facts.virtual_bytes:
            return []  # a thread of the Linux kernel, or a zombie
        if program and facts.code_end == program:
            return []  # the same program ran before and after the read: it has no variables
        program = facts.code_end
        if not program:
            time.sleep(0.001)


def was_started_with(pid: int, variable: str, value: str) -> bool:
    """Whether a process was started with this variable; False if it has ended or is hidden from this user."""
    try:
        return f"{variable}={value}".encode() in environment(pid)
    except OSError:
        return False


def started_with(variable: str, value: str) -> list[int]:
    """The ids of all other processes that were started with this variable, even in sessions of their own."""
    pids = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return [pid for pid in pids if pid != os.getpid() and was_started_with(pid, variable, value)]


def name(pid: int, thread: int | None = None) -> str:
    """The name of a process, or of one of its threads: at most 15 characters."""
    with open(f"/proc/{pid}/task/{thread}/comm" if thread else f"/proc/{pid}/comm", errors="replace") as file:
        return file.read().strip()


def boot_id() -> str:
    """The id of this boot of the machine; "" if /proc does not give it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


# ---- the address under which other machines reach this one


LOOPBACK = "127.0.0.1"
_SOMEWHERE = "192.0.2.1:80"  # an address for documentation: it is routed, but no host has it


@functools.cache
def host_address() -> str:
    """This machine's address, determined at the first call; 127.0.0.1 without a network."""
    return address_towards(_SOMEWHERE)


def address_towards(address: str) -> str:
    """This machine's address as the given host sees it. Nothing is sent to the host."""
    host, _, port = address.partition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, int(port or 80)))
            return str(probe.getsockname()[0])
        except OSError:
            return LOOPBACK
