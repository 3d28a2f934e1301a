"""Notes of tasks, and how a process sends them to its job's collector, if somebody watches."""

from __future__ import annotations

import concurrent.futures
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import internals

Note = dict[str, Any]
# Of a call that asks for no device: Ray's id, attempt, description, start (Unix seconds), and None while it runs, then
# its end; or its note, once somebody has asked for it. A note of each call would cost the call twice as much.
Call = list[Any]
Kind = tuple[str, str, str]  # a task's name, kind and choice
Briefs = tuple[list[Kind], bytes]  # the kinds, and a row for each task
BRIEF = struct.Struct("<24sIIdd")  # task id, number of its kind, attempt, started and ended (Unix seconds)
FIELDS_OF_BRIEF = 7  # of a note: task_id, attempt, name, kind, started_at, choice, ended_at


class Description(Protocol):
    """The facts about a piece of code that a call's note needs; see wrapping."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def choice(self) -> str: ...


def as_note(call: Call) -> Note:
    """The note of a call."""
    task_id, attempt, about, started_at, ended_at = call
    note = {
        "task_id": task_id, "attempt": attempt, "name": about.name, "kind": about.kind, "started_at": started_at,
        "choice": about.choice,
    }  # fmt: skip
    return note if ended_at is None else {**note, "ended_at": ended_at}


def is_brief(note: Note) -> bool:
    """Whether a task has ended and its note has nothing else to report."""
    return "ended_at" in note and len(note) - ("sent" in note) == FIELDS_OF_BRIEF


def packed(ended: Iterable[Note | Call]) -> Briefs:
    """Pack what is noted of tasks that ended before their first report."""
    kinds: dict[Kind, int] = {}
    rows = []
    for each in ended:
        note = as_note(each) if isinstance(each, list) else each
        number = kinds.setdefault((note["name"], note["kind"], note["choice"]), len(kinds))
        id = note["task_id"].binary()
        rows.append(BRIEF.pack(id, number, note["attempt"], note["started_at"], note["ended_at"]))
    return list(kinds), b"".join(rows)


def expanded(briefs: Briefs, where: Note) -> Iterator[Note]:
    """Unpack notes into the form in which the collector keeps others."""
    kinds, rows = briefs
    for id, number, attempt, started_at, ended_at in BRIEF.iter_unpack(rows):
        name, kind, choice = kinds[number]
        yield {
            "task_id": id.hex(), "attempt": attempt, "name": name, "kind": kind, "started_at": started_at,
            "choice": choice, "ended_at": ended_at, **where,
        }  # fmt: skip


# ---- one question for all processes of a node: whether somebody watches a job
#
# Each process wants to know it every two seconds, also an actor that does nothing. Asking Ray's store is a call to
# the cluster's head, so a thousand actors would ask it five hundred times a second. Whoever has asked leaves the
# answer in a file of Ray's session, and the others read that for half a second. Without the file, each asks for
# itself.


FRESH_S = 0.5
_WATCHED, _UNWATCHED = b"1", b"0"


class SharedWatchFile:
    """Answers from the node's file, or by `ask`, which asks the cluster about a job."""

    def __init__(self, ask: Callable[[str], bool], folder: Callable[[], str] = internals.session_folder) -> None:
        self._ask = ask
        self._folder = folder

    def is_watched(self, job_id: str, *, anew: bool = False) -> bool:
        """`anew`: what others have found does not count."""
        try:
            path = os.path.join(self._folder(), f"nbaccel-watched-{job_id}")
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except (OSError, AttributeError):  # no right to write there; or this process belongs to no node
            return self._ask(job_id)
        try:
            now = time.time()
            is_fresh = 0.0 <= now - os.fstat(file).st_mtime < FRESH_S  # before it is read: what is read is no older
            known = os.read(file, 1)
            if known and is_fresh and not anew:
                return known == _WATCHED
            found = self._ask(job_id)
            if not known or anew or not now < os.fstat(file).st_mtime <= time.time():  # else others have asked later
                os.pwrite(file, _WATCHED if found else _UNWATCHED, 0)  # one byte: nobody reads a half of it
                os.utime(file, (now, now))  # it is as old as the question
            return found
        finally:
            os.close(file)


# ----


NAMESPACE = "nbaccel"
LOOK_EVERY_S = 2.0
END_TIMEOUT_S = 1.0

# A task's name and kind, and the state in which it ended -> how many ended so.
Forgotten = dict[tuple[str, str, str], int]


def collector_name(job_id: str) -> str:
    """The name of the collector actor of a job."""
    return f"nbaccel_reports_{job_id}"


def watched_key(job_id: str) -> bytes:
    """The key that exists while somebody watches a job."""
    return f"nbaccel:watched:{job_id}".encode()


def _is_watched(job_id: str) -> bool:
    return bool(internal_kv._internal_kv_get(watched_key(job_id), namespace=NAMESPACE))


class CollectorLink:
    """Finds the collector of this job, if somebody watches, and sends it reports."""

    def __init__(self) -> None:
        self._collector: Any = None
        self._is_watched = False
        self._answer: Any = None  # Ray's ref of the collector's answer to the last report
        self._looked_at = 0.0
        self._anew = False  # the next look asks the cluster, whatever others of this node have found
        self._shared = SharedWatchFile(_is_watched)

    def __bool__(self) -> bool:
        """Whether somebody watched at the last look."""
        return self._is_watched

    @property
    def has_collector(self) -> bool:
        """Whether there is a collector, which may have notes of this process."""
        return self._collector is not None

    def look(self, is_new: Callable[[], None]) -> bool:
        """Whether somebody watches this job; `is_new` is called when the collector knows nothing of this process."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_EVERY_S:
            return bool(self)
        self._looked_at = now
        if self._has_died():
            self.let_go()
        job_id = ray.get_runtime_context().get_job_id()
        anew, self._anew = self._anew, False
        sign: bool = self._shared.is_watched(job_id, anew=anew)
        if sign and self._collector is None:
            self._collector = ray.get_actor(collector_name(job_id), namespace=NAMESPACE)
            is_new()
        self._is_watched = sign
        return sign

    def look_anew(self) -> None:
        """Make the next look a real one, even if the last look was just now."""
        self._looked_at, self._anew = -LOOK_EVERY_S, True

    def let_go(self) -> None:
        """Send nothing more until the next look: the cluster or the collector has ended."""
        self._collector, self._is_watched = None, False

    def _has_died(self) -> bool:
        """Whether the collector's answer to the last report is an error."""
        if self._answer is None or not ray.wait([self._answer], timeout=0)[0]:
            return False
        answer, self._answer = self._answer, None
        try:
            value_of(answer, END_TIMEOUT_S)
        except ray.exceptions.RayError:
            return True
        except concurrent.futures.TimeoutError:
            pass  # it is on its way: the next report has an answer too
        return False

    def send(self, where: Note, batch: list[Note], briefs: Briefs, forgotten: Forgotten) -> Any:
        """Report notes of the process that `where` describes; returns Ray's ref of the answer."""
        self._answer = self._collector.report.remote(where, batch, briefs, forgotten)
        return self._answer


def value_of(ref: Any, timeout_s: float) -> Any:
    """The value of a ref of Ray's. For a `ray.get`, in whatever thread, Ray would scold the user of an async actor."""
    return ref.future().result(timeout_s)
