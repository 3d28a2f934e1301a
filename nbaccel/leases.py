"""Machine-wide leases on real devices, so that two heads on one machine never give out the same device twice.

Each user writes a record of their own, in a directory that all users share. A head first claims, then reads what
others have claimed, and withdraws where both do not fit. Heads of one user take turns by a lock that nobody else can
hold. A holder that died is dropped by whoever looks next: its pid is gone, belongs to a process with another start
time or of another user, or the machine was booted since. Leases prevent accidents, not malice (docs/security.md):
where the directory cannot be used, devices are given out without one, and `problem` says why.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta, structs

from nbaccel import proc
from nbaccel.quantities import UNIT

__all__ = ["LOCK_PATIENCE_S", "UNIT", "LeaseRecord", "Leases", "RecordLocked", "default_directory", "held_by"]


def default_directory() -> str:
    """`NBACCEL_LEASE_DIR`, else a directory in /dev/shm, which all users share and a reboot empties."""
    named = os.environ.get("NBACCEL_LEASE_DIR")
    if named:
        return named
    if os.path.isdir("/dev/shm"):
        return "/dev/shm/nbaccel-leases"
    import tempfile

    return os.path.join(tempfile.gettempdir(), "nbaccel-leases")


def held_by(uuid: str) -> str:
    """Who holds some of a device, for those who only ask: "held by notebook a.ipynb, pid 4711", "" if nobody does."""
    holders: list[LeaseRecord] = []
    with contextlib.suppress(OSError), opened_record(default_directory(), create=False) as directory:
        holders = _living(directory, stem_of(uuid))
    return "held by " + " and ".join(map(str, holders)) if holders else ""


class Leases:
    """What one head holds of this machine's devices.

    >>> leases = Leases(default_directory(), "notebook analysis.ipynb")
    >>> leases.take("GPU-4f2c", 5_000)      # None: half of that device is ours
    >>> leases.release("GPU-4f2c", 5_000)
    """

    def __init__(
        self, directory: str | os.PathLike[str] | None = None, title: str = "nbaccel", owner_pid: int = 0
    ) -> None:
        self.directory = os.fspath(directory) if directory is not None else default_directory()
        self.title = title
        self.problem: str | None = None
        self._held: dict[str, int] = {}
        self._since: dict[str, float] = {}
        self._unwritten: set[str] = set()  # devices whose record is not up to date
        pid = os.getpid()
        self._self = LeaseRecord(
            pid,
            _start_of(pid) or 0,
            proc.boot_id(),
            os.urandom(8).hex(),
            0,
            0.0,
            owner_pid,
            title,
            proc.pid_namespace(),
        )
        self._announced: int | None = None  # the descriptor of our lock, while we hold something
        with self._noting_problems(), opened_record(self.directory, create=True):
            pass  # it can be used, or why not is known from the beginning

    def take(self, uuid: str, amount: int) -> LeaseRecord | None:
        """Takes `amount` more of a device. None: it is ours; else a holder beside whom it does not fit."""
        self._settle()
        mine = self._held.get(uuid, 0) + amount
        if not 0 < mine <= UNIT:
            raise ValueError(f"Cannot lease {amount} of device {uuid}: it would make {mine} of {UNIT}.")
        blocker: LeaseRecord | None = None
        self._unwritten.add(uuid)  # until we know: what is broken off in the middle is put right at the next call
        try:
            with self._noting_problems():
                blocker = self._claim(uuid, mine)
        except RecordLocked:
            return structs.replace(self._self, pid=0, amount=UNIT, title="a process that keeps its lease record locked")
        self._unwritten.discard(uuid)
        if blocker is None:
            self._held[uuid] = mine
        return blocker

    def _claim(self, uuid: str, mine: int) -> LeaseRecord | None:
        stem = stem_of(uuid)
        with (
            opened_record(self.directory, create=True) as directory,
            own_record(directory, stem, create=True) as record,
        ):
            assert record is not None
            blocker = _blocker(self._others(directory, stem), mine)
            if blocker is None:
                self._write(record, directory, stem, uuid, mine)
                blocker = _blocker(self._others(directory, stem), mine)  # another user may have claimed meanwhile
            if blocker is not None:
                self._write(record, directory, stem, uuid, self._held.get(uuid, 0))
        return blocker

    def release(self, uuid: str, amount: int) -> None:
        """Gives back `amount` of a device; never waits: a record that is locked now is written at the next call."""
        mine = self._held.get(uuid, 0) - amount
        if mine < 0:
            raise ValueError(f"Cannot give back {amount} of device {uuid}: only {mine + amount} is held.")
        self._held[uuid] = mine
        self._unwritten.add(uuid)
        self._settle()

    def keep(self, wanted: dict[str, int]) -> bool:
        """Gives back what is more than this of each device; False while a record could not be written."""
        for uuid, amount in self._held.items():
            if amount > wanted.get(uuid, 0):
                self._held[uuid] = wanted.get(uuid, 0)
                self._unwritten.add(uuid)
        self._settle()
        return not self._unwritten

    def release_all(self) -> None:
        """Gives back everything, as at shutdown."""
        for uuid, amount in list(self._held.items()):
            self.release(uuid, amount)

    def held_by_others(self, uuid: str) -> list[LeaseRecord]:
        """Who else holds something of this device; empty if nobody, or if the records cannot be read now."""
        self._settle()
        others: list[LeaseRecord] = []
        with self._noting_problems(), opened_record(self.directory, create=False) as directory:
            others = self._others(directory, stem_of(uuid))
        return others

    def _others(self, directory: int, stem: str) -> list[LeaseRecord]:
        return [holder for holder in _living(directory, stem) if holder.token != self._self.token]

    def _settle(self) -> None:
        for uuid in list(self._unwritten):
            with contextlib.suppress(RecordLocked):
                with self._noting_problems():
                    self._write_held(uuid)
                self._unwritten.discard(uuid)
                if not self._held.get(uuid):
                    self._held.pop(uuid, None)

    def _write_held(self, uuid: str) -> None:
        stem = stem_of(uuid)
        with (
            opened_record(self.directory, create=True) as directory,
            own_record(directory, stem, create=False) as record,
        ):
            if record is not None:
                self._write(record, directory, stem, uuid, self._held.get(uuid, 0))

    def _write(self, record: OwnRecord, directory: int, stem: str, uuid: str, amount: int) -> None:
        """This user's record anew: other heads' holders that live, and us."""
        me, names = os.geteuid(), record.names()
        mine = []
        for uid, holder in holders(directory, stem):
            if uid != me or holder.token == self._self.token:
                continue
            if _lives(directory, uid, holder):
                mine.append(holder)
            else:
                withdraw_owner(directory, holder.token)
        if amount:
            if self._announced is None:
                self._announced = announce_owner(directory, self._self.token)
            since = self._since.setdefault(uuid, time.time())
            mine.append(structs.replace(self._self, amount=amount, since=since))
            names[self._self.token] = self.title
        else:
            self._since.pop(uuid, None)
        record.write(mine, names)
        if self._announced is not None and not amount and not any(self._held.values()):
            withdraw_owner(directory, self._self.token)
            os.close(self._announced)
            self._announced = None

    @contextlib.contextmanager
    def _noting_problems(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.problem = (
                f"Leases in {self.directory} cannot be used ({error.strerror or error}), so another head on this "
                "machine may give out the same device. Set NBACCEL_LEASE_DIR to a directory that all can write."
            )


def _blocker(others: list[LeaseRecord], mine: int) -> LeaseRecord | None:
    if sum(other.amount for other in others) + mine <= UNIT:
        return None
    return max(others, key=lambda other: other.amount)


def _living(directory: int, stem: str) -> list[LeaseRecord]:
    """The holders that are believed; only this user's have a name."""
    me, found = os.geteuid(), holders(directory, stem)
    names = own_names(directory, stem) if any(uid == me for uid, _holder in found) else {}
    return [
        structs.replace(
            holder, title=_printable(names.get(holder.token, "")) if uid == me else f"a program of user {uid}"
        )
        for uid, holder in found
        if _lives(directory, uid, holder)
    ]


