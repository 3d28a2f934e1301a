"""A link without a connection: the head handles each message at once, in the sender's thread, and answers there."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, TypeVar

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.views.question import Question

A = TypeVar("A")


class DirectLink(Link):
    """The link between the debug engine's driver side and its head; `receive` passes a message to the head."""

    def __init__(self, receive: Callable[[Any], None]) -> None:
        unused = socket.socket(socket.AF_UNIX)
        unused.close()
        super().__init__(unused, on_lost=lambda why: None)
        self._give_to_head = receive

    def send(self, message: Any) -> None:
        """Send a message, after the messages that wait in the outbox."""
        self._outbox.append(message)
        if type(message) is not wire.AddRef:  # sent under a lock that the head may need for its next step
            self._deliver()

    send_at_once = send_now = send

    def send_later(self, message: Any) -> None:
        """Send a message with the next one: a finaliser may call this, and no user code may run in a finaliser."""
        self._outbox.append(message)

    def nudge(self) -> None:
        """Do nothing: waiting messages leave with the next one."""

    def flush_ended(self) -> None:
        self.take_ended()

    def flush(self) -> None:
        """Send the waiting messages, and the news of refs that have ended."""
        self.take_ended()
        for gather in self.before_write:
            gather()
        self._deliver()

    def _deliver(self) -> None:
        while self._outbox:
            self._give_to_head(self._outbox.popleft())

    def ask(self, question: Question[A], *, timeout_s: float | None = None) -> A:
        """Ask the head and return its answer. Raises GetTimeoutError if the head defers it: it would never come."""
        self.flush()
        return super().ask(question, timeout_s=0)

    def take(self, message: Any) -> None:
        """Handle a message from the head."""
        self.receivers[type(message)](message)
