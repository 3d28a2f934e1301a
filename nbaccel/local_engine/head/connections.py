"""The head's connections to its peers: what is read and written, and the table of all questions that peers ask."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from nbaccel.handles import ids
from nbaccel.local_engine import wire
from nbaccel.local_engine.head.poll import Loop, Note
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import framing
from nbaccel.local_engine.wire.framing import Unreadable
from nbaccel.views import observer_lines
from nbaccel.views.observer_lines import ErrorLine, ObserverLine, ObserverQuestion, Question, Row, table_of

READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
_BATCH = 2_000


class Peer:
    """A driver, a worker, a news reader or an observer."""

    __slots__ = (
        "client_id",
        "closed",
        "defined",
        "descriptors",
        "functions",
        "hello",
        "job",
        "left",
        "out",
        "pending",
        "reader",
        "role",
        "sock",
        "templates",
        "watching",
        "worker",
    )  # fmt: skip

    def __init__(self, sock: socket.socket, role: str, client_id: int) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.role = role  # "new", "driver", "news", "observer", "worker"
        self.client_id = client_id
        self.reader = framing.FrameReader(wire.decode_to_head)
        self.out: list[Any] = []
        self.descriptors: list[int] = []  # to be sent, and closed then; they arrive with or before what is in `out`
        self.pending = bytearray()
        self.closed = False
        self.left = False  # it has said goodbye: its objects are released, its later messages ignored
        self.job = 0
        self.templates: dict[int, Any] = {}  # the client's numbers -> Terms
        self.defined: set[int] = set()  # the head's numbers that this worker knows
        self.functions: set[bytes] = set()
        self.worker: Any = None
        self.watching: Any = None
        self.hello: wire.Hello | None = None

    def read(self) -> list[Any] | None:
        """The received messages; None at the end of the connection. Raises framing.Unreadable."""
        try:
            data = self.sock.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        return self.reader.feed(data) if data else None

    def receive(self, most_bytes: int) -> bytes | None:
        """The received bytes, b"" if there are none; None at the end of the connection."""
        try:
            return self.sock.recv(most_bytes) or None
        except BlockingIOError:
            return b""
        except OSError:
            return None

    def write(self) -> bool:
        """Write waiting messages as far as the socket takes them. Returns True if none is left."""
        out = self.out
        if out:
            for start in range(0, len(out), _BATCH):
                self.pending += wire.frame(out[start : start + _BATCH] if len(out) > _BATCH else out)
            self.out = []
        while self.pending:
            try:
                done = self._send_with_descriptors() if self.descriptors else self.sock.send(self.pending)
            except BlockingIOError:
                return False
            except OSError:
                self.pending.clear()  # the other side is gone; reading will show it
                return True
            if done == len(self.pending):
                self.pending = bytearray()
            else:
                del self.pending[:done]
        return True

    def passes(self, sock: socket.socket) -> int:
        """Send this socket, and close it here. Returns what the message that speaks of it calls it."""
        inode = os.fstat(sock.fileno()).st_ino
        self.descriptors.append(sock.detach())
        return inode

    def _send_with_descriptors(self) -> int:
        leave = self.descriptors[: wire.MOST_DESCRIPTORS]
        are_all = len(leave) == len(self.descriptors)
        done = socket.send_fds(self.sock, [self.pending if are_all else self.pending[:1]], leave)
        self._close_descriptors(len(leave))
        return done

    def _close_descriptors(self, number: int) -> None:
        """Close the first so many."""
        closed, self.descriptors = self.descriptors[:number], self.descriptors[number:]
        for fd in closed:
            os.close(fd)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._close_descriptors(len(self.descriptors))
            self.sock.close()


class QuestionError(Exception):
    """A question is answered with an error: the class to raise at the client, and the message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def id_of(text: str, what: str) -> bytes:
    """The id that a hex text names. Raises Refusal for other text; `what` is whose id was wanted ("a task")."""
    try:
        return ids.id_of(text, what)
    except ValueError as error:
        raise QuestionError("ValueError", str(error)) from None


class Later(Exception):
    """A question about a named actor that does not exist yet: ask again when the actor exists or never will."""

    def __init__(self, actor_id: bytes) -> None:
        super().__init__()
        self.actor_id = actor_id


