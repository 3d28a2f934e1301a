"""Machine-wide leases on real devices, so that two heads on one machine never give out the same device twice.

Each user writes a record of their own (`lease_files.py` says where, and whom it is believed of). A head first claims,
then reads what others have claimed, and withdraws where both do not fit. Heads of one user take turns by a lock that
nobody else can hold. A holder that died is dropped by whoever looks next: its pid is gone, belongs to a process with
another start time or of another user, or the machine was booted since. Leases prevent accidents, not malice
(docs/security.md): where the directory cannot be used, devices are given out without one, and `problem` says why.
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from nbaccel import proc
from nbaccel.leases import lease_files
from nbaccel.leases.lease_files import LOCK_PATIENCE_S, LeaseRecord, RecordLocked
from nbaccel.quantities import UNIT

__all__ = ["LOCK_PATIENCE_S", "UNIT", "LeaseRecord", "Leases", "RecordLocked", "default_directory", "held_by"]


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
    with contextlib.suppress(OSError), lease_files.opened(default_directory(), create=False) as directory:
        holders = _living(directory, lease_files.stem_of(uuid))
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
        with self._noting_problems(), lease_files.opened(self.directory, create=True):
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
        stem = lease_files.stem_of(uuid)
        with (
            lease_files.opened(self.directory, create=True) as directory,
            lease_files.own_record(directory, stem, create=True) as record,
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
        with self._noting_problems(), lease_files.opened(self.directory, create=False) as directory:
            others = self._others(directory, lease_files.stem_of(uuid))
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
        stem = lease_files.stem_of(uuid)
        with (
            lease_files.opened(self.directory, create=True) as directory,
            lease_files.own_record(directory, stem, create=False) as record,
        ):
            if record is not None:
                self._write(record, directory, stem, uuid, self._held.get(uuid, 0))

    def _write(self, record: lease_files.OwnRecord, directory: int, stem: str, uuid: str, amount: int) -> None:
        """This user's record anew: other heads' holders that live, and us."""
        me, names = os.geteuid(), record.names()
        mine = []
        for uid, holder in lease_files.holders(directory, stem):
            if uid != me or holder.token == self._self.token:
                continue
            if _lives(directory, uid, holder):
                mine.append(holder)
            else:
                lease_files.withdraw(directory, holder.token)
        if amount:
            if self._announced is None:
                self._announced = lease_files.announce(directory, self._self.token)
            since = self._since.setdefault(uuid, time.time())
            mine.append(structs.replace(self._self, amount=amount, since=since))
            names[self._self.token] = self.title
        else:
            self._since.pop(uuid, None)
        record.write(mine, names)
        if self._announced is not None and not amount and not any(self._held.values()):
            lease_files.withdraw(directory, self._self.token)
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
    me, found = os.geteuid(), lease_files.holders(directory, stem)
    names = lease_files.own_names(directory, stem) if any(uid == me for uid, _holder in found) else {}
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
        return holder.boot_id == proc.boot_id() and lease_files.is_announced(directory, holder.token, uid)
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
