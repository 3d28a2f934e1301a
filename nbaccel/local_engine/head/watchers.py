"""Those who look on: drivers' news connections (output, notices, snapshots) and observers, who speak JSON lines.

```
  log process ── Chunk ──► job's news ── Lines ──► notebook       the log process goes on when these are written
  any change ──► at once, then at most SNAPSHOTS_PER_S ──► SnapshotMessage to each watcher; nothing when nobody watches
  observer ── {"ask": "watch"} ──► {"kind": "snapshot", …} now, and at every change
```
`views.observer_lines` has all lines of observers, and `connections.py` the table of the answers. Each pass of the
head's loop answers one question of each observer, so that others have their turn. The head reads no further question
while more than MOST_UNREAD_BYTES of answers are unread: an observer that never reads costs that and one answer. A
mistake is answered and the observer may go on; an unexpected exception is answered and ends the observer.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Connections, Peer
from nbaccel.local_engine.head.poll import Loop, Note
from nbaccel.local_engine.head.records import Job, WorkerProcess
from nbaccel.local_engine.side_processes import log
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.framing import LineReader, Unreadable
from nbaccel.scheduling.commands import Warn
from nbaccel.views.observer_lines import (
    PROTOCOL,
    ErrorLine,
    ObserverLine,
    ObserverQuestion,
    SnapshotLine,
    TakeSnapshot,
    WatchSnapshots,
    WelcomeLine,
    question_of,
)
from nbaccel.views.snapshot import Alert, Snapshot

if TYPE_CHECKING:
    from nbaccel.local_engine.head.connections import Send
    from nbaccel.local_engine.head.poll import LoopTimers
    from nbaccel.scheduling.scheduler import Scheduler


class Notifier(Protocol):
    """Shows notices, alerts and changes to drivers and to watchers of snapshots."""

    def notice(self, job_number: int, message: wire.NoticeMessage) -> None:
        """Show a notice to the driver of a job."""

    def alert(self, kind: str, message: str, **where: Any) -> None:
        """Show an alert to all watchers."""

    def changed(self) -> None:
        """The state differs from the last snapshot."""


SNAPSHOTS_PER_S = 4
MOST_ROWS = 1000  # the most rows of tasks that a watcher may ask for
MANY_ROWS = 100  # a snapshot with this many rows is large: it is sent once a second
CREDIT_BYTES = 4 << 20  # unread lines of one slow reader; above it, its workers wait in `print`
KEPT_LINES_BYTES = 4 << 20  # lines kept for a job whose news connection is not there yet
MOST_ALERTS = 100
_OF_WAITING = ("infeasible", "deadlock", "kept")  # kinds of notices that are true only while a task waits


class Watchers:
    """The head's mouth towards those who only look."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        jobs: Mapping[int, Job],
        send: Send,
        *,
        snapshot: Callable[[int, int], Snapshot],
        measure: Callable[[bool], None],
        send_line: Callable[[Peer, ObserverLine], None],
    ) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._jobs = jobs
        self._send = send
        self._snapshot = snapshot  # builds one with this number and at most so many rows of tasks
        self._measure = measure  # begins or ends the measuring of devices
        self._send_line = send_line
        self.watching: dict[Peer, int] = {}  # watcher -> the number of task rows that it asked for
        self._measuring: set[Peer] = set()  # those who want measurements of devices
        self._behind: set[Peer] = set()  # watchers that read too slowly to be sent the last snapshot
        self._last: dict[int, bytes] = {}  # number of rows -> the last snapshot sent, without its number and time
        self._unwritten: dict[Peer, int] = {}  # bytes of lines that a slow reader has not read yet
        self._gates: dict[Peer, list[Callable[[], None]]] = {}  # continues the pipes that wait for this reader
        self._due = 0.0
        self._armed = False
        self.alerts: list[Alert] = []
        self.seq = 0

    # ---- output

    def news_came(self, peer: Peer, job: Job) -> None:
        peer.job = job.number
        job.news = peer
        for message in [*job.early_lines, *job.notices]:
            self._send_news(peer, message)
        job.early_lines, job.notices = [], []

    def lines(self, worker: WorkerProcess, stream: int, pieces: list[log.Piece], then: Callable[[], None]) -> None:
        """Output of a worker: to the driver of its job. `then` is called once there is room for more."""
        jobs, number = self._jobs, worker.setup_job
        slow: Peer | None = None
        for job in [jobs[number]] if number in jobs else [job for job in jobs.values() if not job.ended]:
            for piece in pieces:
                who = piece.owner
                parent = who.parent.encode("latin-1")
                self._show(job, wire.Lines(who.name, who.pid, stream, piece.text, who.cell, parent, number))
            if job.news is not None and self._unwritten.get(job.news, 0) > CREDIT_BYTES:
                slow = job.news
        if slow is None:
            then()
        else:
            self._gates.setdefault(slow, []).append(then)

    def _show(self, job: Job, message: wire.Lines) -> None:
        if job.news is not None and not job.news.closed:
            self._send_news(job.news, message)
            self._unwritten[job.news] = self._unwritten.get(job.news, 0) + len(message.text)
        elif not job.ended and sum(len(lines.text) for lines in job.early_lines) < KEPT_LINES_BYTES:
            job.early_lines.append(message)

    def _send_news(self, peer: Peer, message: Any) -> None:
        self._send(peer, message)

    def news_written(self, peer: Peer) -> None:
        """Everything for this peer has left: those who wait with more may go on."""
        self._unwritten.pop(peer, None)
        for then in self._gates.pop(peer, ()):
            then()
        self.caught_up(peer)

    def caught_up(self, peer: Peer) -> None:
        """It has read all that it was sent: one that was too slow for a snapshot gets the newest."""
        if peer in self._behind and peer in self.watching:
            self.changed()

    def forget_gates(self) -> None:
        """There is a new log process, which goes on by itself."""
        self._gates.clear()

    def notice(self, job_number: int, message: wire.NoticeMessage) -> None:
        job = self._jobs.get(job_number)
        if job is None or (job.ended and message.message):  # of an ended job, only removals count
            return
        if job.news is not None and not job.news.closed:
            self._send(job.news, message)
        elif not job.ended:
            job.notices.append(message)

    def warned(self, command: Warn) -> None:
        """The scheduler has something to say about a task that waits, or takes it back."""
        record = self._scheduler.task_record(command.task_id) if command.task_id else None
        terms = record.task.terms if record is not None else None
        cell, parent = (terms.cell, terms.parent) if terms else ("", b"")
        self.notice(
            command.job, wire.NoticeMessage(command.kind, command.message, cell, parent, command.task_id or b"")
        )
        task_id = command.task_id.hex() if command.task_id else None
        self.alerts = [alert for alert in self.alerts if alert.task_id != task_id or alert.kind not in _OF_WAITING]
        if command.message and command.kind in _OF_WAITING:
            self.alert(command.kind, command.message, task_id=task_id)

    def alert(self, kind: str, message: str, **where: Any) -> None:
        self.alerts.append(Alert(kind, message, time.time(), **where))
        del self.alerts[:-MOST_ALERTS]
        self.changed()

    # ---- snapshots

    def watch(self, peer: Peer, message: wire.Watch) -> None:
        """Begin or stop sending snapshots to a news connection."""
        if message.on:
            self.watching[peer] = max(0, min(message.rows, MOST_ROWS))
            self.send_snapshot(peer)
        else:
            self.watching.pop(peer, None)
        wanted = self._measuring | {peer} if message.metrics else self._measuring - {peer}
        self._measuring = wanted & self.watching.keys()
        self._measure(bool(self._measuring))

    def changed(self) -> None:
        """Something is different from the last snapshot."""
        if not self.watching or self._armed:
            return
        now = self._timers.now()
        self._armed = True
        self._timers.at(max(self._due, now), self._publish)

    def _publish(self) -> None:
        self._armed = False
        big = any(rows > MANY_ROWS for rows in self.watching.values())
        self._due = self._timers.now() + (1.0 if big else 1 / SNAPSHOTS_PER_S)
        slow = {peer for peer in self.watching if peer.pending}
        self._behind |= slow  # they are sent the newest snapshot once they have read the last one
        asked = {rows for peer, rows in self.watching.items() if peer not in slow}
        self._last = {rows: body for rows, body in self._last.items() if rows in asked}
        for rows in asked:
            snapshot = self._snapshot(self.seq, rows)
            is_new = self._is_new(rows, snapshot)
            readers = {peer for peer, wanted in self.watching.items() if wanted == rows} - slow
            behind = readers if is_new else readers & self._behind
            if behind:
                self._send_snapshot(behind, snapshot)
            self._behind -= readers

    def _is_new(self, rows: int, snapshot: Snapshot) -> bool:
        """Whether it says anything that the last one did not: a quiet cluster sends nothing."""
        snapshot.seq, snapshot.time = 0, 0.0
        content = msgspec.msgpack.encode(snapshot)
        same = self._last.get(rows) == content
        self._last[rows] = content
        return not same

    def send_snapshot(self, peer: Peer) -> None:
        """Send the current snapshot to one peer."""
        self._send_snapshot({peer}, self._snapshot(self.seq, self.watching.get(peer, 0)))

    def _send_snapshot(self, peers: set[Peer], snapshot: Snapshot) -> None:
        """Send it as each peer reads it: to observers as a line of JSON, to drivers as a message, encoded once."""
        self.seq += 1
        snapshot.seq, snapshot.time = self.seq, time.time()
        observers = {peer for peer in peers if peer.role == "observer"}
        for peer in observers:
            self._send_line(peer, SnapshotLine(snapshot))
        if drivers := peers - observers:
            message = wire.SnapshotMessage(msgspec.msgpack.encode(snapshot))
            for peer in drivers:
                self._send(peer, message)

    def gone(self, peer: Peer) -> None:
        """A news connection or an observer has ended."""
        self.news_written(peer)
        self._behind.discard(peer)
        if peer in self.watching:
            del self.watching[peer]
            self._measuring.discard(peer)
            self._measure(bool(self._measuring))
        job = self._jobs.get(peer.job)
        if job is not None and job.news is peer:
            job.news = None


