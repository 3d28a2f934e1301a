"""Finds the runtimes of this user: the files that heads write into Jupyter's runtime directory.

A file is used only if it belongs to this user, nobody else may read or write it, its process lives, and its socket
belongs to this user too. What a killed head has left is removed, as nbaccel itself does it: never what another machine
or PID namespace may still use, and never a directory in which a socket accepts. Every other file that has the name of a
runtime's is ignored, with the reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket as sockets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_runtime_dir

PROTOCOL = 1  # of the lines that observers and heads speak (docs/observers.md)
MOST_FILES = 256  # of runtimes
MOST_READ = 4096  # files, most of which are none: more is a flood
ANSWERS_WITHIN_S = 1.0  # a listening socket takes a connection at once, whatever its process does
MOST_BYTES = 65_536  # of a file: a record has less than a thousand
MOST_CHARACTERS = 300  # of a title
_NAME = re.compile(r"nbaccel-([A-Za-z0-9_-]{1,64})\.json")
_DIRECTORY = re.compile(r"nbaccel-[A-Za-z0-9_]+")
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "session": str, "socket": str, "token": str, "pid": int, "start_time": int, "boot_id": str,
}  # fmt: skip
_FURTHER: dict[str, tuple[type | tuple[type, ...], Any]] = {
    "shared": (bool, False), "title": (str, ""), "version": (str, ""), "python": (str, ""), "engine": (str, "local"),
    "started_at": ((int, float), 0.0), "owner_pid": (int, 0), "protocol": (int, PROTOCOL), "host": (str, ""),
    "directory": (str, ""), "pid_namespace": (int, 0),
}  # fmt: skip


class Ignorable(ValueError):
    """A file is not used; the message says why."""


class Ended(Exception):
    """The process that wrote a file has ended; the exception's only argument is what the file says."""


@dataclass(frozen=True, slots=True)
class RuntimeRecord:
    """What a head's file says."""

    id: str
    socket: str
    token: str = field(repr=False)
    pid: int
    owner_pid: int
    shared: bool
    engine: str
    title: str
    started_at: float
    version: str
    python: str
    protocol: int

    @property
    def speaks_ours(self) -> bool:
        return self.protocol == PROTOCOL

    @property
    def other_version(self) -> str:
        """The sentence for a runtime of another version; "" for one of ours."""
        if self.speaks_ours:
            return ""
        newer = "nbaccel-lab" if self.protocol > PROTOCOL else "nbaccel in the kernel's environment"
        return (
            f"This runtime (nbaccel {self.version or 'of unknown version'}) speaks version {self.protocol} of the "
            f"observers' protocol, and nbaccel-lab speaks version {PROTOCOL}. Update {newer}."
        )


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file that looks like a runtime's and is not used."""

    file: str
    reason: str


def scan(folder: Path | None = None) -> tuple[list[RuntimeRecord], list[IgnoredFile]]:
    """(the runtimes, oldest first; the files that were ignored). Reads and removes files: not for the event loop."""
    folder = Path(jupyter_runtime_dir()) if folder is None else folder
    records: list[RuntimeRecord] = []
    ignored: list[IgnoredFile] = []
    names = _newest_first(folder)
    for count, name in enumerate(names):
        if len(records) == MOST_FILES or count == MOST_READ:
            ignored.append(IgnoredFile("", f"There are {len(names)} files; only the newest {count} were read."))
            break
        try:
            records.append(_record(folder / name))
        except Ended as end:
            _clear(folder / name, end.args[0])
        except Ignorable as why:
            ignored.append(IgnoredFile(_plain(name), str(why)))
    return sorted(records, key=lambda record: (record.started_at, record.id)), ignored[-MOST_FILES:]


def _newest_first(folder: Path) -> list[str]:
    """The names of the files that may be runtimes'."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # nothing of Jupyter's has run yet
        for entry in entries:
            if entry.name.startswith("nbaccel-") and entry.name.endswith(".json"):
                with contextlib.suppress(OSError):  # it has just gone
                    found.append((-entry.stat(follow_symlinks=False).st_mtime_ns, entry.name))
    return [name for _age, name in sorted(found)]


def _record(path: Path) -> RuntimeRecord:
    name = _NAME.fullmatch(path.name)
    if name is None:
        raise Ignorable("Its name is not one that a head gives.")
    given = _checked(_object(_read(path)))
    if given["session"] != name[1]:
        raise Ignorable("It names another session than its own name does.")
    if _is_elsewhere(given):
        _check_socket(given["socket"])
        if not _accepts(given["socket"]):
            raise Ignorable("It is of another PID namespace, and its socket does not accept.")
    elif not _lives(given["pid"], given["start_time"], given["boot_id"]):
        raise Ended(given)
    else:
        _check_socket(given["socket"])
    taken: dict[str, Any] = {
        key: given[key] for key in ("socket", "token", "pid", "owner_pid", "shared", "started_at", "protocol")
    }
    words: dict[str, Any] = {key: _plain(given[key]) for key in ("engine", "title", "version", "python")}
    return RuntimeRecord(id=given["session"], **taken, **words)


def _read(path: Path) -> bytes:
    """The bytes of a private file of this user; waits for no pipe and follows no link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise Ignorable(f"It cannot be read, or is a symbolic link: {error.strerror}.") from None
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise Ignorable("It is not a regular file.")
        if facts.st_uid != os.getuid():
            raise Ignorable(f"It belongs to another user (uid {facts.st_uid}).")
        if stat.S_IMODE(facts.st_mode) & 0o077:
            raise Ignorable(f"Others may read or write it (mode {stat.S_IMODE(facts.st_mode):04o} instead of 0600).")
        if facts.st_size > MOST_BYTES:
            raise Ignorable(f"It has {facts.st_size:,} bytes; a head writes less than a thousand.")
        return os.read(fd, MOST_BYTES)
    except OSError as error:
        raise Ignorable(f"It cannot be read: {error.strerror}.") from None
    finally:
        os.close(fd)