def _printable(title: str) -> str:
    return "".join(sign for sign in title[:80] if sign.isprintable())


# --- processes ---------------------------------------------------------------------------------------------------


def _lives(directory: int, uid: int, holder: LeaseRecord) -> bool:
    """Whether the process lives and belongs to who wrote the record; where /proc hides it, the record is believed.

    Of a holder in another PID namespace only its lock can be seen.
    """
    if holder.pid_namespace not in (0, proc.pid_namespace()):
        return holder.boot_id == proc.boot_id() and is_announced(directory, holder.token, uid)
    if not _is_alive(holder):
        return False
    try:
        return os.stat(f"/proc/{holder.pid}").st_uid == uid
    except OSError:
        return True


def _is_alive(holder: LeaseRecord) -> bool:
    if holder.boot_id != proc.boot_id():
        return False
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's process: it exists
        pass
    started = _start_of(holder.pid)
    return started is None or started == holder.started


def _start_of(pid: int) -> int | None:
    """Its start in clock ticks since boot; None where /proc hides it; -1 for a zombie, which is dead."""
    try:
        facts = proc.stat(pid)
    except OSError:
        return None
    return -1 if facts.has_ended else facts.start_ticks


# ---- the files that leases are written in: who may write what, and what of it is believed
#
#     <lease directory, mode 1777>         GPU-4f2c….1000.lease    0644  what user 1000 holds of the device, JSON;
# replaced as a whole, so never half read         GPU-4f2c….1000.names    0600  the lock of that user's heads, and what
# their holders are called         0a1b2c3d4e5f6071.alive  0644  locked by the head of this token as long as it holds a
# device
#
# Other users may write into the directory, so nothing in it is trusted. It is opened once for each act, without
# following a link, checked, and everything else is opened from that descriptor. A record counts for the user who owns
# its file, whatever it is called, and only for processes of that user. A name that somebody else has taken is left to
# them.