Send = Callable[[Peer, Any], None]  # has a message written to a peer, with the next flush
Handler = Callable[[Peer, Any], None]
Failed = Callable[[Peer, Any, Exception], None]  # tells a sender that its message failed
Alike = Callable[[Peer, list[Any], int], int]  # how many messages, from this one on, are handled together; 0: none
HandleAll = Callable[[Peer, list[Any]], None]
Together = tuple[Alike, HandleAll]
Handlers = Mapping[str, Mapping[type, Handler]]  # the messages of each role, with their handlers


class Connections:
    """All peers of a head by client id. `send` collects messages, and `flush` writes them."""

    def __init__(self, loop: Loop, note: Note) -> None:
        self._loop = loop
        self._note = note
        self._count = 0
        self.peers: dict[int, Peer] = {}
        self.touched: set[Peer] = set()  # those to which something waits to be written
        self.receive: Callable[[Peer, list[Any]], None] = lambda peer, messages: None  # the bytes that were read
        self.on_end: Callable[[Peer], None] = lambda peer: None
        self.on_written: dict[str, Callable[[Peer], None]] = {}  # role -> called when nothing waits any more

    def next_client_id(self) -> int:
        self._count += 1
        return self._count

    def add(self, peer: Peer) -> None:
        """Read the messages of this peer from now on."""
        self.peers[peer.client_id] = peer
        self._loop.register(peer.sock, partial(self.take_in, peer, peer.read))

    def take_in(self, peer: Peer, read: Callable[[], list[Any] | None]) -> None:
        """Handle the result of `read`; None is the end of the connection."""
        try:
            messages = read()
        except Unreadable as error:
            self.expel(peer, f"sent what cannot be read: {error}")
            return
        if messages is None:
            self.end(peer)
        else:
            self.receive(peer, messages)

    # ---- writing

    def send(self, peer: Peer, message: Any) -> None:
        peer.out.append(message)
        self.touched.add(peer)

    def notify_driver(self, client_id: int, message: Any) -> None:
        """Send a message to this client if it is a driver that is still there."""
        peer = self.peers.get(client_id)
        if peer is not None and peer.role == "driver":
            self.send(peer, message)

    def touch(self, peer: Peer) -> None:
        """Write to this peer with the next flush, because its buffers have new data."""
        self.touched.add(peer)

    def flush(self) -> None:
        """Write to every peer with waiting data."""
        touched = self.touched
        while touched:
            peer = touched.pop()
            if peer.closed:
                peer.out.clear()
                continue
            try:
                peer.write()
            except Exception:
                self._cannot_encode(peer)
                self.end(peer)
                continue
            if peer.pending:
                self._write_later(peer)
            elif peer.role in self.on_written:
                self.on_written[peer.role](peer)

    def _write_later(self, peer: Peer) -> None:
        self._loop.want_write(peer.sock, lambda: self.touched.add(peer))

    def _cannot_encode(self, peer: Peer) -> None:
        """Text with half a character, a number beyond 64 bits: the asker gets an error."""
        self._note(f"messages to a {peer.role} cannot be encoded:\n{traceback.format_exc()}")

    # ---- ends

    def expel(self, peer: Peer, why: str) -> None:
        """End a harmful connection, and say why."""
        self._note(f"a {peer.role} connection was closed because it {why}")
        peer.out.append(wire.Refused(f"this connection {why}"))
        try:
            peer.write()
        except Exception:
            self._cannot_encode(peer)
        self.end(peer)

    def end(self, peer: Peer) -> None:
        """Close a connection, and tell the components that it concerns."""
        self.drop(peer)
        self.on_end(peer)

    def drop(self, peer: Peer) -> None:
        """Close a connection without telling anybody."""
        self._loop.unregister(peer.sock)
        peer.close()
        self.peers.pop(peer.client_id, None)
        self.touched.discard(peer)


