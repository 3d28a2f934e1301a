"""The small file that each running head writes into Jupyter's runtime directory, so that other programs find the head.

Only its owner can read it. It names the head's socket and the token that a connection must show. A record whose process
has ended (pid, start time and boot tell) is stale; the next program that looks removes it. A driver of an engine that
has no head of ours writes such a file for itself, with the name of its engine: observers may ask it as they ask a head.

Machines may share the directory, as those of a cluster share home directories. A head of another machine cannot be seen
to run from here, so its file stays.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from nbaccel import plain_files, proc

_PREFIX = "nbaccel-"
_MOST_BYTES = 65_536  # of a session file: a record has less than a thousand
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


def title() -> str:
    """The name by which others see this process: that of its notebook or script."""
    notebook = os.environ.get("JPY_SESSION_NAME")
    if notebook:
        return f"notebook {os.path.basename(notebook)}"
    script = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else "python"
    return os.path.basename(script)


def make_directory() -> str:
    """A private directory for a socket: in TMPDIR, unless its path is too long. Raises OSError."""
    problem = OSError("the path of TMPDIR is too long for a socket")
    for place in dict.fromkeys((tempfile.gettempdir(), "/tmp")):
        if len(os.fsencode(place)) > LONGEST_PLACE:
            continue
        try:
            return tempfile.mkdtemp(prefix="nbaccel-", dir=place)
        except OSError as error:
            problem = error
    raise problem


def directory() -> Path:
    """Jupyter's runtime directory, by Jupyter's own rules."""
    runtime = os.environ.get("JUPYTER_RUNTIME_DIR")
    if runtime:
        return Path(runtime)
    data = os.environ.get("JUPYTER_DATA_DIR")
    if data:
        return Path(data) / "runtime"
    share = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return Path(share) / "jupyter" / "runtime"


def publish(record: SessionRecord) -> Path:
    """Write a head's file, readable by its owner only. Raises OSError."""
    folder = directory()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{_PREFIX}{record.session}.json"
    plain_files.write_private(path, msgspec.json.encode(record))
    return path


def withdraw(session: str) -> None:
    """Remove a head's file."""
    try:
        (directory() / f"{_PREFIX}{session}.json").unlink(missing_ok=True)
    except OSError:
        pass  # a read-only disk: it could not be written either, or the next reader finds it stale


def find(engine: str = "local") -> list[SessionRecord]:
    """The heads that run on this machine and belong to this user, newest first; stale records are cleared away.

    With another engine: the drivers that answer observers themselves. Nobody can join one, and ending its process
    would end a notebook.
    """
    records = []
    try:
        paths = sorted(directory().glob(f"{_PREFIX}*.json"))
    except OSError:
        return []
    for path in paths:
        record = _read(path)
        if record is None:
            continue
        if not is_alive(record):
            if record.host == os.uname().nodename:
                _clear(path, record)
        elif record.engine == engine:
            records.append(record)
    return sorted(records, key=lambda record: -record.started_at)


def _read(path: Path) -> SessionRecord | None:
    """Read a record that belongs to this user and only they can read; any other file is ignored."""
    try:
        return msgspec.json.decode(plain_files.read(path, _MOST_BYTES, private=True), type=SessionRecord)
    except (OSError, ValueError, RecursionError):  # msgspec raises this for bytes that are no JSON of ours
        return None


def is_alive(record: SessionRecord) -> bool:
    """Whether the head that wrote the record still runs."""
    return proc.is_running(record.pid, record.start_time, record.boot_id)


def _clear(path: Path, record: SessionRecord) -> None:
    """Remove the files of a head that was killed."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
    name = os.path.basename(record.directory)
    is_ours = re.fullmatch(r"nbaccel-[A-Za-z0-9_]+", name) and os.path.isdir(record.directory)
    if is_ours and os.stat(record.directory).st_uid == os.getuid():
        shutil.rmtree(record.directory, ignore_errors=True)
