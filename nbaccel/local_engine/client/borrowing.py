"""Workers that a driver has on loan: when it asks for one, and when it gives one back.

```
  some lone tasks of a kind, one soon after the other ──► AskLoan ──► Connected ──► the next ones go straight
  idle for IDLE_S, or a question to the head ──► LoanOver, and the connection is closed
  the worker's last word, or its death ──► what it has not answered goes through the head (`lost`)
```
One task at a time is on its way to a worker on loan; what is submitted meanwhile goes through the head. So a burst goes
there as ever, and no task waits behind another while a worker is free elsewhere.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from typing import Protocol

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.call_book import CallBook
from nbaccel.local_engine.client.holdings import Holdings
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.straight_line import ActorWay, StraightLine
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire.ids import return_id
from nbaccel.scheduling.terms import Terms

NEAR_S = 0.02  # tasks follow each other when the next one comes so soon
ENOUGH = 3  # so many that do are worth a question
IDLE_S = 0.02  # a worker that has run nothing for so long is given back
ASK_AGAIN_S = 0.1  # after a question without an answer, or after the head has taken a worker back
NOT_WORTH_S = 1.0  # after an answer that went through the head: large, an error, or of code that speaks with the head;
MOST_ARGUMENTS = 3_000  # bytes: a frame that is written whole or not at all


class ExpectedValues(Protocol):
    """What this process knows of results."""

    def expects_some(self) -> bool: ...

    def known_here(self, id: bytes) -> wire.Value | None: ...


class LoanWay(ActorWay):
    """How the tasks of one template reach a worker on loan."""

    __slots__ = ("borrower", "is_half_closed", "is_told", "last", "used_at")

    def __init__(self, loan_id: bytes, borrower: Borrower) -> None:
        super().__init__(loan_id)
        self.borrower = borrower
        self.last = b""  # the task that was sent last
        self.used_at = 0.0
        self.is_half_closed = False  # nothing more is sent; the worker ends the loan
        self.is_told = False  # the head knows that it is given back


class Borrower:
    """The loans of one template, one after the other."""

    __slots__ = ("_ask", "_clock", "_last", "_streak", "_values", "not_before", "template", "terms", "way")

    def __init__(
        self,
        template: int,
        terms: Terms,
        values: ExpectedValues,
        ask: Callable[[Borrower], LoanWay],
        clock: Callable[[], float],
    ) -> None:
        self.template = template
        self.terms = terms
        self.way: LoanWay | None = None  # asked for, or there
        self.not_before = 0.0
        self._values = values
        self._ask = ask
        self._clock = clock
        self._streak = 0
        self._last = 0.0

    def way_now(self) -> LoanWay | None:
        """The way to a worker on loan, if there is one; a task is about to be submitted."""
        way = self.way
        if way is not None and way.line is not None:
            return way
        if self._values.expects_some():
            self._streak = 0
            return None
        now = self._clock()
        self._streak = self._streak + 1 if now - self._last < NEAR_S else 0
        self._last = now
        if self._streak >= ENOUGH and now >= self.not_before:
            self.not_before = now + ASK_AGAIN_S
            self.way = self._ask(self)
        return None

    def ended(self, way: LoanWay, pause_s: float) -> None:
        """A loan is over; the next one is asked for after a pause."""
        self.not_before = max(self.not_before, self._clock() + pause_s)
        self._streak = 0
        if self.way is way:
            self.way = None


class Borrowing:
    """All loans of one driver. What begins with `thread_` is called by the thread that reads the connections."""

    def __init__(
        self,
        link: Link,
        holdings: Holdings,
        values: ExpectedValues,
        book: CallBook,
        close: Callable[[LoanWay], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link = link
        self._holdings = holdings
        self._values = values
        self._book = book
        self._close = close  # closes our end of a connection
        self._clock = clock
        self._borrowers: dict[int, Borrower] = {}
        self.asked: dict[bytes, LoanWay] = {}  # by loan, until it is over
        self.open: dict[bytes, LoanWay] = {}  # those that are connected

    def borrower(self, template: int, terms: Terms) -> Borrower | None:
        """Who borrows workers for tasks of this template; None if they cannot be lent for these."""
        if not terms.may_go_on_loan:
            return None
        borrower = self._borrowers.get(template)
        if borrower is None:
            borrower = self._borrowers[template] = Borrower(template, terms, self._values, self._ask, self._clock)
        return borrower

    def _ask(self, borrower: Borrower) -> LoanWay:
        way = borrower.way or LoanWay(os.urandom(16), borrower)
        self.asked[way.actor_id] = way
        self._link.say(asks.told(asks.AskLoan(way.actor_id, borrower.template)))
        return way

    def takes(self, way: LoanWay, message: wire.Submit) -> bool:
        """Whether this task may go straight now. `way.lock` is held."""
        plain = not message.slots and not message.refs and len(message.args) <= MOST_ARGUMENTS
        return plain and way.line is not None and not way.is_stopped and self._has_answered(way) and not self._link.lost

    def _has_answered(self, way: LoanWay) -> bool:
        """Whether the worker has answered the last task, though the book may still have to learn of it.

        A result that the head has sent says nothing of the worker: it may be about to end.
        """
        call = self._book.find(way.last)
        if call is None:
            return True
        return not call.answered and self._values.known_here(return_id(way.last, 0)) is not None

    def _is_idle(self, way: LoanWay) -> bool:
        return way.line is not None and not way.is_stopped and self._book.find(way.last) is None

    # ---- giving back

    def give_back_idle(self) -> None:
        """Before the head is asked something: it shall find what idle workers hold free."""
        for way in list(self.open.values()):
            self._give_back(way)

    def _give_back(self, way: LoanWay) -> None:
        with way.lock:
            if not self._is_idle(way):
                return
            way.is_stopped = True  # an interrupt may come here: the thread finds it so, and goes on
        self._tell_over(way)

    def _tell_over(self, way: LoanWay) -> None:
        self._book.tell()  # all tasks of the loan are told before its end
        self._link.say_later(wire.LoanOver(way.actor_id))
        way.is_told = True

    def let_worker_end(self, way: LoanWay) -> None:
        """Nothing more is sent. The worker, which alone knows what it has to say to the head, ends the loan."""
        way.is_half_closed = True
        way.is_stopped = True
        line = way.line
        try:
            if line is not None:
                line.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it has ended already

    def not_connected(self, way: LoanWay) -> None:
        """The worker is lent, but no connection to it could be had here. It says so too."""
        self._link.say_later(wire.LoanOver(way.actor_id, is_free=False))
        self._forget(way, NOT_WORTH_S)

    # ---- the thread

    def thread_connected(self, way: LoanWay) -> None:
        way.used_at = self._clock()
        self.open[way.actor_id] = way

    def thread_looks(self, now: float) -> None:
        """Give back what has been idle for long, and close what was given back."""
        for way in list(self.open.values()):
            if not way.is_stopped and now - way.used_at >= IDLE_S:
                self._give_back(way)
            if way.is_stopped and not way.is_half_closed:
                if not way.is_told:
                    self._tell_over(way)
                self._close(way)
                self._forget(way, 0.0)

    def thread_answered(self, way: LoanWay) -> None:
        """A task has been answered here."""
        way.used_at = self._clock()

    def thread_passes(self, way: LoanWay) -> None:
        """The answer to a task comes through the head, and the book is about to forget the task.

        From then on the worker would seem to be idle. But the head may still have to hear of that task from it, so only
        the worker may end the loan, and no task may follow.
        """
        self.let_worker_end(way)
        way.borrower.not_before = self._clock() + NOT_WORTH_S

    def thread_ends(self, way: LoanWay, line: StraightLine) -> None:
        """The connection has ended, by the worker's last word or with the worker: the head takes what is open."""
        lost: list[tuple[bytes, bool]] = []
        for call in self._book.of_way(way):
            begun = line.taken < 0 or call.number <= line.taken
            if call.sent or begun:
                call.sent = True
                lost.append((call.call.task_id, begun))
            else:
                self._book.failed(call.call.task_id)  # an interrupt came before it was sent
        self._book.tell()
        if lost:
            self._link.say_later(wire.StraightNews(lost=lost))
        self._link.say_later(wire.LoanOver(way.actor_id, is_free=False))
        for task_id, _ in lost:  # the head may answer at once: the book forgets the task last
            self._holdings.publish(return_id(task_id, 0))
            self._book.failed(task_id)
        self._link.flush()
        self._forget(way, ASK_AGAIN_S)

    def _forget(self, way: LoanWay, pause_s: float) -> None:
        self.open.pop(way.actor_id, None)
        self.asked.pop(way.actor_id, None)
        way.borrower.ended(way, pause_s)