LOCK_PATIENCE_S = 0.05  # a holder of the lock needs about 0.1 ms; longer means that it is stopped
_LOCK_PAUSE_S = 0.002
_MOST_BYTES = 65_536
_MOST_FILES = 4_096  # that are looked through: more is a flood
_MOST_NAMES_TAKEN = 4  # of our file names, by other users
_MOST_PID = 1 << 22  # PID_MAX_LIMIT of the kernel
_TOKEN = re.compile(r"[0-9a-f]{16}")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,99}")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAKE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LeaseRecord(msgspec.Struct, frozen=True):
    """One holder of a device, or of a part of it. The bounds are those of what is read: anybody may have written it."""

    pid: Annotated[int, Meta(ge=1, le=_MOST_PID)]
    started: Annotated[int, Meta(ge=0)]  # clock ticks from boot to its start; tells it from a later process
    boot_id: str
    token: str  # tells two heads of one process apart
    amount: Annotated[int, Meta(ge=1, le=UNIT)]  # in 1/10_000 of the device
    since: float  # seconds since 1970
    owner_pid: Annotated[int, Meta(ge=0, le=_MOST_PID)] = 0  # the notebook that people know; 0: `pid` itself
    title: str = ""  # not in the file that others read
    pid_namespace: int = 0  # in which `pid` is an id; 0: not known

    def __str__(self) -> str:
        return f"{self.title}, pid {self.owner_pid or self.pid}" if self.pid else self.title


class _File(msgspec.Struct):
    """What a record file holds."""

    holders: list[LeaseRecord]


_decode = msgspec.json.Decoder(_File).decode
_decode_names = msgspec.json.Decoder(dict[str, str]).decode
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)


