"""An actor's end of the connection to the driver that calls it straight.

A straight call runs as it comes. A call from the head says how many straight ones its caller had sent before it: it is
held until so many have been taken, and nothing that the head sent after it overtakes it.
"""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Sequence
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire import framing
from nbaccel.scheduling.terms import Terms

READ_BYTES = 1 << 15  # some hundred calls: between two of these the actor looks whether the head has said something


class StraightInbox:
    """The calls that came straight, and the answers to them."""

    def __init__(self, sock: socket.socket, actor_id: bytes) -> None:
        self.sock = sock
        self.actor_id = actor_id
        self.templates: dict[int, Terms] = {}
        self.calls: deque[wire.StraightSubmit] = deque()
        self.taken = 0  # the number of the last call that was taken
        self.has_ended = False  # the caller has gone
        self.trouble = ""  # this process has lost its own end
        self._held: deque[Any] = deque()  # calls from the head that wait for straight ones
        self._frames = framing.FrameReader(wire.decode_to_callee)

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
            if call.straight > self.taken:
                self.taken = call.straight
            return call

    def _may_run(self, run: wire.RunTask) -> bool:
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

    def answer(self, answers: Sequence[wire.StraightAnswer | wire.Done]) -> bool:
        """Send the ends of calls. Returns False if the caller takes no more answers here.

        The calls that it sent before may still wait to be read: only reading tells that there are no more.
        """
        try:
            self.sock.sendall(wire.frame(answers))
        except (BrokenPipeError, ConnectionResetError):
            return False
        except OSError as error:
            self.trouble = f"its connection to its caller is broken: {error}"
            return True
        return True


NOTHING = object()  # in the inbox: a caller's connection has come
LEAVE = object()  # the head has told the actor to end itself
