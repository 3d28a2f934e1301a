"""One typed table of all questions of drivers, workers and observers. The components fill in the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.refusal import Later, Refusal
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views import observer_lines
from nbaccel.views.observer_lines import ErrorLine, ObserverLine, ObserverQuestion
from nbaccel.views.question import Question, Row, table_of

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
                raise Refusal("RaySystemError", f"This head does not know the question {message.what!r}.")
            answer.body = row.encoded_answer(peer, message.body)
        except Later as later:
            self._later.setdefault(later.actor_id, []).append((peer, message))
            return
        except Refusal as refusal:
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
        except (ValueError, TypeError, Refusal) as error:
            return ErrorLine(str(error))