class RecordLocked(Exception):
    """Another head of this user has kept the lock for longer than LOCK_PATIENCE_S."""


@contextlib.contextmanager
def opened_record(path: str, *, create: bool) -> Iterator[int]:
    """A descriptor of the lease directory. Raises OSError where it is none that can be trusted."""
    made = False
    if create:
        with contextlib.suppress(FileExistsError):
            os.makedirs(path)
            made = True
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if made and os.fstat(directory).st_uid == os.geteuid():
            os.fchmod(directory, 0o1777)  # mkdir's own mode is cut by the umask
        _check(os.fstat(directory), path)
        yield directory
    finally:
        os.close(directory)


def _check(facts: os.stat_result, path: str) -> None:
    mode = stat.S_IMODE(facts.st_mode)
    if mode & 0o022 and not mode & stat.S_ISVTX:
        raise OSError(1, f"its mode is {mode:o}, so others could replace what you write; it should be 1777", path)
    if facts.st_uid not in (0, os.geteuid()) and mode & 0o1777 != 0o1777:
        raise OSError(1, f"it belongs to user {facts.st_uid} and is not shared (mode {mode:o}, not 1777)", path)


def stem_of(uuid: str) -> str:
    """A UUID is used as it is, so that people can read the directory; anything else only as its hash."""
    if _SAFE_NAME.fullmatch(uuid):
        return uuid
    import hashlib  # it loads OpenSSL, 0.9 MB in each head, and hardly any UUID needs it

    return hashlib.sha256(uuid.encode()).hexdigest()


def holders(directory: int, stem: str) -> list[tuple[int, LeaseRecord]]:
    """What all records say of a device, each with the user who wrote it, and who may be lying."""
    found: list[tuple[int, LeaseRecord]] = []
    with os.scandir(directory) as entries:
        for count, entry in enumerate(entries):
            if count >= _MOST_FILES:
                raise OSError(28, f"it holds more than {_MOST_FILES} files")
            if entry.name.startswith(f"{stem}.") and entry.name.endswith(".lease"):
                uid, body = _read(directory, entry.name)
                found += [(uid, holder) for holder in _holders_in(body)]
    return found


def _holders_in(body: bytes) -> list[LeaseRecord]:
    try:
        return _decode(body).holders
    except _UNREADABLE:
        return []


def _read(directory: int, name: str) -> tuple[int, bytes]:
    """(owner, content) of a plain file; nothing of anything else."""
    try:
        file = os.open(name, _READ, dir_fd=directory)
    except OSError:
        return -1, b""
    try:
        facts = os.fstat(file)
        return facts.st_uid, os.pread(file, _MOST_BYTES, 0) if stat.S_ISREG(facts.st_mode) else b""
    finally:
        os.close(file)


class OwnRecord:
    """This user's record of a device, while its lock is held."""

    def __init__(self, directory: int, name: str, lock: int) -> None:
        self._directory = directory
        self._name = name
        self._lock = lock

    def names(self) -> dict[str, str]:
        """What the holders are called, by token."""
        return names_in(os.pread(self._lock, _MOST_BYTES, 0))

    def write(self, mine: list[LeaseRecord], names: dict[str, str]) -> None:
        """Replace the record; without a holder there is none."""
        if not mine:
            for name in (f"{self._name}.lease", f"{self._name}.names"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._directory)
            return
        said = msgspec.json.encode({holder.token: names.get(holder.token, "") for holder in mine})
        # Those who only ask read it without the lock, and find the names at any moment: spaces overwrite the rest of
        # what was there, before the file gets its size.
        os.pwrite(self._lock, said.ljust(os.fstat(self._lock).st_size), 0)
        os.ftruncate(self._lock, len(said))
        fresh = f"{self._name}.{os.urandom(4).hex()}.new"
        file = os.open(fresh, _MAKE, 0o644, dir_fd=self._directory)
        try:
            os.fchmod(file, 0o644)  # the umask has cut the mode
            os.write(file, msgspec.json.encode(_File([msgspec.structs.replace(one, title="") for one in mine])))
            os.rename(fresh, f"{self._name}.lease", src_dir_fd=self._directory, dst_dir_fd=self._directory)
        except BaseException:
            os.unlink(fresh, dir_fd=self._directory)
            raise
        finally:
            os.close(file)


