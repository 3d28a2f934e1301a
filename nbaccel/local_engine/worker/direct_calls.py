"""An actor's end of the connection to the driver that calls it directly: the calls, their order, and the replies.

```
  caller ── DirectSubmit ──► calls ── next_of ──► runs ──┬─ small value, the head sent nothing ── DirectReply ──► caller
                                                         └─ all else ── CallReports, once, and Done ──► head
```
A direct call runs as it comes. A call from the head names how many direct ones its caller had sent before it: it is
held until so many have been taken, and nothing that the head sent after it overtakes it. A call that its code or its
end makes known to the head is the head's from then on: it sends the result to the caller. An asyncio actor's replies
leave once for a turn of its loop. If the caller has closed the connection, everything goes to the head.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing
from nbaccel.scheduling.terms import Terms

READ_BYTES = 1 << 15  # some hundred calls: between two of these the actor looks at what the head has sent
NOTHING = object()  # in the inbox: a caller's connection has come
LEAVE = object()  # the head wants the actor to end itself


class _Head(Protocol):
    """The link to the head."""

    def send_later(self, message: Any) -> None: ...
    def flush(self) -> None: ...


class DirectCallReceiver:
    """The direct calls of this actor."""

    def __init__(self, sock: socket.socket, actor_id: bytes, head: _Head) -> None:
        self.sock = sock
        self.actor_id = actor_id
        self._head = head
        self.templates: dict[int, Terms] = {}
        self.calls: deque[wire.DirectSubmit] = deque()
        self.taken = 0  # the number of the last call that was taken
        self.has_ended = False  # the caller has gone
        self.trouble = ""  # this process has lost its own end
        self._held: deque[Any] = deque()  # calls from the head that wait for direct ones
        self._frames = framing.FrameReader(wire.decode_to_callee)
        self._running: set[bytes] = set()  # the tasks of the calls that run
        self.unreported: dict[bytes, wire.DirectCall] = {}  # those of them of which the head does not know
        self._lock = threading.RLock()  # held while they are reported
        self._replies: list[tuple[wire.DirectReply, wire.Done, wire.DirectCall | None]] = []  # for the next `flush`

    # ---- what comes

    def next_of(self, inbox: Any) -> Any:
        """The next item that may run, of the calls here and of what the head sent (`inbox`); None if none may."""
        while True:
            if self._held:
                if self._may_run(self._held[0]):
                    return self._held.popleft()
            elif not inbox.empty():
                item = inbox.get()
                if item is NOTHING:
                    continue
                if type(item) is not wire.RunTask or self._may_run(item):
                    return item if item is not None else LEAVE
                self._held.append(item)
                continue
            if not self.calls:
                return None
            call = self.calls.popleft()
            if call.number > self.taken:
                self.taken = call.number
            return call

    def _may_run(self, run: wire.RunTask) -> bool:
        """Whether all direct calls that its caller sent before it were taken, or none will come any more."""
        return run.after <= self.taken or (self.has_ended and not self.calls)

    def read(self) -> None:
        """Read what has come. Call it when something has, or it waits."""
        try:
            data = self.sock.recv(READ_BYTES)
            messages = self._frames.feed(data) if data else None
        except ConnectionResetError:
            messages = None
        except (OSError, framing.Unreadable) as error:
            self.trouble = f"its connection to its caller is broken: {error}"
            return
        if messages is None:
            self.has_ended = True
            return
        for message in messages:
            if type(message) is wire.DefineTemplate:
                self.templates[message.number] = message.terms
            else:
                self.calls.append(message)

    def begin(self, submit: wire.DirectSubmit) -> tuple[wire.RunTask, Terms]:
        """Begin a call. Returns what is to be run, and its terms."""
        call = wire.DirectCall(submit.task_id, submit.template, self.actor_id, time.time())
        self._running.add(submit.task_id)
        self.unreported[submit.task_id] = call
        run = wire.RunTask(submit.task_id, submit.template, submit.args, actor_id=self.actor_id)
        return run, self.templates[submit.template]

    # ---- what leaves

    def report(self) -> None:
        """Report the calls that run to the head, before it is sent anything: any of them may have caused that."""
        with self._lock:
            if self.unreported:
                calls = list(self.unreported.values())
                self._head.send_later(wire.CallReports(calls))
                for call in calls:
                    self.unreported.pop(call.task_id, None)

    def reply(self, done: wire.Done) -> bool:
        """A call has ended: send its result. False if it came through the head."""
        ended = self._end(done)
        if ended is None:
            return False
        call, reply = ended
        if reply is None or not self._send([reply]):
            self._send_to_head(done, call)
            self._head.flush()
        return True

    def hold(self, done: wire.Done) -> bool:
        """The same with the next `flush`. What the head has to know is queued at once."""
        ended = self._end(done)
        if ended is None:
            return False
        call, reply = ended
        if reply is None:
            self._send_to_head(done, call)
        else:
            self._replies.append((reply, done, call))
        return True

    def flush(self) -> None:
        """Send what was held, after all that is sent to the head."""
        self._head.flush()
        replies, self._replies = self._replies, []
        if not replies or self._send([reply for reply, _, _ in replies]):
            return
        for _, done, call in replies:
            self._send_to_head(done, call)
        self._head.flush()

    def _end(self, done: wire.Done) -> tuple[wire.DirectCall | None, wire.DirectReply | None] | None:
        """A call has ended: itself, unless the head knows of it, and the reply that its caller may get.

        None: what has ended came through the head.
        """
        if done.task_id not in self._running:
            return None
        self._running.discard(done.task_id)
        with self._lock:
            call = self.unreported.pop(done.task_id, None)
        return call, None if call is None else _short(done)

    def _send_to_head(self, done: wire.Done, call: wire.DirectCall | None) -> None:
        if call is not None:
            self._head.send_later(wire.CallReports([call]))
        self._head.send_later(done)

    def _send(self, replies: Sequence[wire.DirectReply]) -> bool:
        """Send the ends of calls. Returns False if the caller takes no more replies here.

        The calls that it sent before may still wait to be read: only reading shows that there are no more.
        """
        try:
            self.sock.sendall(wire.frame(replies))
        except (BrokenPipeError, ConnectionResetError):
            return False
        except OSError as error:
            self.trouble = f"its connection to its caller is broken: {error}"
            return True
        return True


def _short(done: wire.Done) -> wire.DirectReply | None:
    """The reply, if it is one small value without refs."""
    if done.failed or done.exiting or len(done.results) != 1:
        return None
    result = done.results[0]
    data = result.value.data
    if data is None or result.refs:
        return None
    return wire.DirectReply(done.task_id, data, done.times)
