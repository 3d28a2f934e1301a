"""Reports about tasks: noted in their process, and sent in batches by a thread, only while somebody watches.

A note costs a few microseconds. The thread sleeps while no task runs. While a task runs, it looks every two seconds for
the sign that somebody watches (a key in Ray's own store); then it sends the running and the latest ended tasks. When
nobody watches any more, it still says of tasks that the collector holds for running that they have ended, and no more.

A task that ended before its first report, and of which nothing else is known, travels as 48 bytes. Such tasks wait for
half a second, in a flood for 1.5 s, and then cost one small message together. See `expanded`.
"""

from __future__ import annotations

import concurrent.futures
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import interrupting, printing

NAMESPACE = "nbaccel"
LOOK_EVERY_S = 2.0
SEND_EVERY_S = 0.1
SHORT_S = 0.05  # a task without devices is reported when it has run so long, or has ended
BRIEFS_EVERY_S = 0.5
FLOOD = 100  # this many waiting notes are a flood
FLOOD_EVERY_S = 1.5
FLOOD_LASTS_S = 0.2  # after a task's end: Ray may end a process that has been idle for a second, with what is unsaid
QUIET_S = 0.5
LONGEST_SAYING_S = 0.5  # a task never waits longer for its report
UNSAID_S = 30.0  # an idle process with unsent notes looks for watchers so long
LOOK_IDLE_EVERY_S = 20.0  # and then so often, if there is a collector
MOST_KEPT = 2_000  # ended tasks of one process that a late watcher can still learn of
MOST_FORGOTTEN = 200  # functions by which those for whose notes there was no room are counted
END_TIMEOUT_S = 1.0

Note = dict[str, Any]
Kind = tuple[str, str, str]  # a task's name, kind and choice
Briefs = tuple[list[Kind], bytes]  # the kinds, and a row for each task
Forgotten = dict[tuple[str, str, str], int]  # a task's name and kind, and the state in which it ended -> how many
BRIEF = struct.Struct("<24sIIdd")  # task id, number of its kind, attempt, started and ended (Unix seconds)
_TOLD_AT_ONCE = ("devices", "progress", "ended_at")
# The errors with which a cancelled task ends.
_OF_CANCELS = ("TaskCancelledError", "RayTaskError(TaskCancelledError)", "CancelledError", "KeyboardInterrupt")
_FIELDS_OF_BRIEF = 7  # of a note: task_id, attempt, name, kind, started_at, choice, ended_at


def collector_name(job_id: str) -> str:
    """The name of the collector actor of a job."""
    return f"nbaccel_reports_{job_id}"


def watched_key(job_id: str) -> bytes:
    """The key that exists while somebody watches a job."""
    return f"nbaccel:watched:{job_id}".encode()


class CollectorLink:
    """Finds the collector of this job, if somebody watches, and sends it reports."""

    def __init__(self) -> None:
        self._collector: Any = None
        self._is_watched = False
        self._answer: Any = None  # Ray's ref of the collector's answer to the last report
        self._looked_at = 0.0

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
        sign = internal_kv._internal_kv_get(watched_key(job_id), namespace=NAMESPACE)
        if sign and self._collector is None:
            self._collector = ray.get_actor(collector_name(job_id), namespace=NAMESPACE)
            is_new()
        self._is_watched = bool(sign)
        return self._is_watched

    def look_anew(self) -> None:
        """Make the next look a real one, even if the last look was just now."""
        self._looked_at = -LOOK_EVERY_S

    def let_go(self) -> None:
        """Send nothing more until the next look: the cluster or the collector has ended."""
        self._collector, self._is_watched = None, False

    def _has_died(self) -> bool:
        """Whether the collector's answer to the last report is an error."""
        if self._answer is None or not ray.wait([self._answer], timeout=0)[0]:
            return False
        answer, self._answer = self._answer, None
        try:
            _value(answer, END_TIMEOUT_S)
        except ray.exceptions.RayError:
            return True
        except concurrent.futures.TimeoutError:
            pass  # it is on its way: the next report has an answer too
        return False

    def send(self, where: Note, batch: list[Note], briefs: Briefs, forgotten: Forgotten) -> Any:
        """Report notes of the process that `where` describes; returns Ray's ref of the answer."""
        self._answer = self._collector.report.remote(where, batch, briefs, forgotten)
        return self._answer