READ_BYTES = 1 << 16
MOST_UNREAD_BYTES = 1 << 20


class _Observer(Struct):
    peer: Peer
    lines: LineReader
    waits: bool = False  # for a snapshot, until the devices have been looked at
    wants_snapshot: bool = False  # they have
    obeying: bool = False
    goes_on: bool = False  # in the loop's next pass
    has_ended: bool = False  # it sends no more, and takes its last answers


class Observers:
    """All observers of a head."""

    def __init__(
        self,
        loop: Loop,
        connections: Connections,
        note: Note,
        session: str,
        *,
        answer: Callable[[Peer, ObserverQuestion[Any]], ObserverLine],
        freshen: Callable[[Callable[[], None]], None],
        watch: Callable[[Peer, wire.Watch], None],
        send_snapshot: Callable[[Peer], None],
    ) -> None:
        self._loop = loop
        self._connections = connections
        self._note = note
        self._session = session
        self._answer = answer
        self._freshen = freshen  # looks at the devices, then calls
        self._watch = watch
        self._send_snapshot = send_snapshot
        self._known: dict[Peer, _Observer] = {}

    def adopt(self, peer: Peer, lines: LineReader) -> None:
        """Take over a connection that has shown the token, with the bytes that followed it."""
        peer.role = "observer"
        observer = self._known[peer] = _Observer(peer, lines)
        self._loop.register(peer.sock, lambda: self._readable(observer))
        self.send_line(peer, WelcomeLine(PROTOCOL, self._session))
        self._go_on(observer)

    def gone(self, peer: Peer) -> None:
        self._known.pop(peer, None)

    def written(self, peer: Peer) -> None:
        """An observer has read all answers: handle its next question."""
        observer = self._known.get(peer)
        if observer is None:
            return
        if observer.has_ended:
            self._end(observer)
        else:
            self._go_on(observer)

    def send_line(self, peer: Peer, line: ObserverLine) -> None:
        peer.pending += line.encoded()
        self._connections.touch(peer)

    # ---- reading

    def _readable(self, observer: _Observer) -> None:
        data = observer.peer.receive(READ_BYTES)
        if data is None and observer.peer.pending:
            observer.has_ended = True
            self._loop.pause_reading(observer.peer.sock, True)
        elif data is None:
            self._end(observer)
        elif data:
            observer.lines.feed(data)
            self._go_on(observer)

    def _end(self, observer: _Observer) -> None:
        self._connections.end(observer.peer)

    def _go_on(self, observer: _Observer) -> None:
        """Handle the next line, if the earlier answers have been read. Later passes handle the other lines."""
        peer = observer.peer
        if observer.obeying or peer.closed:
            return  # an answer that came at once is sent in the next pass
        observer.obeying = True
        try:
            if self._obey_next(observer):
                self._go_on_later(observer)
        except Unreadable as error:
            self._expel(observer, str(error))
        except Exception as error:  # a failure of one observer's line ends that observer only
            self._note(f"a question of an observer failed:\n{traceback.format_exc()}")
            self._expel(observer, f"The head could not answer: {type(error).__name__}: {error}")
        finally:
            observer.obeying = False
        if not peer.closed:
            paused = observer.goes_on or observer.has_ended or self._is_busy(observer)
            self._loop.pause_reading(peer.sock, paused)

    def _go_on_later(self, observer: _Observer) -> None:
        if not observer.goes_on:
            observer.goes_on = True
            self._loop.after(0, lambda: self._next_pass(observer))

    def _next_pass(self, observer: _Observer) -> None:
        observer.goes_on = False
        self._go_on(observer)

    def _obey_next(self, observer: _Observer) -> bool:
        """Handle the next line. Returns whether there was one."""
        if observer.wants_snapshot:
            observer.wants_snapshot = False
            self._send_snapshot(observer.peer)
            return True
        line = None if self._is_busy(observer) else observer.lines.next_line()
        if line is not None:
            self._obey(observer, line)
        return line is not None

    def _is_busy(self, observer: _Observer) -> bool:
        return observer.waits or len(observer.peer.pending) > MOST_UNREAD_BYTES

    def _expel(self, observer: _Observer, why: str) -> None:
        self.send_line(observer.peer, ErrorLine(why))
        observer.peer.write()
        self._end(observer)

    # ---- obeying

    def _obey(self, observer: _Observer, line: bytes) -> None:
        peer = observer.peer
        try:
            request = framing.decode_line(line)
            question = question_of(request) if "ask" in request else None
        except (Unreadable, ValueError) as error:
            self.send_line(peer, ErrorLine(str(error)))
            return
        if isinstance(question, TakeSnapshot):
            observer.waits = True
            self._freshen(lambda: self._show(observer))
        elif isinstance(question, WatchSnapshots):
            self._watch(peer, wire.Watch(question.on, rows=question.rows))
        elif question is not None:
            self.send_line(peer, self._answer(peer, question))

    def _show(self, observer: _Observer) -> None:
        observer.waits, observer.wants_snapshot = False, True
        if not observer.peer.closed:
            self._go_on(observer)
