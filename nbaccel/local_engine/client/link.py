"""A process's connection to the head: an outbox, a writer, a reader, questions, and the states of these.

```
  any thread ── say(message) ──► outbox ── writer thread ──► socket ──► head
  any thread ◄── receivers (called by the reader thread) ◄── reader thread ◄── socket
  finalisers ── ended ──► writer thread ── when_ended ──► outbox
```
Only these threads read, or write data that the socket may take in parts. A KeyboardInterrupt, which Python raises
in the main thread, can therefore never split a frame. Messages that gather while a write is under way leave together in
the next one. A small message for whose answer its sender will wait is written by the sender, in one call that takes it
whole or not.

The states of a link: its life, the request to its writer, and whether the writer checks without being woken.
```
  life      OPEN ── close ──► CLOSING ── end ──► CLOSED
              └───── end ───► LOST ──── close ─────▲          only an end that we did not ask for is told (`on_lost`)
  request   NOTHING ── nudge ──► SOON ── say ──► NOW           NOTHING ── say ──► NOW
              ▲── flush ──────────┴── flush ──────┘            a flush takes everything that waits, whoever flushes
  writer    LOOKS ── nothing for IDLE_S ──► SLEEPS ── kick ──► LOOKS
```
Threads share these states without a lock. A request is set before its kick is put into the queue, and taken back before
the outbox is emptied: so a request that stands has a kick on its way, and what was queued before is written. A flush
that finds the kick itself, among what has ended, takes the request back once more.
`MOVES` is the whole table; a test drives a link and compares each of its moves with it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing
from nbaccel.views.observer_lines import Question


class LinkLife(Enum):
    """The life of a link."""

    OPEN = "open"
    CLOSING = "closing"  # by ourselves: its end is no news
    CLOSED = "closed"
    LOST = "lost"  # it ended before we closed it


class Request(Enum):
    """The writer's task that it has not begun yet."""

    NOTHING = "nothing"
    SOON = "soon"  # to write within LAZY_S
    NOW = "now"


class Writer(Enum):
    """The writer's behaviour without a request."""

    LOOKS = "looks"  # within IDLE_S
    SLEEPS = "sleeps"


State = LinkLife | Request | Writer
MOVES: dict[tuple[State, str], State] = {
    (LinkLife.OPEN, "close"): LinkLife.CLOSING,
    (LinkLife.OPEN, "end"): LinkLife.LOST,
    (LinkLife.CLOSING, "close"): LinkLife.CLOSING,
    (LinkLife.CLOSING, "end"): LinkLife.CLOSED,
    (LinkLife.CLOSED, "close"): LinkLife.CLOSED,
    (LinkLife.CLOSED, "end"): LinkLife.CLOSED,
    (LinkLife.LOST, "close"): LinkLife.CLOSED,
    (LinkLife.LOST, "end"): LinkLife.LOST,
    (Request.NOTHING, "nudge"): Request.SOON,
    (Request.NOTHING, "say"): Request.NOW,
    (Request.NOTHING, "flush"): Request.NOTHING,
    (Request.SOON, "nudge"): Request.SOON,
    (Request.SOON, "say"): Request.NOW,
    (Request.SOON, "flush"): Request.NOTHING,
    (Request.NOW, "nudge"): Request.NOW,
    (Request.NOW, "say"): Request.NOW,
    (Request.NOW, "flush"): Request.NOTHING,
    (Writer.LOOKS, "quiet"): Writer.SLEEPS,
    (Writer.LOOKS, "kick"): Writer.LOOKS,
    (Writer.SLEEPS, "kick"): Writer.LOOKS,
}
LEFT = (LinkLife.CLOSING, LinkLife.CLOSED)


A = TypeVar("A")
READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
BATCH = 2_000  # messages in one frame
FULL = 50_000  # waiting messages past which a sender is held back
LAZY_S = 0.002  # releases may wait so long for other messages
IDLE_S = 0.1  # small releases so long: waking the writer costs more than they free
WHOLE_BYTES = 4096  # of a frame that a unix socket takes whole or not at all
_DESCRIPTORS = socket.CMSG_SPACE(wire.MOST_DESCRIPTORS * 4)


# Enum members cost a Python-level lookup each time they are named on Python 3.11, and these are named for each message.
_NOTHING, _NOW, _SLEEPS = Request.NOTHING, Request.NOW, Writer.SLEEPS
_NONE = type(None)