def _value(ref: Any, timeout_s: float) -> Any:
    """The value of a ref of Ray's. For a `ray.get`, in whatever thread, Ray would scold the user of an async actor."""
    return ref.future().result(timeout_s)


def _start_thread(reporter: Reporter) -> None:
    printing.install(reporter)
    interrupting.install()
    threading.Thread(target=reporter.run, name="nbaccel-reports", daemon=True).start()


class Reporter:
    """The notes of one process. `start` gives the reporter a thread that calls `run`; `wake` wakes that thread."""

    def __init__(
        self,
        link: CollectorLink | None = None,
        start: Callable[[Reporter], None] = _start_thread,
        wake: threading.Event | None = None,
    ) -> None:
        self._running: dict[int, Note] = {}
        self._ids: set[object] = set()  # of the tasks that run
        self._news: deque[Note] = deque(maxlen=MOST_KEPT)  # notes that were not sent yet
        self._owed: deque[Note] = deque()  # of tasks that the collector holds for running, and that have ended
        self._forgotten: Forgotten = {}  # tasks that ended and whose notes had no room
        self._counting = threading.Lock()
        self._lock = threading.Lock()
        self._link = link or CollectorLink()
        self._start_thread = start
        self._wake = wake or threading.Event()
        self._idle = False
        self._is_started = False
        self._sent_at = 0.0
        self._worked_at = 0.0
        self._ended_at = 0.0
        self._in_ray = threading.Lock()
        self._is_urgent = False  # the news have more than short ended tasks
        self._here: Note = {}
        self._lives_on = False  # an actor holds its devices between its calls: a late watcher must learn of it
        self.creation: Note | None = None

    # ---- notes, taken by the threads that run tasks

    def began(
        self, name: str, kind: str, families: tuple[str, ...], choice: str, more: Callable[[Note], Note] | None = None
    ) -> Note:
        """Note the start of a task in this process, with what `more` says of the note; returns the note."""
        core = ray._private.worker.global_worker.core_worker
        note: Note = {
            "task_id": core.get_current_task_id(),
            "attempt": core.get_current_task_attempt_number(),
            "name": name,
            "kind": kind,
            "started_at": time.time(),
            "choice": choice,
        }
        if families:
            note["devices"] = devices_here(families)
            note["assigned"] = ray.get_runtime_context().get_assigned_resources()
        if more is not None:
            note.update(more(note))  # before the thread sees it
        if kind == "actor creation":
            self._lives_on, self.creation = True, note
        self._running[id(note)] = note
        self._ids.add(note["task_id"])
        self._keep(note)
        if not self._is_started or self._idle:
            self._start()
        return note

    def ended(self, note: Note, error: BaseException | None = None) -> None:
        """Note the end of a task."""
        if error is not None:
            note["error"] = first_line(error)
            note["end"] = "CANCELLED" if note["error"].startswith(_OF_CANCELS) else "FAILED"
        note["ended_at"] = time.time()  # last: the thread may send the note at any moment, and an ended one only once
        self._ended_at = time.monotonic()
        waited = self._in_ray.acquire(timeout=LONGEST_SAYING_S)  # a call that runs keeps Ray alive: see _say
        self._running.pop(id(note), None)
        self._ids.discard(note["task_id"])
        if waited:
            self._in_ray.release()
        for stream in printing.streams:
            stream.ended(note)
        if note.get("sent"):
            note["sent"] = False  # it is owed now, and counted when it is told
            self._owed.append(note)
            self._is_urgent = True
        elif not _is_brief(note):
            self._is_urgent = True
        if self._idle:
            self._wake.set()

    def submitted(self, note: Note) -> None:
        """Note that a task of this process has submitted another one."""
        self._keep(note)
        self._is_urgent = True
        if not self._is_started or self._idle:
            self._start()

    def _keep(self, note: Note) -> None:
        """Until somebody watches, or as long as there is room."""
        if len(self._news) == MOST_KEPT:
            oldest = self._news[0]
            if "ended_at" in oldest and "sent" not in oldest:
                self._forget(oldest)
        self._news.append(note)

    def _forget(self, note: Note) -> None:
        """Count a task that has ended instead of keeping its note."""
        name = note["name"] if len(self._forgotten) < MOST_FORGOTTEN else ""
        ended_so = (name, note["kind"], note.get("end", "FINISHED"))
        with self._counting:
            self._forgotten[ended_so] = self._forgotten.get(ended_so, 0) + 1

    def current(self) -> Note | None:
        """The note of the running task; in a thread that an actor has started, the note of the actor."""
        task_id = current_task_id()
        for note in list(self._running.values()):
            if note["task_id"] == task_id:
                return note
        return self.creation

    def is_inside_one(self) -> bool:
        """Whether the calling code is a part of a task that has a note."""
        return bool(self._ids) and current_task_id() in self._ids

    def speaking(self) -> Note | None:
        """The note of the task that prints here; also in a thread of the task, if it is the only running one."""
        running = list(self._running.values())
        return self.current() or (running[0] if len(running) == 1 else None)

    def several_run(self) -> bool:
        """Whether more than one task runs in this process: an actor's calls, in threads or in asyncio."""
        return len(self._running) > 1

    def progress(self, done: float, total: float) -> None:
        """Note the progress of the running task."""
        note = self.current()
        if note is not None:
            note["progress"] = (done, total)
            self._news.append(note)
            self._is_urgent = True

    # ---- sending

    def _start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started = True
                self._start_thread(self)
        self._wake.set()

    def run(self) -> None:
        """What the thread does, as long as the process lives."""
        self._worked_at = time.monotonic()
        while True:
            watched = self._say()
            time.sleep(SEND_EVERY_S if watched else LOOK_EVERY_S)  # also when idle: waking for every short task is dear
            if self._running:
                self._worked_at = time.monotonic()
            elif not self._lives_on and not (watched and self._news) and not (self._owed and self._link.has_collector):
                self._sleep()

    def _say(self) -> bool:
        """Look whether somebody watches, and send new notes if so. Returns whether somebody watches.

        Ray ends an actor's process as soon as its last handle goes, usually right after a call, and crashes if a thread
        then talks to Ray. Ray waits for running calls, and these wait for us. Between calls we are silent until the
        actor seems to live on.
        """
        with self._in_ray:
            if self._lives_on and not self._running and time.monotonic() < self._ended_at + QUIET_S:
                return bool(self._link)
            try:
                if self._link.look(self._tell_anew):
                    self._send()
                elif self._owed and self._link.has_collector:
                    self._send_owed()
            except Exception:  # the cluster or the collector has ended: a report must never cost a task
                self._link.let_go()
            return bool(self._link)

    def _sleep(self) -> None:
        """Sleep until the next task starts; only briefly while notes are unsent: somebody may begin to watch."""
        self._idle = True
        if not self._running:
            is_fresh = time.monotonic() < self._worked_at + UNSAID_S
            later_s = LOOK_IDLE_EVERY_S if self._link.has_collector else None
            if self._wake.wait((LOOK_EVERY_S if is_fresh else later_s) if self._news else None):
                self._worked_at = time.monotonic()
        self._wake.clear()
        self._idle = False

    def _tell_anew(self) -> None:
        """Report what still holds something to a collector that knows nothing yet."""
        for note in list(self._running.values()):
            note.pop("sent", None)
        if self.creation is not None:
            self._news.append(self.creation)
            self._is_urgent = True

    def _send(self, *, everything: bool = False) -> Any:
        """Send the notes that are due; returns Ray's ref of the collector's answer, None if none is due."""
        now = time.time()
        born_before = now if everything else now - SHORT_S
        running = [note for note in list(self._running.values()) if "sent" not in note and "ended_at" not in note]
        notes = {id(note): note for note in running if _is_told(note, born_before)}
        waiting = len(self._news)
        goes_on = bool(self._running) or time.monotonic() < self._ended_at + FLOOD_LASTS_S
        rest_s = FLOOD_EVERY_S if waiting >= FLOOD and goes_on else BRIEFS_EVERY_S
        can_wait = now - self._sent_at < rest_s and waiting < 3 * MOST_KEPT // 4
        if can_wait and not (notes or self._is_urgent or everything):
            return None
        self._is_urgent = False  # before the news are read: a note that comes in between is urgent next time
        briefs, young = [], []
        for note in (*self._taken_from(self._owed), *self._taken_from(self._news)):
            if _is_brief(note):
                briefs.append(note)
            elif _is_told(note, born_before):
                notes[id(note)] = note
            else:
                young.append(note)
        self._news.extendleft(reversed(young))
        if not notes and not briefs:
            return None
        self._sent_at = now
        with self._counting:
            forgotten, self._forgotten = self._forgotten, {}
        return self._link.send(self._where(), _as_sent(notes.values()), packed(briefs), forgotten)

    def _send_owed(self) -> Any:
        """Say which tasks have ended that the collector holds for running. They are as many as ran beside each other
        when somebody watched last.
        """
        return self._link.send(self._where(), _as_sent(self._taken_from(self._owed)), packed([]), {})

    @staticmethod
    def _taken_from(waiting: deque[Note]) -> list[Note]:
        """All that is there now."""
        return [waiting.popleft() for _ in range(len(waiting))]

    def _where(self) -> Note:
        if not self._here:
            context = ray.get_runtime_context()
            self._here = {
                "worker_id": context.get_worker_id(),
                "node_id": context.get_node_id(),
                "pid": os.getpid(),
                "actor_id": context.get_actor_id(),
            }
        return self._here

    def flush(self) -> None:
        """Send now and wait: this process is about to end."""
        self._link.look_anew()
        try:
            if self._link.look(self._tell_anew) or (self._owed and self._link.has_collector):
                sent = self._send(everything=True) if self._link else self._send_owed()
                if sent is not None:
                    _value(sent, END_TIMEOUT_S)
        except Exception:  # the task's own result matters more than its report
            return


