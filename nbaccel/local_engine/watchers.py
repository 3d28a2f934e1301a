"""Those who look on: drivers' news connections (output, notices, pictures) and observers, who speak JSON lines.

```
  log process ── Said ──► job's news ── Lines ──► notebook        the log process goes on when these are written
  any change ──► at once, then at most PICTURES_PER_S ──► Picture to each watcher; nothing when nobody watches
```
"""

from __future__ import annotations

import hmac
import time
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.local_engine import log, wire
from nbaccel.local_engine.peers import Peer
from nbaccel.scheduling.commands import Warn
from nbaccel.snapshot import Alert

if TYPE_CHECKING:
    from nbaccel.local_engine.head import Head

PICTURES_PER_S = 4
KEPT_LINES_BYTES = 4 << 20  # of a job whose news connection has not come yet
MOST_ALERTS = 100


class Watchers:
    """The head's mouth towards those who only look."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._watching: set[Peer] = set()
        self._unwritten: dict[Peer, int] = {}  # bytes of lines that the log process waits for
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

    def lines(self, said: log.Said) -> None:
        """Output of a worker: to the driver of its job."""
        head = self._head
        worker = head.workers.by_id.get(bytes.fromhex(said.worker_id))
        job_number = worker.setup_job if worker is not None else head.dead_workers.get(said.worker_id, 0)
        message = wire.Lines(
            said.name, said.pid, said.stream, said.text, said.cell, said.parent.encode("latin-1"), job_number
        )
        targets = (
            [head.jobs[job_number]] if job_number in head.jobs else [job for job in head.jobs.values() if not job.ended]
        )
        waiting = False
        for job in targets:
            if job.news is not None and not job.news.closed:
                self._send_news(job.news, message)
                self._unwritten[job.news] = self._unwritten.get(job.news, 0) + len(said.text)
                waiting = True
            elif not job.ended and sum(len(lines.text) for lines in job.held_lines) < KEPT_LINES_BYTES:
                job.held_lines.append(message)
        if not waiting:
            head.log.say(log.encode(log.Taken(len(said.text))))

    def _send_news(self, peer: Peer, message: Any) -> None:
        self._head.send(peer, message)

    def news_written(self, peer: Peer) -> None:
        """Everything for this peer has left: the log process may go on."""
        size = self._unwritten.pop(peer, 0)
        if size and self._head.log.running:
            self._head.log.say(log.encode(log.Taken(size)))

    def notice(self, job_number: int, message: wire.Notice) -> None:
        job = self._head.jobs.get(job_number)
        if job is None or job.ended:
            return
        if job.news is not None and not job.news.closed:
            self._head.send(job.news, message)
        else:
            job.notices.append(message)

    def warned(self, command: Warn) -> None:
        """The scheduler has something to say about a task that waits."""
        record = self._head.scheduler.task_record(command.task_id) if command.task_id else None
        template = record.task.payload.record.template if record is not None else None
        cell, parent = (template.cell, template.parent) if template else ("", b"")
        self.notice(command.job, wire.Notice(command.kind, command.message, cell, parent, command.task_id or b""))
        if command.kind != "waiting":
            self.alert(command.kind, command.message, task_id=command.task_id.hex() if command.task_id else None)

    def alert(self, kind: str, message: str, **where: Any) -> None:
        self.alerts.append(Alert(kind, message, time.time(), **where))
        del self.alerts[:-MOST_ALERTS]
        self.changed()

    # ---- pictures

    def watch(self, peer: Peer, message: wire.Watch) -> None:
        """Begin or stop sending pictures to a news connection."""
        if message.on:
            self._watching.add(peer)
            self._send_picture(peer)
        else:
            self._watching.discard(peer)
        self._head.node.measure(bool(self._watching))

    def changed(self) -> None:
        """Something is different from the last picture."""
        if not self._watching or self._armed:
            return
        now = time.monotonic()
        self._armed = True
        self._head.poll.at(max(self._due, now), self._publish)

    def _publish(self) -> None:
        self._armed = False
        self._due = time.monotonic() + 1 / PICTURES_PER_S
        for peer in list(self._watching):
            if peer.pending:
                self._armed = True  # a slow reader gets the newest picture once it has read the one before
                self._head.poll.at(self._due, self._publish)
                return
        body = self._encoded()
        for peer in self._watching:
            self._send_body(peer, body)

    def _encoded(self) -> bytes:
        self.seq += 1
        return msgspec.msgpack.encode(self._head.questions.picture())

    def _send_picture(self, peer: Peer) -> None:
        self._send_body(peer, self._encoded())

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
            self._watching.discard(peer)
            self._head.node.measure(bool(self._watching))
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
            self._send_picture(peer)
        elif what == "watch":
            self.watch(peer, wire.Watch(bool(request.get("on", True))))
        elif what is not None:
            self._say_json(peer, self._head.questions.of_observer(str(what), request))

    def _greeted(self, peer: Peer, request: dict[str, Any]) -> bool:
        if not hmac.compare_digest(str(request.get("token", "")), self._head.config.token):
            self._say_json(peer, {"kind": "error", "message": "The token is missing or wrong."})
            self._head.poll.at(time.monotonic(), lambda: None if peer.closed else self._head.drop_peer(peer))
            return False
        peer.hello = wire.Hello("observer", "", 0, wire.VERSION, "", "")
        self._say_json(peer, {"kind": "welcome", "protocol": 1, "session": self._head.config.session})
        return True

    def _say_json(self, peer: Peer, answer: dict[str, Any]) -> None:
        peer.pending += msgspec.json.encode(answer) + b"\n"
        self._head.touched.add(peer)
