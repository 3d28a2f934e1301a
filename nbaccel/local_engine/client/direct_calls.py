"""Calls that a driver sends directly to its actors: one thread for all connections.

```
  any thread ── DirectSubmit ──► connection's socket ──► actor       (or its outbox ── our thread ──► socket)
  our thread ◄── DirectReply ─── connection's socket     values ──► waiters     and every REPORT_S: CallReports ──► head
  reader     ◄── CallsTaken ──── head: it answers for these calls, as for any other
```
A result belongs to this process until a ref to it leaves (`hand_over`). A call that has failed, whose result is large
or holds refs, or whose code has sent the head something, is the head's: its actor reports it there. When a connection
ends, its open calls are reported to the head, which knows what became of the actor. Decision 9 has the rules.

Who reads an actor's replies: the thread of all connections, or a thread that waits for the only call under way.
```
  waiting thread   left to it ── poll ── receive ── note ──► has its value       nobody else is woken for it
  our thread       at its next look, or when rung ── take what was received ──► open calls, waiters, head
```
The waiting thread takes nothing of what it receives, so that an exception between any two of its steps loses nothing:
what it has read lies in the connection's `came`, and our thread takes it as if it had read it itself. The waiting
thread only looks into whole frames, and notes the value that it waits for. Whatever else has come, it leaves that to
our thread and waits as for any object.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import FULL, WHOLE_BYTES, Link, block_signals
from nbaccel.local_engine.client.values import ReferenceCounts, Values
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures, framing
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.scheduling.terms import Terms
from nbaccel.waits.interruptible import SLICE_S

READ_BYTES = 1 << 16  # from 128 KiB on the C library maps fresh pages for each read: 45 µs instead of 3
BATCH = 500  # calls in one frame
END = b""  # of a connection
_MOST = (READ_BYTES,)


class ActorConnection:
    """How the calls of this process reach one actor, and what keeps them in order.

    Calls reach an actor through the head, or directly on this connection. A call is sent directly only when all that
    went through the head have come back; a call through the head names the number of direct ones before it, and waits
    for them at the actor. So nobody waits for a reply before the next call may leave. The socket never blocks: what it
    does not take waits here.
    """

    sock: socket.socket  # from `open` on

    def __init__(self, actor_id: bytes) -> None:
        self.actor_id = actor_id
        self.lock = threading.Lock()  # held from the choice of the way until the call is queued
        self.is_requested = False  # of the head
        self.is_open = False  # changes twice, under `lock`
        self.is_stopped = False  # what is sent to the head next must not be overtaken
        self.sent = 0  # calls that were sent directly
        self._at_head: dict[object, None] = {}  # calls that went through the head and have not come back, in order
        self.templates: set[int] = set()  # of calls that went through the head
        # The socket.
        self.outbox: deque[Any] = deque()
        self.templates_sent: set[int] = set()  # that the actor knows
        self.is_full = False  # the thread waits until the socket takes more
        self.came: deque[bytes] = deque()  # what was read and is not taken yet, in its order; END is the last one
        self.is_clear = True  # nothing in `came` but whole frames whose replies were seen
        self.left_until = 0.0  # a thread that waits reads until then (monotonic seconds)
        self._pending = bytearray()
        self._frames = framing.FrameReader(wire.decode_to_caller)
        self._write_lock = threading.Lock()
        self._read_lock = threading.Lock()

    def open(self, sock: socket.socket) -> None:
        """The connection is there."""
        sock.setblocking(False)
        self.sock = sock
        self.is_open = True

    # ---- the order of calls

    def is_free(self, template: int) -> bool:
        """Whether a call may be direct: the head knows its terms, and nothing is under way through the head."""
        return self.is_open and not self._at_head and template in self.templates and not self.is_stopped

    def went_through_head(self, call: object, template: int) -> None:
        """A call goes through the head. `lock` is held."""
        self.templates.add(template)
        self._at_head[call] = None

    def came_back(self, call: object, *, has_run: bool) -> None:
        """Its result is there. If it has run, so have those before it: the actor runs them in their order.

        One that failed may never have reached the actor, and have overtaken others on its way back.
        """
        with self.lock:
            if has_run and call in self._at_head:
                while next(iter(self._at_head)) != call:
                    del self._at_head[next(iter(self._at_head))]
            self._at_head.pop(call, None)

    # ---- writing

    def wrote_whole(self, messages: list[Any]) -> bool:
        """Write these messages in one call that takes all or nothing; False if others wait, or it did not take them."""
        with self._write_lock:  # held for a call or two: the socket never blocks
            if self.outbox or self._pending:
                return False
            frame = wire.frame(messages)
            try:
                return len(frame) <= WHOLE_BYTES and self.sock.send(frame, socket.MSG_DONTWAIT) > 0
            except OSError:
                return False  # it is full, or broken: the reader will see

    def write(self) -> bool:
        """Write what waits, as far as the socket takes it. Returns whether something is left."""
        with self._write_lock:
            outbox = self.outbox
            while outbox or self._pending:
                if not self._pending:
                    self._pending = wire.frame([outbox.popleft() for _ in range(min(len(outbox), BATCH))])
                try:
                    del self._pending[: self.sock.send(self._pending)]
                except BlockingIOError:
                    return True
                except OSError:
                    outbox.clear()
                    self._pending.clear()  # the actor has gone: reading shows it
        return False

    # ---- reading

    def receive(self) -> None:
        """Move what has come from the socket to `came`.

        `extend` and `map` do so without a bytecode between the two, so no signal handler runs there: whatever one
        raises, each byte is in one of the two places, in its order.
        """
        with self._read_lock:
            self.is_clear = False
            try:
                self.came.extend(map(self.sock.recv, _MOST))
            except BlockingIOError:
                pass
            except OSError:
                self.came.append(END)

    def latest(self) -> tuple[bytes, list[wire.DirectReply]]:
        """What came last, and its replies if it is a whole frame. It stays for the thread that takes it."""
        try:
            data = self.came[-1]
            return data, framing.whole_frame(data, wire.decode_to_caller)
        except (IndexError, framing.Unreadable):
            return END, []

    def is_seen(self, data: bytes) -> None:
        """What came last was seen, and all before it was clear."""
        with self._read_lock:
            if self.came and self.came[-1] is data:
                self.is_clear = True

    def take(self) -> Iterator[list[wire.DirectReply] | None]:
        """Take what has come; None is the end of the connection. For one thread alone.

        What is being taken stays in `came` for so long: whoever finds that empty finds its values.
        """
        came = self.came
        while came:
            try:
                yield self._frames.feed(came[0]) if came[0] else None
            except framing.Unreadable:
                yield None
            came.popleft()
        with self._read_lock:
            self.is_clear = not came and self._frames.is_empty

    # ---- the end

    def stop_reading(self) -> None:
        """Nothing more will come: what has arrived can still be read, and then the end."""
        try:
            self.sock.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # it has ended already


class OpenCall(msgspec.Struct, eq=False, gc=False):
    """A direct call that has not come back."""

    task_id: bytes
    id: bytes  # of its result
    template: int
    connection: ActorConnection
    sent_at: float  # Unix seconds
    sent: bool = False  # its message is on the way; False if an interrupt came before
    reported: bool = False  # to the head
    over: bool = False  # it has come back, the head answers for it, or it is forgotten
    promised: bool = False  # others may ask the head for its result
    failure: wire.ObjectValue | None = None  # from the head, kept while the actor's own reply may still be read

    def report(self, times: list[float] | None = None, value: wire.Value | None = None) -> wire.DirectCall:
        """What the head learns of it."""
        actor_id = self.connection.actor_id
        return wire.DirectCall(self.task_id, self.template, actor_id, self.sent_at, times or [], value)


HERE_S = SLICE_S  # how long a thread waits at a connection; a longer call would gain nothing


class InlineReads:
    """What our thread listens to, without the connections that are left to a thread that waits."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._lock = threading.Lock()  # held while a connection changes hands, and while our thread reads it
        self._left: dict[ActorConnection, None] = {}
        self._settling: list[threading.Event] = []
        self._others_wait = False
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            self._news = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # rung when the head takes a call
        except OSError:
            os.close(self._bell)
            raise
        self._epoll.register(self._bell, select.EPOLLIN)
        self._is_taking = False  # our thread takes what others have received
        self.sleeps = False  # our thread, until it is rung; only that thread writes this
        self.has_ended = False  # our thread

    def ring(self) -> None:
        """Let our thread look."""
        if not self.has_ended:
            os.eventfd_write(self._bell, 1)

    # ---- a thread that waits

    def read(self, id: bytes, call: OpenCall) -> bool:
        """Wait a moment for the reply to the only call under way; False if it is not here then."""
        connection = call.connection
        if not self._leave_to_us(connection):
            return False
        was_clear = connection.is_clear  # before we look for the value: what came before is either unseen, or known
        is_here = self._values.known_here(id) is not None
        if was_clear and not is_here and not call.over and not self._values.is_awaited(id):
            is_here = self._read(id, call)
        connection.left_until = 0.0
        if not is_here or self._others_wait:
            self.ring()
        return is_here

    def _leave_to_us(self, connection: ActorConnection) -> bool:
        if self.sleeps:
            self.ring()  # first: our thread takes back what an interrupt keeps us from giving back
        with self._lock:
            if self.has_ended or not connection.is_open:
                return False
            connection.left_until = time.monotonic() + HERE_S
            if connection not in self._left:
                self._left[connection] = None
                self._listen(connection)
        return True

    def _read(self, id: bytes, call: OpenCall) -> bool:
        connection = call.connection
        poll = select.poll()
        try:
            poll.register(connection.sock, select.POLLIN)
            poll.register(self._news, select.POLLIN)
        except ValueError:
            return False  # it was closed in this moment
        if not poll.poll(HERE_S * 1000):
            return False
        with self._lock:
            if connection not in self._left:
                return False  # we came too late: it was taken back
            connection.receive()
        data, replies = connection.latest()
        if len(replies) != 1 or replies[0].task_id != call.task_id:
            return False
        self._values.note(id, wire.Value(wire.OK, replies[0].data))
        connection.is_seen(data)
        return True

    def others_wait(self) -> None:
        """Somebody is to be called when a value is there: our thread has to take it soon."""
        if self._left:
            self._others_wait = True
            self.ring()

    def settle(self) -> None:
        """Wait until our thread has taken what others have received. Not for our thread."""
        if not (any(connection.came for connection in list(self._left)) or self._is_taking):
            return
        settled = threading.Event()
        self._settling.append(settled)
        self.ring()
        while not settled.wait(SLICE_S) and not self.has_ended:
            pass

    # ---- the link's reader thread

    def call_is_over(self) -> None:
        """A call will get no reply on its connection: nobody is to wait for it there."""
        if self._left and not self.has_ended:
            os.eventfd_write(self._news, 1)

    # ---- our thread

    def add(self, connection: ActorConnection) -> None:
        """Listen to a connection."""
        self._epoll.register(connection.sock, select.EPOLLIN)

    def drop(self, connection: ActorConnection) -> None:
        """Close a connection."""
        with self._lock:
            self._left.pop(connection, None)
            self._epoll.unregister(connection.sock)
            connection.sock.close()

    def poll(self, timeout_s: float) -> list[tuple[int, int]]:
        """Wait until something comes, or to be rung. Returns the descriptors with what they are ready for."""
        events = self._epoll.poll(-1 if self.sleeps else timeout_s)
        self.sleeps = False
        if any(fd == self._bell for fd, _kind in events):
            os.eventfd_read(self._bell)
        return events

    def is_bell(self, fd: int) -> bool:
        return fd == self._bell

    def receive(self, connection: ActorConnection) -> None:
        """Read what has come, unless that is left to a thread that waits."""
        with self._lock:
            if connection not in self._left:
                connection.receive()

    def take_received(self) -> Iterator[ActorConnection]:
        """The connections that were left to a thread that waits. Where none waits any more, they are ours again.

        First that, then what was received is taken: so nothing that was received is left behind.
        """
        settling = self._settling[:]
        del self._settling[: len(settling)]
        if self._left:
            self._is_taking = True
            yield from self._take_back()
            self._is_taking = False
        for settled in settling:
            settled.set()

    def _take_back(self) -> list[ActorConnection]:
        with self._lock:
            left = list(self._left)
            now = time.monotonic()
            for connection in left:
                if connection.left_until < now:
                    del self._left[connection]
                    self._listen(connection)
            self._others_wait = self._others_wait and bool(self._left)
            if not self._left:
                self._forget_news()
        return left

    def _forget_news(self) -> None:
        """Nobody waits here: what was rung is over."""
        try:
            os.eventfd_read(self._news)
        except BlockingIOError:
            pass

    def note_full(self, connection: ActorConnection, is_full: bool) -> None:
        """Whether the actor has to read before we can write more."""
        if connection.is_full != is_full:
            with self._lock:
                connection.is_full = is_full
                self._listen(connection)

    def _listen(self, connection: ActorConnection) -> None:
        reads = 0 if connection in self._left else select.EPOLLIN
        self._epoll.modify(connection.sock, reads | (select.EPOLLOUT if connection.is_full else 0))

    def are_any_left(self) -> bool:
        return bool(self._left)

    def ends(self) -> None:
        """Our thread ends: nobody waits for it any more."""
        with self._lock:
            self.has_ended = True

    def close(self) -> None:
        """Close the descriptors of our thread, which has ended, or is none of this process."""
        self.has_ended = True
        self._epoll.close()
        os.close(self._bell)
        os.close(self._news)


