"""A link without a connection: what is said is heard at once, in the same thread, and so are the answers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, TypeVar

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.views.question import Question

A = TypeVar("A")


class DirectLink(Link):
    """Between the driver's side of the debug engine and the head's side. `hear` is the head's ear."""

    def __init__(self, hear: Callable[[Any], None]) -> None:
        unused = socket.socket(socket.AF_UNIX)
        unused.close()
        super().__init__(unused, on_lost=lambda why: None)
        self._hear = hear

    def say(self, message: Any) -> None:
        """Say it, after whatever waits to be said."""
        self._outbox.append(message)
        if type(message) is not wire.Holds:  # said under a lock, which what the head does next may need
            self._deliver()

    say_at_once = say_now = say

    def say_later(self, message: Any) -> None:
        """Say it with the next message: this may be a finaliser, where no code of the user's must run."""
        self._outbox.append(message)

    def nudge(self) -> None:
        """The next message is soon enough."""

    nudge_some_time = nudge

    def flush(self) -> None:
        """Say what waits, and which refs have ended."""
        if self.before_write is not None:
            self.before_write()
        self._deliver()

    def _deliver(self) -> None:
        while self._outbox:
            self._hear(self._outbox.popleft())

    def ask(self, question: Question[A], *, timeout_s: float | None = None) -> A:
        """The answer comes at once. Raises GetTimeoutError for one that the head puts off: it would never come."""
        self.flush()
        return super().ask(question, timeout_s=0)

    def take(self, message: Any) -> None:
        """The head says something."""
        self.receivers[type(message)](message)
