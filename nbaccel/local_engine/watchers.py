"""Those who look on: drivers' news connections (output, notices, pictures) and observers, who speak JSON lines.

```
  log process ── Said ──► job's news ── Lines ──► notebook        the log process goes on when these are written
  any change ──► at once, then at most PICTURES_PER_S ──► Picture to each watcher; nothing when nobody watches
```
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.local_engine import log, wire
from nbaccel.local_engine.peers import Peer
from nbaccel.local_engine.records import Job, WorkerProcess
from nbaccel.scheduling.commands import Warn
from nbaccel.snapshot import Alert, Snapshot

if TYPE_CHECKING:
    from nbaccel.local_engine.head import Head

PICTURES_PER_S = 4
MOST_ROWS = 1000  # of tasks that a watcher may ask for
MANY_ROWS = 100  # from here on a picture is big, and comes once a second
CREDIT_BYTES = 4 << 20  # of lines for one slow reader; then its workers wait in their prints
KEPT_LINES_BYTES = 4 << 20  # of a job whose news connection has not come yet
MOST_ALERTS = 100
_OF_WAITING = ("infeasible", "deadlock", "kept")  # what is true only while it waits


class Watchers:
    """The head's mouth towards those who only look."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._watching: dict[Peer, int] = {}  # -> rows of tasks that it asked for
        self._last: dict[int, bytes] = {}  # rows -> the last published picture, without its number and time
        self._unwritten: dict[Peer, int] = {}  # bytes of lines that a slow reader has not taken
        self._gates: dict[Peer, list[Callable[[], None]]] = {}  # pipes that wait for it
        self._due = 0.0
        self._armed = False
        self._observer_buffers: dict[Peer, bytes] = {}
        self.alerts: list[Alert] = []
        self.seq = 0

    # ---- output

    def news_came(self, peer: Peer, job_number: int) -> None:
        job = self._head.jobs.get(job_number)
        if job is None:
            self._head.send(peer, wire.Refused("There is no such job."))
            return
        peer.job = job_number
        job.news = peer
        for message in [*job.held_lines, *job.notices]:
            self._send_news(peer, message)
        job.held_lines, job.notices = [], []

    def lines(self, worker: WorkerProcess, stream: int, pieces: list[log.Piece], then: Callable[[], None]) -> None:
        """Output of a worker: to the driver of its job. `then` is called once there is room for more."""
        jobs, number = self._head.jobs, worker.setup_job
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
        elif not job.ended and sum(len(lines.text) for lines in job.held_lines) < KEPT_LINES_BYTES:
            job.held_lines.append(message)

    def _send_news(self, peer: Peer, message: Any) -> None:
        self._head.send(peer, message)

    def news_written(self, peer: Peer) -> None:
        """Everything for this peer has left: those who wait with more may go on."""
        self._unwritten.pop(peer, None)
        for then in self._gates.pop(peer, ()):
            then()

    def forget_gates(self) -> None:
        """There is a new log process, which goes on by itself."""
        self._gates.clear()

    def notice(self, job_number: int, message: wire.Notice) -> None:
        job = self._head.jobs.get(job_number)
        if job is None or (job.ended and message.message):  # what waited has ended too: its line is still taken away
            return
        if job.news is not None and not job.news.closed:
            self._head.send(job.news, message)
        elif not job.ended:
            job.notices.append(message)

    def warned(self, command: Warn) -> None:
        """The scheduler has something to say about a task that waits, or takes it back."""
        record = self._head.scheduler.task_record(command.task_id) if command.task_id else None
        template = record.task.payload.record.template if record is not None else None
        cell, parent = (template.cell, template.parent) if template else ("", b"")
        self.notice(command.job, wire.Notice(command.kind, command.message, cell, parent, command.task_id or b""))
        task_id = command.task_id.hex() if command.task_id else None
        self.alerts = [alert for alert in self.alerts if alert.task_id != task_id or alert.kind not in _OF_WAITING]
        if command.message and command.kind in _OF_WAITING:
            self.alert(command.kind, command.message, task_id=task_id)

    def alert(self, kind: str, message: str, **where: Any) -> None:
        self.alerts.append(Alert(kind, message, time.time(), **where))
        del self.alerts[:-MOST_ALERTS]
        self.changed()

    # ---- pictures

    def watch(self, peer: Peer, message: wire.Watch) -> None:
        """Begin or stop sending pictures to a news connection."""
        if message.on:
            self._watching[peer] = max(0, min(message.rows, MOST_ROWS))
            self._send_picture(peer)
        else:
            self._watching.pop(peer, None)
        self._head.node.watch.measure(bool(self._watching))

    def changed(self) -> None:
        """Something is different from the last picture."""
        if not self._watching or self._armed:
            return
        now = time.monotonic()
        self._armed = True
        self._head.poll.at(max(self._due, now), self._publish)

    def _publish(self) -> None:
        self._armed = False
        big = any(rows > MANY_ROWS for rows in self._watching.values())
        self._due = time.monotonic() + (1.0 if big else 1 / PICTURES_PER_S)
        for peer in list(self._watching):
            if peer.pending:
                self._armed = True  # a slow reader gets the newest picture once it has read the one before
                self._head.poll.at(self._due, self._publish)
                return
        asked = set(self._watching.values())
        self._last = {rows: body for rows, body in self._last.items() if rows in asked}
        for rows in asked:
            picture = self._head.questions.picture(rows)
            if self._is_new(rows, picture):
                body = self._encoded(picture)
                for peer in [peer for peer, wanted in self._watching.items() if wanted == rows]:
                    self._send_body(peer, body)

    def _is_new(self, rows: int, picture: Snapshot) -> bool:
        """Whether it says anything that the last one did not: a quiet cluster sends nothing."""
        picture.seq, picture.time = 0, 0.0
        content = msgspec.msgpack.encode(picture)
        same = self._last.get(rows) == content
        self._last[rows] = content
        return not same

    def _encoded(self, picture: Snapshot) -> bytes:
        self.seq += 1
        picture.seq, picture.time = self.seq, time.time()
        return msgspec.msgpack.encode(picture)

    def _send_picture(self, peer: Peer) -> None:
        self._send_body(peer, self._encoded(self._head.questions.picture(self._watching.get(peer, 0))))

    def _send_body(self, peer: Peer, body: bytes) -> None:
        if peer.role == "observer":
            snapshot = msgspec.msgpack.decode(body)
            self._say_json(peer, {"kind": "snapshot", "snapshot": snapshot})
        else:
            self._head.send(peer, wire.Picture(body))

    def gone(self, peer: Peer) -> None:
        """A news connection or an observer has ended."""
        self.news_written(peer)
        self._observer_buffers.pop(peer, None)
        if peer in self._watching:
            del self._watching[peer]
            self._head.node.watch.measure(bool(self._watching))
        job = self._head.jobs.get(peer.job)
        if job is not None and job.news is peer:
            job.news = None

    # ---- observers

    def adopt_observer(self, peer: Peer, error: Exception) -> bool:
        """A new connection whose first bytes are a line of JSON is an observer's."""
        data = bytes(peer.reader.rest())
        if not data.startswith(b"{"):
            return False
        peer.role = "observer"
        self._observer_buffers[peer] = b""
        self._head.poll.unregister(peer.sock)
        self._head.poll.register(peer.sock, lambda: self._read_observer(peer))
        self._observer_said(peer, data)
        return True

    def _read_observer(self, peer: Peer) -> None:
        try:
            data = peer.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._head.drop_peer(peer)
            self.gone(peer)
            return
        self._observer_said(peer, data)

    def _observer_said(self, peer: Peer, data: bytes) -> None:
        *lines, rest = (self._observer_buffers[peer] + data).split(b"\n")
        self._observer_buffers[peer] = rest
        for line in lines:
            if line.strip():
                self._obey(peer, line)

    def _obey(self, peer: Peer, line: bytes) -> None:
        try:
            request = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.DecodeError as error:
            self._say_json(peer, {"kind": "error", "message": f"This is not a line of JSON: {error}"})
            return
        if peer.hello is None and not self._greeted(peer, request):
            return
        what = request.get("ask")
        if what == "snapshot":
            self._head.node.watch.freshen(lambda: None if peer.closed else self._send_picture(peer))
        elif what == "watch":
            self.watch(peer, wire.Watch(bool(request.get("on", True)), rows=int(request.get("rows", 0))))
        elif what is not None:
            self._say_json(peer, self._head.questions.of_observer(str(what), request))

    def _greeted(self, peer: Peer, request: dict[str, Any]) -> bool:
        if not hmac.compare_digest(str(request.get("token", "")), self._head.config.token):
            self._say_json(peer, {"kind": "error", "message": "The token is missing or wrong."})
            peer.write()
            self._head.poll.at(time.monotonic(), lambda: None if peer.closed else self._head.drop_peer(peer))
            return False
        peer.hello = wire.Hello("observer", "", 0, wire.VERSION, "", "")
        self._say_json(peer, {"kind": "welcome", "protocol": 1, "session": self._head.config.session})
        return True

    def _say_json(self, peer: Peer, answer: dict[str, Any]) -> None:
        peer.pending += msgspec.json.encode(answer) + b"\n"
        self._head.touched.add(peer)