EMPTY_LOOKS = 20  # the thread sleeps after finding nothing so often
LATE_S = 0.02  # the head learns of a call so late at most
REPORT_S = LATE_S / 2  # how often calls are reported, and how old an open one is then: a younger one may return first
Results = list[tuple[bytes, wire.Value]]  # ids with their values


class OpenCalls:
    """The direct calls of one process that have not come back, and the reports of them.

    ```
      begins ──► open ── REPORT_S, or a question ──► open, reported ──┐
                  └── a reply, or the head takes it ──────────────────┴──► ended (the result is here) or taken (there)
    ```
    Each call is reported at most once as open, and then once as ended if its result came here; one of which the head
    learnt from the actor alone is reported as taken instead. A call whose result others were promised is reported with
    its value. The lock is held for some lines only, and nothing is called under it but `send`, which queues a message:
    so the reports are in the outbox in the order of what happened.
    """

    def __init__(self, send: Callable[[wire.CallReports], None], *, clock: Callable[[], float] = time.time) -> None:
        self._send = send  # queues a message to the head
        self._clock = clock
        self._lock = threading.Lock()
        self.by_task: dict[bytes, OpenCall] = {}
        self._unreported: deque[OpenCall] = deque()  # in their order; those that are over among them count for nothing
        self._ended: list[wire.DirectCall] = []
        self._taken: list[bytes] = []

    def begins(self, task_id: bytes, template: int, connection: ActorConnection) -> OpenCall:
        """A call is about to be sent; its `sent` is set when it is."""
        call = OpenCall(task_id, return_id(task_id, 0), template, connection, self._clock())
        self.by_task[task_id] = call  # each of the two is one step that needs no lock
        self._unreported.append(call)
        return call

    def find(self, task_id: bytes) -> OpenCall | None:
        return self.by_task.get(task_id)

    def of_connection(self, connection: ActorConnection) -> list[OpenCall]:
        """The open calls that were sent on it."""
        with self._lock:
            return [call for call in list(self.by_task.values()) if call.connection is connection]

    def never_sent(self, task_id: bytes) -> None:
        """Forget a call whose ref has gone, if an interrupt came before it was sent."""
        with self._lock:
            call = self.by_task.get(task_id)
            if call is not None and not call.sent:
                del self.by_task[task_id]
                call.over = True

    def returned(self, replies: list[wire.DirectReply], keep: Callable[[Results], None]) -> Results:
        """An actor has answered these calls, in this order. Returns the results.

        They are kept before others can learn that the calls have ended.
        """
        with self._lock:
            came: list[tuple[wire.DirectReply, OpenCall]] = []
            for reply in replies:
                call = self.by_task.get(reply.task_id)
                if call is not None:
                    came.append((reply, call))
            results = [(call.id, wire.Value(wire.OK, reply.data)) for reply, call in came]
            keep(results)
            for (reply, call), (_, value) in zip(came, results, strict=True):
                del self.by_task[reply.task_id]
                call.over = True
                self._ended.append(call.report(reply.times, value if call.promised else None))
        return results

    def taken(self, task_id: bytes) -> OpenCall | None:
        """The head answers for this call, or has said how it ended. Returns it if it was open."""
        with self._lock:
            call = self.by_task.pop(task_id, None)
            if call is not None:
                call.over = True
                if not call.reported:
                    self._taken.append(task_id)
        return call

    def promise(self, task_id: bytes) -> bool:
        """Others get a ref to the result of this call. False: it is no open one."""
        with self._lock:
            call = self.by_task.get(task_id)
            if call is None:
                return False
            if not call.promised:
                call.promised = call.sent = True
                self._report(0.0, [task_id])
        return True

    # ---- reports

    def report(self, older_than_s: float = 0.0) -> bool:
        """Report what the head does not know, of open calls only older ones. Returns whether there was any."""
        with self._lock:
            return self._report(older_than_s, [])

    def is_idle(self) -> bool:
        """Whether there is nothing to report, now or later, until a call begins or returns."""
        with self._lock:
            while self._unreported and self._unreported[0].over:
                self._unreported.popleft()
        return not (self._unreported or self._ended or self._taken)

    def _report(self, older_than_s: float, promised: list[bytes]) -> bool:
        opened = self._take_unreported(older_than_s)
        if not (opened or promised or self._ended or self._taken):
            return False
        self._send(wire.CallReports(opened, self._ended, self._taken, promised))
        self._ended, self._taken = [], []
        return True

    def _take_unreported(self, older_than_s: float) -> list[wire.DirectCall]:
        """The open calls that are so old and have not been reported."""
        unreported = self._unreported
        opened: list[wire.DirectCall] = []
        unsent: list[OpenCall] = []
        until = self._clock() - older_than_s if older_than_s else float("inf")
        while unreported and (unreported[0].over or unreported[0].sent_at <= until):  # the others are younger
            call = unreported.popleft()
            if call.over:
                continue
            if call.sent:
                call.reported = True
                opened.append(call.report())
            else:
                unsent.append(call)
        unreported.extendleft(reversed(unsent))
        return opened