class Link:
    """A framed, batched, thread-safe connection. `MOVES` has its states."""

    def __init__(self, sock: socket.socket, *, on_lost: Callable[[str], None]) -> None:
        self._sock = sock
        self._error: type[Exception] = exceptions.HeadDiedError  # raised when the head has gone
        self._outbox: deque[Any] = deque()
        self._kick: SimpleQueue[bool | None] = SimpleQueue()
        self._request = _NOTHING
        self._writer = Writer.LOOKS
        self._write_lock = threading.Lock()
        self._room = threading.Event()
        self._room.set()
        self._on_lost = on_lost
        self._questions: dict[int, SimpleQueue[Any]] = {}
        self._next_request = 1
        self._question_lock = threading.Lock()
        self.receivers: dict[type, Callable[[Any], None]] = {wire.Answer: self._answered, wire.Refused: self._refused}
        self.before_write: list[Callable[[], None]] = []  # each appends messages gathered elsewhere
        # What finalisers put here wakes a writer that sleeps; else it leaves with the next message, or within IDLE_S.
        self.ended: SimpleQueue[Any] = SimpleQueue()
        self.when_ended: dict[type, Callable[[list[Any]], None]] = {}  # called with all of one type before each write
        self.life = LinkLife.OPEN
        self.lost: str | None = None  # why no message can be sent any more, once `on_lost` has found it out
        self._has_ended = False
        self._threads: list[threading.Thread] = []
        self._sockets: dict[int, int] = {}  # that came, by inode, each with or before the message that speaks of it
        self.before_question: Callable[[], None] | None = None  # says what the answer depends on

    def start(self, name: str, *, read: bool = True) -> None:
        """Start the writer and the reader."""
        loops = [("writer", self._write_loop)] + ([("reader", self._read_loop)] if read else [])
        for role, loop in loops:
            thread = threading.Thread(target=loop, name=f"nbaccel-{name}-{role}", daemon=True)
            self._threads.append(thread)
            thread.start()

    # ---- writing

    def send(self, message: Any) -> None:
        """Queue a message; it is sent immediately, together with other waiting messages."""
        self._outbox.append(message)
        if self._request is not _NOW:
            self._request = _NOW
            self._wake(True)
        elif len(self._outbox) > FULL and threading.current_thread() is threading.main_thread():
            self._hold_back()

    def send_at_once(self, message: Any) -> None:
        """Write a message for whose answer this thread will wait, unless others wait to be written.

        It saves waking the writer. An interrupt comes before the one system call that takes all of it, or after.
        """
        if self._request is not _NOW and not self._outbox:
            frame = wire.frame([message])
            if len(frame) <= WHOLE_BYTES and self._wrote_whole(frame):
                return
        self.send(message)

    def _wrote_whole(self, frame: bytearray) -> bool:
        with self._write_lock:
            if self._outbox:
                return False  # it would overtake them
            try:
                return self._sock.send(frame, socket.MSG_DONTWAIT) > 0
            except OSError:
                return False  # it is full, or broken: the writer will see

    def send_now(self, message: Any) -> None:
        """Write a message and all waiting ones in this thread: waking the writer would cost more than the write.

        Not for a thread in which a signal handler may raise.
        """
        self._outbox.append(message)
        self.flush()

    def send_later(self, message: Any) -> None:
        """Queue a message that may wait for the next urgent one."""
        self._outbox.append(message)
        self.nudge()

    def nudge(self) -> None:
        """Make the writer check soon. Safe in a finaliser: a SimpleQueue's put may be re-entered."""
        if self._request is _NOTHING:
            self._request = Request.SOON
            self._wake(False)

    def nudge_at_end_of(self, thing: Any) -> None:
        """Tell soon that it has ended, because it may hold much; not so soon if an interrupt comes just then."""
        weakref.finalize(thing, self.nudge).atexit = False

    def nudge_if_any_ended(self) -> None:
        """Tell soon what finalisers have said, because it may hold much."""
        if not self.ended.empty():
            self.nudge()

    def _wake(self, urgent: bool) -> None:
        """Where the writer has just gone to sleep, or has just woken, it still writes what was queued before this."""
        (self.ended if self._writer is _SLEEPS else self._kick).put(urgent)

    def _hold_back(self) -> None:
        self._room.clear()
        while len(self._outbox) > FULL // 2 and not self._has_ended:
            self._room.wait(0.1)

    def _write_loop(self) -> None:
        block_signals()
        while self._writes_once():
            pass

    def _writes_once(self) -> bool:
        """Wait for a kick and write. Returns False after the last one."""
        urgent = self._next_kick()
        while urgent is False:
            try:
                urgent = self._kick.get(timeout=LAZY_S)
            except Empty:
                break
        if urgent is None:
            return False
        try:
            self.flush()
        except Exception as error:  # this thread's last line: whoever waits must not wait for ever
            self._lose(f"something could not be said to the head: {type(error).__name__}: {error}")
        return True

    def _next_kick(self) -> bool | None:
        """Wait to be woken; soon after some work, check once without being woken."""
        self._writer = Writer.LOOKS
        try:
            return self._kick.get(timeout=IDLE_S)
        except Empty:
            self._writer = _SLEEPS  # before the check: a later message wakes us
        self.flush()
        woken_by = self.ended.get()
        self._writer = Writer.LOOKS
        if woken_by is None or type(woken_by) is bool:
            return woken_by
        self.ended.put(woken_by)
        return False

    def take_ended(self) -> None:
        """Let those who know about it append what the far end must hear; a flush follows.

        Not where a signal handler may raise.
        """
        ended = self.ended
        is_closing = False
        while not ended.empty():  # what is heard of may end others
            by_type: dict[type, list[Any]] = {}
            with suppress(Empty):
                while True:
                    what = ended.get_nowait()
                    by_type.setdefault(type(what), []).append(what)
            if by_type.pop(bool, None):  # the writer was to be woken, and somebody writes already
                self._request = _NOTHING  # else nobody would wake it for what is said next
            is_closing |= by_type.pop(_NONE, None) is not None
            waiting = by_type.pop(SimpleQueue, ())
            for kind, all_of_it in by_type.items():
                self.when_ended[kind](all_of_it)
            for each in waiting:
                each.put(None)
        if is_closing:
            ended.put(None)  # that is for the writer

    def flush_ended(self) -> None:
        """Return when no later message can overtake the news of what has ended by now."""
        received: SimpleQueue[None] = SimpleQueue()
        self.ended.put(received)
        self._request = _NOW
        self._wake(True)
        with suppress(Empty):
            received.get(timeout=1.0)  # a link that has been closed has no writer any more

    def flush(self) -> None:
        """Write everything that waits. Not for a thread in which a signal handler may raise."""
        with self._write_lock:
            self._request = _NOTHING
            self.take_ended()
            for gather in self.before_write:
                gather()
            outbox = self._outbox
            while outbox:
                number = min(len(outbox), BATCH)
                batch = [outbox.popleft()] if number == 1 else [outbox.popleft() for _ in range(number)]
                self._write(wire.frame(batch))
            if not self._room.is_set():
                self._room.set()

    def _write(self, data: bytearray) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            self._lose(f"writing to the head failed: {error}")

    # ---- reading

    def _read_loop(self) -> None:
        block_signals()
        reader = framing.FrameReader(wire.decode_to_client)
        receivers = self.receivers
        why = "the head closed the connection"
        while True:
            try:
                data = self._receive()
            except OSError as error:
                why = f"reading from the head failed: {error}"
                break
            if not data:
                break
            try:
                messages = reader.feed(data)
            except framing.Unreadable as error:
                why = f"the head sent what this version of nbaccel cannot read: {error}"
                break
            try:
                for message in messages:
                    receivers[type(message)](message)
            except Exception as error:  # this thread's last line: whoever waits must not wait for ever
                why = f"an answer of the head could not be taken: {type(error).__name__}: {error}"
                break
        self._lose(why)

    def _receive(self) -> bytes:
        """The next bytes, b"" at the end of the connection."""
        data, ancillary, _flags, _address = self._sock.recvmsg(READ_BYTES, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
        for level, kind, body in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self.keep_sockets(array("i", body[: len(body) - len(body) % 4]))
        return data

    def keep_sockets(self, descriptors: Iterable[int]) -> None:
        """These have come. Messages will speak of them by their inodes."""
        for fd in map(above_standard_streams, descriptors):
            self._sockets[os.fstat(fd).st_ino] = fd

    def take_socket(self, inode: int) -> socket.socket | None:
        """The socket of which a message speaks. None: this process had no free descriptor for it."""
        fd = self._sockets.pop(inode, None)
        return None if fd is None else socket.socket(fileno=fd)

    def give_up(self, why: str) -> None:
        """This process cannot use the connection any more."""
        self._lose(why)

    def _lose(self, why: str) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        self._room.set()
        self._move("end")
        try:
            if self.life is LinkLife.LOST:
                self._on_lost(why)
        finally:
            if self.lost is None:  # only now: whoever asks while the whole reason is found out waits for it
                self.lost = why
            with self._question_lock:
                waiting = list(self._questions.values())
            for question in waiting:
                question.put(None)

    # ---- questions

    def ask(self, question: Question[A], *, timeout_s: float | None = None) -> A:
        """Ask something and wait for the answer. Raises the error that the answer names."""
        if self.before_question is not None:
            self.before_question()
        request, reply = self._question()
        self.send_at_once(wire.QuestionMessage(request, question.tag(), question.body()))
        answer = self._wait_for(request, reply, timeout_s)
        if answer.error:
            error = getattr(exceptions, answer.kind, None) or _BUILTIN.get(answer.kind, exceptions.RaySystemError)
            raise error(answer.error)
        return question.read_answer(answer.body)

    def _question(self) -> tuple[int, SimpleQueue[Any]]:
        reply: SimpleQueue[Any] = SimpleQueue()
        with self._question_lock:
            request = self._next_request
            self._next_request += 1
            self._questions[request] = reply
        return request, reply

    def _wait_for(self, request: int, reply: SimpleQueue[Any], timeout_s: float | None) -> Any:
        try:
            self.raise_if_lost()
            answer = reply.get(timeout=timeout_s)
        except Empty:
            raise exceptions.GetTimeoutError(f"the head has not answered within {timeout_s} s") from None
        finally:
            with self._question_lock:
                self._questions.pop(request, None)
        if answer is None:
            engines.end_daemon_thread()
            raise self._error(self.lost or "the connection is closed")
        return answer

    def _refused(self, message: Any) -> None:
        """The head still works, but has refused this connection."""
        self._lose(f"the head ended the connection: {message.message}")

    def _answered(self, message: Any) -> None:
        with self._question_lock:
            reply = self._questions.pop(message.request, None)  # whoever asked may have been interrupted since
        if reply is not None:
            reply.put(message)

    @property
    def was_left(self) -> bool:
        """Whether this process has ended the connection, or is about to end it."""
        return self.life in LEFT

    def leave(self) -> None:
        """The connection will be closed: do not report its end from now on."""
        self._move("close")

    def _move(self, event: str) -> None:
        life = MOVES[self.life, event]
        assert isinstance(life, LinkLife)
        self.life = life

    def close(self) -> None:
        """Write what waits, then close. Idempotent."""
        self.leave()
        if self.lost is None and not self._has_ended:
            self.flush()
        self._kick.put(None)
        self.ended.put(None)
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other side was faster
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(2.0)
        self._sock.close()
        self._close_sockets()

    def raise_if_lost(self) -> None:
        """Raise an error if no message can be sent any more."""
        if self.lost is not None:
            engines.end_daemon_thread()
            raise self._error(self.lost)

    def forget(self) -> None:
        """In a forked child: close our copy without a word, and refuse all that is to be sent."""
        self.life = LinkLife.LOST
        self._error = exceptions.RaySystemError
        self.send = self.send_at_once = self.send_now = self.send_later = self._refuse  # type: ignore[method-assign]
        self.lost = engines.why_forked(os.getppid())
        self._sock.close()
        self._close_sockets()

    def _refuse(self, message: Any) -> None:
        self.raise_if_lost()

    def _close_sockets(self) -> None:
        """Those of which no message has spoken."""
        while self._sockets:
            os.close(self._sockets.popitem()[1])


_BUILTIN: dict[str, type[Exception]] = {"ValueError": ValueError, "TypeError": TypeError, "RuntimeError": RuntimeError}


def above_standard_streams(fd: int) -> int:
    """A descriptor under a number that is no standard stream's: the system gives 0 to 2 where code has closed them."""
    if fd > 2:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(fd)


def block_signals() -> None:
    """Leave signals to the main thread: a system call here is then never cut short."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD})
