"""Machine-wide leases on real devices, so that two heads on one machine never give out the same device twice.

    <lease directory, mode 1777>/GPU-4f2c….lease     one record file for each device that is held, JSON, under flock
        {"holders": [{"pid", "started", "boot_id", "token", "title", "amount", "since"}, …]}

A holder that died is dropped by whoever looks next: its pid is gone, belongs to a process with another start time, or
the machine was booted since. Several users may share the directory, so nothing in it is trusted: what is malformed
counts as empty and is written anew, links are not followed, and no wait for a lock is longer than LOCK_PATIENCE_S.
Leases prevent accidents, not malice: where the directory cannot be used, devices are given out without one, and
`problem` says why.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, structs

UNIT = 10_000  # a whole device
LOCK_PATIENCE_S = 0.05  # a holder of the lock needs about 0.1 ms; longer means that it is stopped
_LOCK_PAUSE_S = 0.002
_MAX_RECORD_BYTES = 65_536
_MOST_PID = 1 << 22  # PID_MAX_LIMIT of the kernel
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")


class LeaseRecord(msgspec.Struct, frozen=True):
    """One holder of a device, or of a part of it. The bounds are those of what is read: anybody may have written it."""

    pid: Annotated[int, Meta(ge=1, le=_MOST_PID)]
    started: Annotated[
        int, Meta(ge=0)
    ]  # clock ticks from boot to its start, which tells it from a later one of its pid
    boot_id: str
    token: str  # tells two heads of one process apart
    title: str
    amount: Annotated[int, Meta(ge=1, le=UNIT)]  # in 1/10_000 of the device
    since: float  # seconds since 1970
    owner_pid: Annotated[int, Meta(ge=0, le=_MOST_PID)] = 0  # the notebook that people know; 0: `pid` itself

    def __str__(self) -> str:
        return f"{self.title}, pid {self.owner_pid or self.pid}" if self.pid else self.title


class _File(msgspec.Struct):
    """What a record file holds."""

    holders: list[LeaseRecord]


_decode = msgspec.json.Decoder(_File).decode


class RecordLocked(Exception):
    """The record file stayed locked for longer than LOCK_PATIENCE_S."""


def default_directory() -> Path:
    """`NBACCEL_LEASE_DIR`, else a directory in /dev/shm, which all users share and a reboot empties."""
    named = os.environ.get("NBACCEL_LEASE_DIR")
    if named:
        return Path(named)
    shared = Path("/dev/shm")
    return (shared if shared.is_dir() else Path(tempfile.gettempdir())) / "nbaccel-leases"


def held_by(uuid: str) -> str:
    """Who holds some of a device, for those who only ask: "held by notebook a.ipynb, pid 4711", "" if nobody does."""
    holders: list[LeaseRecord] = []
    with (
        contextlib.suppress(OSError, RecordLocked),
        _locked(default_directory(), _file_name(uuid), create=False) as file,
    ):
        holders = [holder for holder in _read(file) if _is_alive(holder)]
    return "held by " + " and ".join(map(str, holders)) if holders else ""


class Leases:
    """What one head holds of this machine's devices.

    >>> leases = Leases(default_directory(), "notebook analysis.ipynb")
    >>> leases.take("GPU-4f2c", 5_000)      # None: half of that device is ours
    >>> leases.release("GPU-4f2c", 5_000)
    """

    def __init__(self, directory: Path | str | None = None, title: str = "nbaccel", owner_pid: int = 0) -> None:
        self.directory = Path(directory) if directory is not None else default_directory()
        self.title = title
        self.problem: str | None = None
        self._held: dict[str, int] = {}
        self._unwritten: set[str] = set()  # devices whose record was locked when we gave something back
        pid = os.getpid()
        self._self = LeaseRecord(pid, _start_of(pid) or 0, _boot_id(), secrets.token_hex(8), title, 0, 0.0, owner_pid)
        with self._noting_problems():
            _make_directory(self.directory)

    def take(self, uuid: str, amount: int) -> LeaseRecord | None:
        """Takes `amount` more of a device. None: it is ours; else a holder beside whom it does not fit."""
        self._settle()
        mine = self._held.get(uuid, 0) + amount
        if not 0 < mine <= UNIT:
            raise ValueError(f"Cannot lease {amount} of device {uuid}: it would make {mine} of {UNIT}.")
        blocker: LeaseRecord | None = None
        self._unwritten.add(uuid)  # until we know: what is broken off in the middle is put right at the next call
        try:
            with self._noting_problems(), self._record(uuid, create=True) as record:
                blocker = _blocker(record.others, mine)
                if blocker is None:
                    record.mine = mine
        except RecordLocked:
            return structs.replace(self._self, pid=0, amount=UNIT, title="a process that keeps its lease record locked")
        self._unwritten.discard(uuid)
        if blocker is None:
            self._held[uuid] = mine
        return blocker

    def release(self, uuid: str, amount: int) -> None:
        """Gives back `amount` of a device; never waits: a record that is locked now is written at the next call."""
        mine = self._held.get(uuid, 0) - amount
        if mine < 0:
            raise ValueError(f"Cannot give back {amount} of device {uuid}: only {mine + amount} is held.")
        self._held[uuid] = mine
        self._unwritten.add(uuid)
        self._settle()

    def release_all(self) -> None:
        """Gives back everything, as at shutdown."""
        for uuid, amount in list(self._held.items()):
            self.release(uuid, amount)

    def held_by_others(self, uuid: str) -> list[LeaseRecord]:
        """Who else holds something of this device; empty if nobody, or if the record cannot be read now."""
        self._settle()
        others: list[LeaseRecord] = []
        with contextlib.suppress(RecordLocked), self._noting_problems(), self._record(uuid, create=False) as record:
            others = record.others
        return others

    def keep(self, wanted: dict[str, int]) -> bool:
        """Gives back what is more than this of each device; False while a record could not be written."""
        for uuid, amount in self._held.items():
            if amount > wanted.get(uuid, 0):
                self._held[uuid] = wanted.get(uuid, 0)
                self._unwritten.add(uuid)
        self._settle()
        return not self._unwritten

    def _settle(self) -> None:
        for uuid in list(self._unwritten):
            with contextlib.suppress(RecordLocked):
                with self._noting_problems(), self._record(uuid, create=False) as record:
                    record.mine = self._held.get(uuid, 0)
                self._unwritten.discard(uuid)
                if not self._held.get(uuid):
                    self._held.pop(uuid, None)

    @contextlib.contextmanager
    def _noting_problems(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.problem = (
                f"Leases in {self.directory} cannot be used ({error.strerror or error}), so another head on this "
                "machine may give out the same device. Set NBACCEL_LEASE_DIR to a directory that all can write."
            )

    @contextlib.contextmanager
    def _record(self, uuid: str, *, create: bool) -> Iterator["_Record"]:
        """The locked record of a device, written back if it changed on the way out."""
        with _locked(self.directory, _file_name(uuid), create=create) as file:
            holders = _read(file)
            others = [holder for holder in holders if holder.token != self._self.token and _is_alive(holder)]
            record = _Record(others, self._held.get(uuid, 0))
            yield record
            since = next((holder.since for holder in holders if holder.token == self._self.token), time.time())
            ours = structs.replace(self._self, title=self.title, amount=record.mine, since=since)
            now = [*others, ours] if record.mine else others
            if file is not None and (now != holders or not now):
                _write(file, self.directory / _file_name(uuid), now)


@dataclass(slots=True)
class _Record:
    others: list[LeaseRecord]
    mine: int


def _blocker(others: list[LeaseRecord], mine: int) -> LeaseRecord | None:
    if sum(other.amount for other in others) + mine <= UNIT:
        return None
    return max(others, key=lambda other: other.amount)


# --- files -------------------------------------------------------------------------------------------------------


def _make_directory(directory: Path) -> None:
    with contextlib.suppress(FileExistsError):
        directory.mkdir(parents=True)
        directory.chmod(0o1777)  # mkdir's own mode is cut by the umask
    if not stat.S_ISDIR(directory.lstat().st_mode):
        raise NotADirectoryError(20, f"{directory} is no directory of its own", str(directory))


def _file_name(uuid: str) -> str:
    """A UUID is used as it is, so that people can read the directory; anything else only as its hash."""
    stem = uuid if _SAFE_NAME.fullmatch(uuid) else hashlib.sha256(uuid.encode()).hexdigest()
    return f"{stem}.lease"


@contextlib.contextmanager
def _locked(directory: Path, name: str, *, create: bool) -> Iterator[int | None]:
    """The open, locked record file; None if there is none and none is to be made."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    file = _open(directory / name, create)
    while file is not None:
        try:
            _lock(file, deadline)
            if os.fstat(file).st_nlink:
                yield file
                return
        finally:
            os.close(file)  # also ends the lock
        file = _open(directory / name, create)  # the last holder removed the file between our open and our lock
    yield None


