"""Reports about tasks: noted in their process, and sent in batches by a thread, only while somebody watches.

A note costs a microsecond or two, and several times that where other work has pushed its code out of the processor's
caches. The thread sleeps while no task runs. While a task runs, it looks every two seconds for the sign that somebody
watches (a key in Ray's own store, read for all processes of a node, twice a second at most: SharedWatchFile); then it
sends the running and the latest ended tasks. When nobody watches any more, it still says of tasks that the collector
holds for running that they have ended, and no more.

A task that ended before its first report, and of which nothing else is known, travels as 48 bytes. Such tasks wait for
half a second, in a flood for 1.5 s, and then cost one small message together. See collector_link.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import ray

from nbaccel_in_ray import internals, interrupting, printing, stacks
from nbaccel_in_ray.collector_link import (
    FIELDS_OF_BRIEF,
    LOOK_EVERY_S,
    Call,
    CollectorLink,
    Description,
    Forgotten,
    Note,
    as_note,
    is_brief,
    packed,
    value_of,
)

SEND_EVERY_S = 0.1
SHORT_S = 0.05  # a task without devices is reported when it has run so long, or has ended
BRIEFS_EVERY_S = 0.5
FLOOD = 100  # this many waiting notes are a flood
FLOOD_EVERY_S = 1.5
FLOOD_LASTS_S = 0.2  # after a task's end: Ray may end a process that has been idle for a second, with what is unsaid
QUIET_S = 0.5
LONGEST_SAYING_S = 0.5  # a task never waits longer for its report
LAST_REPORT_S = 5.0  # but for that of a process that ends with it: half a second at a load average of 17 on two cores
UNSAID_S = 30.0  # an idle process with unsent notes looks for watchers so long
LOOK_IDLE_EVERY_S = 20.0  # and then so often, if there is a collector
MOST_KEPT = 2_000  # ended tasks of one process that a late watcher can still learn of
FORGOTTEN_AT_ONCE = 500  # further ones: each alone would cost its task more than its note
MOST_FORGOTTEN = 200  # functions by which those for whose notes there was no room are counted

_TOLD_AT_ONCE = ("devices", "progress", "ended_at")
# The errors with which a cancelled task ends.
_OF_CANCELS = ("TaskCancelledError", "RayTaskError(TaskCancelledError)", "CancelledError", "KeyboardInterrupt")


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
        self._running: dict[object, Note | Call] = {}  # by Ray's id of the task
        self._progressed: dict[object, Note] = {}  # those whose progress was not sent yet
        self._news: deque[Note | Call] = (
            deque()
        )  # notes that were not sent yet, of tasks that have ended or were submitted
        self._owed: deque[Note] = deque()  # of tasks that the collector holds for running, and that have ended
        self._forgotten: Forgotten = {}  # tasks that ended and whose notes had no room
        self._counting = threading.Lock()
        self._lock = threading.Lock()
        self._link = link or CollectorLink()
        self._start_thread = start
        self._wake = wake or threading.Event()
        self._idle = True  # the thread sleeps, or there is none yet
        self._is_started = False
        self.lines_begun = False  # whether a task may have printed a part of a line
        self._sent_at = 0.0
        self._worked_at = 0.0
        self._ended_at = 0.0
        self._in_ray = threading.Lock()  # held while the thread talks to Ray
        self._is_talking = False  # whether it may be: asking a lock would cost every task more
        self._is_urgent = False  # the news have more than short ended tasks
        self._here: Note = {}
        self._lives_on = False  # an actor holds its devices between its calls: a late watcher must learn of it
        self.creation: Note | None = None

    # ---- notes, taken by the threads that run tasks

    def began(
        self,
        name: str,
        kind: str,
        families: tuple[str, ...],
        choice: str,
        more: Callable[[Note], Note] | None = None,
        *,
        told: bool = True,
    ) -> Note | None:
        """Note the start of a task in this process, with what `more` says of the note; returns the note.

        None for a method that another method of the actor calls: it is a part of that call. `told`: views hear of it.
        """
        core = internals.core()
        task_id = core.get_current_task_id()
        if self._running and task_id in self._running and kind == "actor call":
            return None
        note: Note = {
            "task_id": task_id,
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
            self._lives_on, self.creation = told, note
            if core.current_actor_max_concurrency() > 1:
                stacks.answer_for_threads()
        if not told:
            note["untold"] = True
        self._running[task_id] = note
        if told and self._idle:
            self._start()
        return note

    def call_began(self, about: Description) -> Call | None:
        """`began` for a call that asks for no device, in as few steps as possible."""
        core = internals.core()
        task_id = core.get_current_task_id()
        running = self._running
        if running and task_id in running:
            return None
        call = running[task_id] = [task_id, core.get_current_task_attempt_number(), about, time.time(), None]
        if self._idle:
            self._start()
        return call

    def call_ended(self, call: Call) -> None:
        """`ended` for such a call, if it has raised nothing."""
        self._ended_at = ended_at = time.time()
        self._running.pop(call[0], None)
        if self._is_talking or self.lines_begun:
            self._see_to_end(call[0].hex())
        if call[4] is None:
            call[4] = ended_at
            self._news.append(call)
            if len(self._news) >= MOST_KEPT + FORGOTTEN_AT_ONCE:
                self._make_room()
        else:
            call[4]["ended_at"] = ended_at
            self._keep_ended(call[4])
        if self._idle:  # asked last: the thread says that it sleeps and then looks for news
            self._wake.set()

    def note_of(self, call: Note | Call) -> Note:
        """The note of a task that runs."""
        if isinstance(call, dict):
            return call
        with self._counting:
            if isinstance(call[4], dict):
                return call[4]
            note = as_note(call)
            if call[4] is None:
                call[4] = note
            return note

    def ended(self, note: Note, error: BaseException | None = None) -> None:
        """Note the end of a task."""
        if error is not None:
            note["error"] = first_line(error)
            note["end"] = "CANCELLED" if note["error"].startswith(_OF_CANCELS) else "FAILED"
        # Last: the thread may send the note at any moment, and an ended one only once.
        self._ended_at = note["ended_at"] = time.time()
        self._running.pop(note["task_id"], None)
        if self._is_talking or self.lines_begun:
            self._see_to_end(printing.id_of(note))
        self._keep_ended(note)
        if self._idle:
            self._wake.set()

    def _see_to_end(self, task_id: str) -> None:
        """Before a task that is among those that run no more returns to Ray."""
        if self._is_talking and self._in_ray.acquire(timeout=LONGEST_SAYING_S):  # see _say
            self._in_ray.release()
        self.lines_begun = False  # before the look: a line that another task begins meanwhile says it again
        for stream in printing.streams:
            stream.ended(task_id)
            if stream.unfinished:
                self.lines_begun = True

    def _keep_ended(self, note: Note) -> None:
        if len(note) == FIELDS_OF_BRIEF:
            self._keep(note)
            return
        self._progressed.pop(note["task_id"], None)
        if "untold" in note:
            return
        self._is_urgent = True
        if note.get("sent"):
            note["sent"] = False  # it is owed now, and counted when it is told
            self._owed.append(note)
        else:
            self._keep(note)

    def submitted(self, note: Note) -> None:
        """Note that a task of this process has submitted another one."""
        self._keep(note)
        self._is_urgent = True
        if self._idle:
            self._start()

    def _keep(self, note: Note | Call) -> None:
        """Until somebody watches, or as long as there is room."""
        self._news.append(note)
        if len(self._news) >= MOST_KEPT + FORGOTTEN_AT_ONCE:
            self._make_room()

    def _make_room(self) -> None:
        with self._counting:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        """Count the tasks that have ended and for whose notes there is no room. The caller holds the lock."""
        while len(self._news) > MOST_KEPT:
            oldest = self._news.popleft()
            if oldest is self.creation and self._lives_on:
                self._news.append(oldest)  # it is told sooner or later, and then counted
                continue
            if isinstance(oldest, list):
                ended_so = (oldest[2].name, oldest[2].kind, "FINISHED")
            elif "ended_at" in oldest:
                ended_so = (oldest["name"], oldest["kind"], oldest.get("end", "FINISHED"))
            else:
                continue
            if len(self._forgotten) >= MOST_FORGOTTEN:
                ended_so = ("", *ended_so[1:])
            self._forgotten[ended_so] = self._forgotten.get(ended_so, 0) + 1

    def current(self) -> Note | None:
        """The note of the running task; in a thread that an actor has started, the note of the actor."""
        running = self._running.get(current_task_id())
        return self.creation if running is None else self.note_of(running)

    def speaking(self) -> Note | None:
        """The note of the task that prints here; also in a thread of the task, if it is the only running one."""
        running = list(self._running.values())
        return self.current() or (self.note_of(running[0]) if len(running) == 1 else None)

    def several_run(self) -> bool:
        """Whether more than one task runs in this process: an actor's calls, in threads or in asyncio."""
        return len(self._running) > 1

    def progress(self, done: float, total: float) -> None:
        """Note the progress of the running task."""
        note = self.current()
        if note is not None and "untold" not in note:
            note["progress"] = (done, total)
            self._progressed[note["task_id"]] = note
            self._is_urgent = True

    # ---- sending

    def _start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started, self._idle = True, False
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
        then talks to Ray. Ray waits for running calls, and these wait for us: a call that ends takes itself from those
        that run and then looks whether we talk, and we say that we talk before we look who runs. Between calls we are
        silent until the actor seems to live on.
        """
        with self._in_ray:
            self._is_talking = True
            try:
                if self._lives_on and not self._running and self._has_just_ended(QUIET_S):
                    return bool(self._link)
                if self._link.look(self._tell_anew):
                    self._send()
                elif self._owed and self._link.has_collector:
                    self._send_owed()
            except Exception:  # the cluster or the collector has ended: a report must never cost a task
                self._link.let_go()
            finally:
                self._is_talking = False
            return bool(self._link)

    def _has_just_ended(self, within_s: float) -> bool:
        """Whether a task ended so lately. (The clock may have been set since then.)"""
        return abs(time.time() - self._ended_at) < within_s

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
        for running in list(self._running.values()):
            self.note_of(running).pop("sent", None)
        creation = self.creation
        if self._lives_on and creation is not None and not any(each is creation for each in list(self._news)):
            self._news.append(creation)
            self._is_urgent = True

    def _send(self, *, everything: bool = False) -> Any:
        """Send the notes that are due; returns Ray's ref of the collector's answer, None if none is due."""
        now = time.time()
        born_before = now if everything else now - SHORT_S
        notes = {id(note): note for note in self._unsaid(born_before)}
        waiting = len(self._news)
        goes_on = bool(self._running) or self._has_just_ended(FLOOD_LASTS_S)
        rest_s = FLOOD_EVERY_S if waiting >= FLOOD and goes_on else BRIEFS_EVERY_S
        can_wait = now - self._sent_at < rest_s and waiting < 3 * MOST_KEPT // 4
        if can_wait and not (notes or self._is_urgent or everything):
            return None
        self._is_urgent = False  # before the news are read: a note that comes in between is urgent next time
        briefs = []
        for note in self._taken():
            if isinstance(note, list) or is_brief(note):
                briefs.append(note)
            else:
                notes[id(note)] = note
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
        return self._link.send(self._where(), _as_sent(_taken_from(self._owed)), packed([]), {})

    def _unsaid(self, born_before: float) -> Iterator[Note]:
        """The notes of tasks that run and of which it is time to say so."""
        for running in list(self._running.values()):
            if isinstance(running, list) and running[3] > born_before:
                continue
            note = self.note_of(running)
            if not {"sent", "ended_at", "untold"} & note.keys() and _is_told(note, born_before):
                yield note

    def _taken(self) -> list[Note | Call]:
        """All that waits to be sent, but for tasks that run and of which nothing was sent."""
        with self._counting:
            self._forget_oldest()
            progressed = [self._progressed.pop(task_id, None) for task_id in list(self._progressed)]
            return [*_taken_from(self._owed), *filter(None, progressed), *_taken_from(self._news)]

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
                    value_of(sent, LAST_REPORT_S)
        except Exception:  # the task's own result matters more than its report
            return


T = TypeVar("T")


def _taken_from(waiting: deque[T]) -> list[T]:
    """All that is there now."""
    return [waiting.popleft() for _ in range(len(waiting))]


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


def _is_told(note: Note, born_before: float) -> bool:
    """Whether to report a task now; otherwise it may end before its first report."""
    return any(name in note for name in _TOLD_AT_ONCE) or note.get("started_at", 0.0) <= born_before


def current_task_id() -> object:
    """The running task's id, also in an asyncio actor, where several run at once."""
    return internals.core().get_current_task_id()


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