def announce_owner(directory: int, token: str) -> int:
    """Lock a file for as long as this process lives or keeps the descriptor, which is returned.

    A process of another PID namespace cannot see ours, but finds the lock.
    """
    file = os.open(f"{token}.alive", _MAKE, 0o644, dir_fd=directory)
    os.fchmod(file, 0o644)  # the umask has cut the mode
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def withdraw_owner(directory: int, token: str) -> None:
    """Remove the file of a holder that holds nothing any more, or has died."""
    if _TOKEN.fullmatch(token):
        with contextlib.suppress(OSError):
            os.unlink(f"{token}.alive", dir_fd=directory)


def is_announced(directory: int, token: str, uid: int) -> bool:
    """Whether a process of this user keeps the lock of a holder."""
    if not _TOKEN.fullmatch(token):
        return False
    try:
        file = os.open(f"{token}.alive", _READ, dir_fd=directory)
    except OSError:
        return False
    try:
        if os.fstat(file).st_uid != uid:
            return False
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def names_in(body: bytes) -> dict[str, str]:
    try:
        return _decode_names(body)
    except _UNREADABLE:
        return {}


def own_names(directory: int, stem: str) -> dict[str, str]:
    """What the holders of this user are called, without the lock: for those who only ask."""
    for name in _own(stem):
        uid, body = _read(directory, f"{name}.names")
        if uid == os.geteuid():
            return names_in(body)
    return {}


def _own(stem: str) -> Iterator[str]:
    yield f"{stem}.{os.geteuid()}"
    for number in range(1, _MOST_NAMES_TAKEN + 1):
        yield f"{stem}.{os.geteuid()}.{number}"


@contextlib.contextmanager
def own_record(directory: int, stem: str, *, create: bool) -> Iterator[OwnRecord | None]:
    """This user's record, locked; None if there is none and none is to be made. Raises RecordLocked, OSError."""
    deadline = time.monotonic() + LOCK_PATIENCE_S
    while True:
        name, lock = _own_lock(directory, stem, create)
        if lock is None:
            yield None
            return
        try:
            _take(lock, deadline)
            if os.fstat(lock).st_nlink:  # else the last holder removed it between our open and our lock
                yield OwnRecord(directory, name, lock)
                return
        finally:
            os.close(lock)


def _own_lock(directory: int, stem: str, create: bool) -> tuple[str, int | None]:
    """The first name that is not another user's, and its lock file."""
    for name in _own(stem):
        if not _can_replace(directory, f"{name}.lease"):
            continue
        for _ in range(8):
            try:
                lock = os.open(
                    f"{name}.names", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory
                )
            except FileNotFoundError:
                if not create:
                    return name, None
                with contextlib.suppress(FileExistsError):
                    return name, os.open(f"{name}.names", _MAKE, 0o600, dir_fd=directory)
                continue
            except OSError:
                break  # another user's, or a link
            facts = os.fstat(lock)
            if facts.st_uid == os.geteuid() and stat.S_ISREG(facts.st_mode) and facts.st_nlink <= 1:
                return name, lock
            os.close(lock)
            break
    raise OSError(13, "other users have taken the names of your records")


def _can_replace(directory: int, name: str) -> bool:
    """Whether a file can take this name: in a sticky directory only the owner of what has it may replace that."""
    try:
        facts = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    return facts.st_uid == os.geteuid() and not stat.S_ISDIR(facts.st_mode)


def _take(lock: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise RecordLocked from None
            time.sleep(_LOCK_PAUSE_S)
