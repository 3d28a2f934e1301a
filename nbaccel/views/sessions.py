"""The small file that each running head writes into Jupyter's runtime directory, so that other programs find the head.

Only its owner can read it. It names the head's socket and the token that a connection must show. A record whose process
has ended (pid, start time and boot show it) is stale; the next program that looks removes it. A driver of an engine
that has no head of ours writes such a file for itself, with the name of its engine: observers may ask it as they ask a
head.

Machines may share the directory, as those of a cluster share home directories, and so may the PID namespaces of one
machine, as containers of a pod do. The processes of another machine or namespace cannot be seen from here: there a head
runs if its socket accepts, and its file stays in any case. Nothing is removed while a socket in the head's directory
accepts.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from nbaccel import plain_files, proc

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX = "nbaccel-"
_MOST_BYTES = 65_536  # of a session file: a record has less than a thousand
_ANSWERS_WITHIN_S = 1.0  # a listening socket takes a connection at once, whatever its process does
LONGEST_PLACE = 80  # the path of a unix socket has at most 107 bytes: nbaccel-xxxxxxxx/head.sock lies below


class SessionRecord(msgspec.Struct):
    """One running head."""

    session: str
    socket: str
    token: str
    pid: int
    start_time: int  # clock ticks since boot
    boot_id: str
    directory: str = ""
    shared: bool = False  # a daemon, started by `nbaccel start --head`
    title: str = ""
    version: str = ""
    python: str = ""
    prefix: str = ""
    started_at: float = 0.0  # Unix seconds
    owner_pid: int = 0  # of the driver that an embedded head belongs to
    protocol: int = 1
    engine: str = "local"  # of another engine, the process that answers is a driver and no head
    host: str = msgspec.field(default_factory=lambda: os.uname().nodename)
    pid_namespace: int = msgspec.field(default_factory=proc.pid_namespace)  # 0: not known


def title() -> str:
    """The name by which others see this process: that of its notebook or script."""
    notebook = os.path.basename(os.environ.get("JPY_SESSION_NAME", ""))
    if notebook:  # of a session without a name Jupyter gives the folder
        return f"notebook {notebook}"
    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    return os.path.basename(script)


def make_directory() -> str:
    """A private directory for a socket: in TMPDIR, unless its path is too long. Raises OSError."""
    problem = OSError("the path of TMPDIR is too long for a socket")
    for place in _temporary_directories():
        if len(os.fsencode(place)) > LONGEST_PLACE:
            continue
        try:
            made = os.path.join(place, f"{_PREFIX}{os.urandom(5).hex()}")
            os.mkdir(made, 0o700)
            return made
        except OSError as error:
            problem = error
    raise problem


def _temporary_directories() -> Iterator[str]:
    """Where tempfile would make a directory, in its order; a script need not load that module for it."""
    chosen = getattr(sys.modules.get("tempfile"), "tempdir", None)
    named = (chosen, *map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp")
    return iter(dict.fromkeys(os.path.abspath(os.fsdecode(place)) for place in named if place))


def directory() -> Path:
    """Jupyter's runtime directory."""
    from pathlib import Path

    return Path(_folder())


def _folder() -> str:
    """By Jupyter's own rules."""
    runtime = os.environ.get("JUPYTER_RUNTIME_DIR")
    if runtime:
        return runtime
    data = os.environ.get("JUPYTER_DATA_DIR")
    if data:
        return os.path.join(data, "runtime")
    share = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(share, "jupyter", "runtime")


def advice(error: OSError, variable: str) -> str:
    """What to do about a directory that the variable can name, and in which nothing can be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{'Free some space there, or set' if full else 'Set'} {variable} to a directory that you can write"


def publish(record: SessionRecord) -> str:
    """Write a head's file, readable by its owner only; returns its path. Raises OSError."""
    os.makedirs(_folder(), 0o700, exist_ok=True)
    path = _file_of(record.session)
    plain_files.write_private(path, msgspec.json.encode(record))
    return path


def _file_of(session: str) -> str:
    return os.path.join(_folder(), f"{_PREFIX}{session}.json")


def withdraw(session: str) -> None:
    """Remove a head's file."""
    try:
        os.unlink(_file_of(session))
    except OSError:
        pass  # it is not there, or a read-only disk: it could not be written either, or the next reader finds it stale


def find(engine: str = "local") -> list[SessionRecord]:
    """The heads that run on this machine and belong to this user, newest first; stale records are cleared away.

    With another engine: the drivers that answer observers themselves. Nobody can join one, and ending its process
    would end a notebook.
    """
    records = []
    try:
        names = sorted(os.listdir(_folder()))
    except OSError:
        return []
    for name in names:
        if not (name.startswith(_PREFIX) and name.endswith(".json")):
            continue
        path = os.path.join(_folder(), name)
        record = _read(path)
        if record is None:
            continue
        if not is_alive(record):
            if record.host == os.uname().nodename and not is_elsewhere(record):
                _clear(path, record)
        elif record.engine == engine:
            records.append(record)
    return sorted(records, key=lambda record: -record.started_at)


def _read(path: str | os.PathLike[str]) -> SessionRecord | None:
    """Read a record that belongs to this user and only they can read; any other file is ignored."""
    try:
        return msgspec.json.decode(plain_files.read(path, _MOST_BYTES, private=True), type=SessionRecord)
    except (OSError, ValueError, RecursionError):  # msgspec raises this for bytes that are no JSON of ours
        return None


def is_alive(record: SessionRecord) -> bool:
    """Whether the head that wrote the record still runs."""
    if is_elsewhere(record):
        return record.boot_id == proc.boot_id() and _accepts(record.socket)
    return proc.is_running(record.pid, record.start_time, record.boot_id)


def is_elsewhere(record: SessionRecord) -> bool:
    """Whether the head ran in another PID namespace, so that its process cannot be seen from here."""
    return record.pid_namespace not in (0, proc.pid_namespace())


def _accepts(path: str) -> bool:
    """Whether a process listens at this socket."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_ANSWERS_WITHIN_S)
        try:
            asking.connect(path)
        except (TimeoutError, BlockingIOError):
            return True  # its queue is full: it listens, and has much to do
        except (OSError, ValueError):  # ValueError: a null character
            return False
    return True


def _clear(path: str, record: SessionRecord) -> None:
    """Remove the files of a head that was killed, unless a socket in its directory shows that a head uses them."""
    try:
        entries = list(os.scandir(record.directory)) if record.directory else []
        facts = os.lstat(record.directory) if record.directory else None
    except (OSError, ValueError):
        entries, facts = [], None
    if any(stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode) and _accepts(entry.path) for entry in entries):
        return
    has_our_name = re.fullmatch(r"nbaccel-[A-Za-z0-9_]+", os.path.basename(record.directory))
    is_ours = has_our_name is not None and os.path.dirname(record.socket) == record.directory
    if is_ours and facts is not None and stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid():
        import shutil

        shutil.rmtree(record.directory, ignore_errors=True)
    try:
        os.unlink(path)  # last: if this process ends before, the next that looks goes on
    except OSError:
        pass  # another has removed it, or a read-only disk