def _object(data: bytes) -> dict[str, Any]:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        raise Ignorable("It is not JSON.") from None
    if not isinstance(given, dict):
        raise Ignorable("It is not an object of JSON.")
    return given


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that are used, each of its type."""
    known = {}
    for name, kind in _FIELDS.items():
        if name not in given:
            raise Ignorable(f"Its field {name!r} is missing.")
        known[name] = _typed(name, given[name], kind)
    for name, (kind, default) in _FURTHER.items():
        known[name] = _typed(name, given.get(name, default), kind)
    return known


def _typed(name: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise Ignorable(f"Its field {name!r} has a value of the wrong type.")
    return value


def _lives(pid: int, start_time: int, boot_id: str) -> bool:
    """Whether the process that wrote a file still runs: its start time and this boot tell it from a later one.

    Raises Ignorable if that cannot be told.
    """
    try:
        if boot_id != Path("/proc/sys/kernel/random/boot_id").read_text().strip():
            return False
        facts = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return facts[0] not in "ZX" and int(facts[19]) == start_time
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return False
    except OSError as error:  # such as too many open files
        raise Ignorable(f"Whether its process {pid} runs cannot be told: {error.strerror}.") from None


def _clear(path: Path, given: dict[str, Any]) -> None:
    """Remove what a killed head has left: its file, and the directory of its socket.

    They stay while the head's kernel or script lives, which removes them itself and may still read the head's log. They
    also stay if another machine has written the file into a folder that both share: its processes are not seen here.
    """
    directory = given["directory"]
    if given["host"] not in ("", os.uname().nodename) or _is_there(given["owner_pid"]) or _is_used(directory):
        return
    try:
        path.unlink(missing_ok=True)
        facts = os.lstat(directory)
    except (OSError, ValueError):  # ValueError: a null character
        return
    is_private = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not stat.S_IMODE(facts.st_mode) & 0o077
    is_the_sockets = os.path.dirname(given["socket"]) == directory
    if is_private and is_the_sockets and _DIRECTORY.fullmatch(os.path.basename(directory)):
        shutil.rmtree(directory, ignore_errors=True)


def _is_elsewhere(given: dict[str, Any]) -> bool:
    """Whether the file was written in another PID namespace, whose processes cannot be seen from here."""
    try:
        return given["pid_namespace"] not in (0, os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return False


def _is_used(directory: str) -> bool:
    """Whether a socket in the directory accepts."""
    try:
        entries = [entry for entry in os.scandir(directory) if stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)]
    except (OSError, ValueError):  # ValueError: a null character
        return False
    return any(_accepts(entry.path) for entry in entries)


def _accepts(path: str) -> bool:
    """Whether a process listens at this socket."""
    with sockets.socket(sockets.AF_UNIX) as asking:
        asking.settimeout(ANSWERS_WITHIN_S)
        try:
            asking.connect(path)
        except (TimeoutError, BlockingIOError):
            return True  # its queue is full
        except (OSError, ValueError):
            return False
    return True


def _is_there(pid: int) -> bool:
    return pid > 0 and os.path.exists(f"/proc/{pid}")


def _check_socket(socket: str) -> None:
    try:
        facts = os.lstat(socket)
    except (OSError, ValueError):  # ValueError: a null character
        raise Ignorable("Its socket is not there.") from None
    if not os.path.isabs(socket) or not stat.S_ISSOCK(facts.st_mode):
        raise Ignorable("What it names as its socket is none.")
    if facts.st_uid != os.getuid():
        raise Ignorable(f"Its socket belongs to another user (uid {facts.st_uid}).")


def _plain(text: str) -> str:
    """Text for a browser: without control characters and halves of characters, and not endless."""
    readable = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return readable[:MOST_CHARACTERS]