class MessageReceiver:
    """Passes each message to its handler. An exception is answered or ends the peer; other peers are not affected."""

    def __init__(
        self,
        handlers: Handlers,
        *,
        together: Mapping[str, Mapping[type, Together]],
        failed: Mapping[type, Failed],
        expel: Callable[[Peer, str], None],
        note: Note,
    ) -> None:
        self._handlers = handlers
        self._together = together  # what is handled at once, of each role
        self._failed = failed  # for messages whose sender awaits an answer: sends it the failure
        self._expel = expel
        self._note = note

    def receive(self, peer: Peer, messages: list[Any]) -> None:
        """Handle each message, or several that are alike at once."""
        at = 0
        while at < len(messages) and not peer.closed and not peer.left:
            kind = type(messages[at])
            handler = self._handlers[peer.role].get(kind)
            if handler is None:
                self._expel(peer, f"said {kind.__name__}, which is not for it to say")
                return
            received = messages[at : at + 1]
            try:
                together = self._together[peer.role].get(kind) if peer.role in self._together else None
                number = together[0](peer, messages, at) if together is not None else 0
                if together is not None and number:
                    received = messages[at : at + number]
                    together[1](peer, received)
                else:
                    handler(peer, received[0])
            except Exception as error:
                self._failed_at(peer, received, error)
            at += len(received)

    def _failed_at(self, peer: Peer, received: list[Any], error: Exception) -> None:
        self._note(f"a {type(received[0]).__name__} of a {peer.role} failed:\n{traceback.format_exc()}")
        for message in received:
            if not self._answered(peer, message, error):
                self._expel(peer, f"said something that the head fails at: {type(error).__name__}: {error}")
                break

    def _answered(self, peer: Peer, message: Any, error: Exception) -> bool:
        """Whether the sender awaits an answer, and has now been told of the failure."""
        answer = self._failed.get(type(message))
        if answer is None:
            return False
        try:
            answer(peer, message, error)
        except Exception:  # not even that: its message makes no sense
            self._note(f"the answer about this error failed as well:\n{traceback.format_exc()}")
            return False
        return True


_Then = Callable[[Callable[[], None]], None]


def _at_once(then: Callable[[], None]) -> None:
    then()


def _nothing(peer: Peer, asked: Question[None]) -> None:
    """The answer of those that are only waited for."""


class QuestionTable:
    """All questions with their answers.

    `freshen` checks the devices and then calls the given function, `drain` waits until all that was printed is sent.
    """

    def __init__(self, send: Send, freshen: _Then = _at_once, drain: _Then = _at_once) -> None:
        self._send = send
        self._first = {observer_lines.TakeSnapshot.tag(): freshen, asks.AwaitOutput.tag(): drain}
        self._later: dict[bytes, list[tuple[Peer, wire.Ask]]] = {}  # by the actor that is awaited
        waited = (asks.Synchronise.answered_by(_nothing), asks.AwaitOutput.answered_by(_nothing))
        self.table: dict[str, Row[Peer]] = table_of(*waited)

    def learn(self, *rows: Iterable[Row[Peer]]) -> None:
        """Add these rows to the table."""
        for some in rows:
            self.table |= table_of(*some)

    def ask(self, peer: Peer, message: wire.Ask) -> None:
        """Answer a client, some questions only after something else."""
        first = self._first.get(message.what)
        if first is None:
            self._answer(peer, message)
        else:
            first(lambda: None if peer.closed else self._answer(peer, message))

    def _answer(self, peer: Peer, message: wire.Ask) -> None:
        answer = wire.Answer(message.request)
        try:
            row = self.table.get(message.what)
            if row is None:
                raise QuestionError("RaySystemError", f"This head does not know the question {message.what!r}.")
            answer.body = row.encoded_answer(peer, message.body)
        except Later as later:
            self._later.setdefault(later.actor_id, []).append((peer, message))
            return
        except QuestionError as refusal:
            answer.error, answer.kind = str(refusal), refusal.kind
        if message.request != asks.NO_ANSWER:
            self._send(peer, answer)

    def ask_again(self, actor_id: bytes) -> None:
        """An actor exists now or never will: answer the clients that asked for it."""
        for peer, message in self._later.pop(actor_id, ()):
            self.ask(peer, message)

    def failed(self, peer: Peer, message: wire.Ask, error: Exception) -> None:
        """Answer a question whose handler failed, so that its client does not wait forever."""
        why = f"The head could not answer the question {message.what!r}: {type(error).__name__}: {error}"
        self._send(peer, wire.Answer(message.request, error=why, kind="RaySystemError"))

    def of_observer(self, peer: Peer, question: ObserverQuestion[Any]) -> ObserverLine:
        """Answer an observer, including its mistakes."""
        try:
            return question.line(self.table[question.tag()].answer(peer, question))
        except (ValueError, TypeError, QuestionError) as error:
            return ErrorLine(str(error))