def _as_sent(notes: Iterable[Note]) -> list[Note]:
    """Copies that can travel. Of those that run, the collector then knows that they do."""
    batch = []
    for note in notes:
        if "ended_at" not in note and "started_at" in note:
            note["sent"] = True  # before the copy: an end that comes in between is then sent separately
        plain = {name: _plain(value) for name, value in list(note.items()) if name != "sent"}
        plain["task_id"] = plain.pop("stands_for", plain["task_id"])
        batch.append(plain)
    return batch


def _is_brief(note: Note) -> bool:
    """Whether a task has ended and its note has nothing else to report."""
    return "ended_at" in note and len(note) - ("sent" in note) == _FIELDS_OF_BRIEF


def _is_told(note: Note, born_before: float) -> bool:
    """Whether to report a task now; otherwise it may end before its first report."""
    return any(name in note for name in _TOLD_AT_ONCE) or note.get("started_at", 0.0) <= born_before


def packed(notes: list[Note]) -> Briefs:
    """Pack the notes of tasks that ended before their first report."""
    kinds: dict[Kind, int] = {}
    rows = []
    for note in notes:
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


def current_task_id() -> object:
    """The running task's id, also in an asyncio actor, where several run at once."""
    return ray._private.worker.global_worker.core_worker.get_current_task_id()


def devices_here(families: tuple[str, ...]) -> dict[str, list[str]]:
    """The device ids that this task or actor was given, in device order."""
    given = ray.get_runtime_context().get_accelerator_ids()
    return {name: in_device_order(given[name]) for name in families if given.get(name)}


def in_device_order(ids: list[object]) -> list[str]:
    """Ids as strings; numbers by their value, others (UUIDs) as given."""
    texts = [str(id) for id in ids]
    return sorted(texts, key=int) if all(text.isdigit() for text in texts) else texts


def first_line(error: BaseException) -> str:
    """The class and the first line of an error's text."""
    text = str(error)
    return f"{type(error).__name__}: {text.splitlines()[0][:200]}" if text else type(error).__name__


def _plain(value: object) -> object:
    return value.hex() if hasattr(value, "hex") and not isinstance(value, float) else value


reporter = Reporter()