class ActorClient:
    """The direct calls of one process to all of its actors."""

    def __init__(self, link: Link, references: ReferenceCounts, values: Values) -> None:
        self._link = link
        self._references = references
        self._values = values
        self.calls = OpenCalls(link.send_later)
        self.connections: dict[bytes, ActorConnection] = {}  # of each actor that may be called directly
        self.listened: dict[int, ActorConnection] = {}  # descriptor -> an open one; only our thread takes out of it
        self._to_write: set[ActorConnection] = set()
        self._thread: threading.Thread | None = None
        self._reads: InlineReads | None = None  # there with the first connection
        self._empty_looks = 0  # how often the thread found nothing
        self._reported_at = 0.0
        self._closing = False
        self._value_came: Callable[[Any], None] = link.receivers[wire.ObjectValue]
        link.receivers[wire.Connected] = self._connected
        link.receivers[wire.CallsTaken] = self._calls_taken
        link.receivers[wire.ObjectValue] = self._head_sent
        link.before_question = self.report
        self._forget_values = references.on_released
        references.on_released = self._released

    # ---- calls

    def learn(self, actor_id: bytes, terms: Terms) -> None:
        """This process is about to make an actor with these terms."""
        if terms.takes_direct_calls:
            self.connections[actor_id] = ActorConnection(actor_id)
            self._references.before_release = self._before_release

    def connection_to(self, actor_id: bytes) -> ActorConnection | None:
        """The connection to an actor that may be called directly; the first call requests it from the head."""
        connection = self.connections.get(actor_id)
        if connection is not None and not connection.is_requested:
            connection.is_requested = True
            self._link.send(asks.notified(asks.ConnectActor(actor_id)))
        return connection

    def call(self, connection: ActorConnection, task_id: bytes, template: int, terms: Terms, args: bytes) -> None:
        """Send a call directly. `connection.lock` is held, and its ref exists."""
        number = connection.sent + 1
        call = self.calls.begins(task_id, template, connection)
        self._values.expect((call.id,))
        self._send(connection, wire.DirectSubmit(task_id, template, args, number), terms)
        connection.sent = number
        call.sent = True

    def _send(self, connection: ActorConnection, message: wire.DirectSubmit, terms: Terms) -> None:
        reads = self._reads
        assert reads is not None
        messages: list[Any] = [message]
        if message.template not in connection.templates_sent:
            messages.insert(0, wire.DefineTemplate(message.template, terms))
        if not (self._values.expects_only_one() and connection.wrote_whole(messages)):
            connection.outbox.extend(messages)
            if connection not in self._to_write:
                self._to_write.add(connection)
                reads.ring()
        connection.templates_sent.add(message.template)
        if reads.sleeps:
            reads.ring()

    def follow(self, connection: ActorConnection, returned: Any, template: int) -> Callable[[], None]:
        """A call goes through the head: none is sent directly before it has come back. `connection.lock` is held.

        Returns what is to be called when it is free.
        """
        ref = returned[0] if isinstance(returned, list) and returned else returned
        id = getattr(ref, "_id", None)
        if id is None:  # a stream, or no result: only a later call that has run shows that this one has ended
            connection.went_through_head(object(), template)
            return _nothing
        connection.went_through_head(id, template)

        def came_back(_id: bytes, keep: Any = ref) -> None:  # kept, or nobody would learn of the result
            connection.came_back(id, has_run=not self._values.is_error(id))

        def watch() -> None:
            if self._values.when_ready([id], came_back):
                came_back(id)

        return watch

    def stop(self, actor_id: bytes) -> None:
        """Later calls of this actor go through the head, and so do not overtake what the head is sent about it."""
        connection = self.connections.get(actor_id)
        if connection is not None:
            with connection.lock:
                connection.is_stopped = True
            self.calls.report()

    def hold_back(self, connection: ActorConnection) -> None:
        """Let the main thread wait while far too many of its calls wait to be written."""
        if len(connection.outbox) <= FULL or threading.current_thread() is not threading.main_thread():
            return
        while len(connection.outbox) > FULL and connection.is_open and self._link.lost is None:
            time.sleep(0.01)

    # ---- waiting

    def read_inline(self, id: bytes, timeout_s: float | None) -> tuple[bool, float | None]:
        """Wait a moment for a result in the thread that reads it, if it is of the only call under way.

        Returns whether it is here, and what is left of the time.
        """
        if not self._values.expects_only_one() or (timeout_s is not None and timeout_s < HERE_S):
            return False, timeout_s
        call = self.calls.find(task_of(id))
        if call is None or self._reads is None:
            return False, timeout_s
        began = time.monotonic()
        is_here = self._reads.read(id, call)
        return is_here, None if timeout_s is None else max(timeout_s + began - time.monotonic(), 0.0)

    def _settle(self) -> None:
        """Let `calls` have all that has been received."""
        if self._reads is not None and threading.current_thread() is not self._thread:
            self._reads.settle()

    # ---- what others know

    def report(self) -> None:
        """Report everything to the head, before it is asked something."""
        self._settle()
        self.calls.report()

    def hand_over(self, ids: list[bytes]) -> None:
        """Refs to these objects leave this process: from now on the head can answer for them."""
        private = [id for id in ids if self._references.is_private(id)]
        if private:
            self._settle()
        for id in private:
            if not self.calls.promise(task_of(id)):
                self.calls.report()
                value = self._values.known_here(id)
                if value is not None and self._references.is_private(id):  # else the head has taken it meanwhile
                    self._link.send_later(wire.Put(id, value, []))
            self._references.publish(id)

    def _before_release(self, ids: list[bytes]) -> None:
        """The head learns of open calls before it learns that the last handle of their actor has gone."""
        for id in ids:
            connection = self.connections.get(id)
            if connection is not None:
                self.calls.report()
                if not connection.is_open:
                    self.connections.pop(id, None)

    def _released(self, ids: list[bytes]) -> None:
        for id in ids if self.calls.by_task else ():
            self.calls.never_sent(task_of(id))
        if self._forget_values is not None:
            self._forget_values(ids)

    # ---- the link's reader thread

    def _connected(self, message: wire.Connected) -> None:
        sock = self._link.take_socket(message.socket)
        connection = self.connections.get(message.actor_id)
        reads = self._listening() if sock is not None and connection is not None else None
        if sock is None or connection is None or reads is None or connection.is_open or self._closing:
            if sock is not None:
                sock.close()
            return  # calls go on through the head
        self.listened[sock.fileno()] = connection
        with connection.lock:  # no call is sent before our thread listens; the actor may reply, or end, at once
            connection.open(sock)
            reads.add(connection)

    def _listening(self) -> InlineReads | None:
        """What our thread listens to; it starts now if it has not. None: this process can open no more files."""
        if self._reads is None and not self._closing:
            try:
                self._reads = InlineReads(self._values)
            except OSError:
                return None
            self._values.others_wait = self._reads.others_wait
            self._thread = threading.Thread(target=self._run, name="nbaccel-direct-calls", daemon=True)
            self._thread.start()
        return self._reads

    def _calls_taken(self, message: wire.CallsTaken) -> None:
        """The actor has reported these calls to the head, which believes that we hold their results."""
        for task_id in message.task_ids:
            self._take(task_id)

    def _take(self, task_id: bytes) -> None:
        id = return_id(task_id, 0)
        call = self.calls.taken(task_id)
        self._references.publish(id)
        if call is not None and call.failure is not None:
            self._value_came(call.failure)
        if self._reads is not None:
            self._reads.call_is_over()

    def _head_sent(self, message: wire.ObjectValue) -> None:
        id = message.object_id
        call = self.calls.find(task_of(id))
        if call is None:
            # else the head thinks that it failed, but its result had come before
            if not self._references.is_private(id):
                self._value_came(message)
            return
        call.failure = message
        with call.connection.lock:
            if call.connection.is_open and failures.is_end_of_actor(message.value):
                call.connection.stop_reading()  # if the actor has answered before its end, that counts
                return
        self._take(task_of(id))

    # ---- our thread

    def _run(self) -> None:
        block_signals()
        reads = self._reads
        assert reads is not None
        try:
            while not self._closing:
                self._look(reads)
        except Exception as error:  # this thread's last line: whoever waits must not wait for ever
            why = f"calls of actors can no longer be sent: {type(error).__name__}: {error}"
            self._link.give_up(why)
        finally:
            reads.ends()

    def _look(self, reads: InlineReads) -> None:
        """Take what has come, write what waits, and report what is due."""
        events = reads.poll(REPORT_S)
        for fd, kind in events:
            if not reads.is_bell(fd):
                self._on_event(reads, self.listened[fd], kind)
        for connection in reads.take_received():
            self._take_all(connection)
        self._write(reads)
        self._empty_looks = 0 if events or reads.are_any_left() else self._empty_looks + 1
        now = time.monotonic()
        if now - self._reported_at >= REPORT_S:
            self._reported_at = now
            if self.calls.report(REPORT_S):
                self._link.flush()
                self._empty_looks = 0
        if self._empty_looks >= EMPTY_LOOKS:
            reads.sleeps = True  # before the check: a call that begins after it rings
            if self._to_write or not self.calls.is_idle() or reads.are_any_left():
                reads.sleeps = False

    def _write(self, reads: InlineReads) -> None:
        while self._to_write:
            connection = self._to_write.pop()
            if connection.is_open:
                reads.note_full(connection, connection.write())

    def _on_event(self, reads: InlineReads, connection: ActorConnection, kind: int) -> None:
        if kind & select.EPOLLOUT:
            self._to_write.add(connection)
        if kind & ~select.EPOLLOUT:
            reads.receive(connection)
            self._take_all(connection)

    def _take_all(self, connection: ActorConnection) -> None:
        if not connection.is_open:
            return  # it has ended
        for replies in connection.take():
            if replies is None:
                self._end(connection)
                return
            self._values.all_came([id for id, _ in self.calls.returned(replies, self._values.note_all)])

    def _end(self, connection: ActorConnection) -> None:
        """The connection has ended, most likely with the actor: the head knows what became of its open calls."""
        self._close(connection)
        self.connections.pop(connection.actor_id, None)
        for call in self.calls.of_connection(connection):
            call.sent = True  # whatever an interrupt has kept from being noted: nobody else reports it
        self.calls.report()
        self._link.flush()
        for call in self.calls.of_connection(connection):
            if call.failure is not None:
                self._take(call.task_id)

    def _close(self, connection: ActorConnection) -> None:
        with connection.lock:
            connection.is_open = False
            self._to_write.discard(connection)
        assert self._reads is not None
        del self.listened[connection.sock.fileno()]
        self._reads.drop(connection)

    # ---- the end

    def close(self) -> None:
        """End the thread and close all connections."""
        self._closing = True
        if self._thread is None or self._reads is None:
            return
        self._reads.ring()
        self._thread.join()
        self.forget()

    def forget(self) -> None:
        """Close our copies of the descriptors, in a forked child too."""
        if self._reads is None:
            return
        self._closing = True
        for connection in self.listened.values():
            connection.is_open = False
            connection.sock.close()
        self.listened.clear()
        self._reads.close()
        self._reads = None


def _nothing() -> None:
    """No result will show that the call has come back."""