def _open(path: Path, create: bool) -> int | None:
    # Never O_CREAT on a file that exists: in a sticky directory the kernel refuses that for another user's file
    # (fs.protected_regular).
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for _ in range(8):
        try:
            return _checked_file(os.open(path, flags), path)
        except FileNotFoundError:
            if not create:
                return None
        with contextlib.suppress(FileExistsError):
            file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(file, 0o666)  # the umask has cut the mode
            return file
    raise RecordLocked(f"{path} is made and removed again and again")


def _checked_file(file: int, path: Path) -> int:
    facts = os.fstat(file)
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
        os.close(file)
        raise OSError(22, "the record is not a plain file", str(path))
    return file


def _lock(file: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise RecordLocked from None
            time.sleep(_LOCK_PAUSE_S)


def _read(file: int | None) -> list[LeaseRecord]:
    if file is None:
        return []
    try:
        # One line; what is behind it was left by a writer that died between writing and truncating.
        found = _decode(os.pread(file, _MAX_RECORD_BYTES, 0).split(b"\n", 1)[0])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return []
    return [structs.replace(holder, title=_printable(holder.title)) for holder in found.holders]


def _printable(title: str) -> str:
    return "".join(sign for sign in title[:80] if sign.isprintable())


def _write(file: int, path: Path, holders: list[LeaseRecord]) -> None:
    if not holders:
        os.ftruncate(file, 0)
        with contextlib.suppress(OSError):  # another user's file in a sticky directory: then it stays, empty
            path.unlink()
        return
    text = msgspec.json.encode(_File(holders)) + b"\n"
    os.pwrite(file, text, 0)
    os.ftruncate(file, len(text))


# --- processes ---------------------------------------------------------------------------------------------------


def _is_alive(holder: LeaseRecord) -> bool:
    if holder.boot_id != _boot_id():
        return False
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's process: it is there
        pass
    started = _start_of(holder.pid)
    return started is None or started == holder.started


def _start_of(pid: int) -> int | None:
    """Its start in clock ticks since boot; None where /proc hides it; -1 for a zombie, which is dead."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may contain spaces and parentheses
    return -1 if fields[0] in "ZX" else int(fields[19])


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
