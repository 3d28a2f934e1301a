"""What a caller knows of the calls that it sent straight to actors, and has not told the head or got back.

```
  begins ──► open, untold ── TELL_S, or a question ──► open, told ──┐
                  └─────────────── returned ────────────────────────┴──► ended (the result is here) or known (there)
```
Each call is told to the head exactly once as ended or as known, and before that at most once as open. A call whose
result others were promised is told with its value. The lock is held for some lines only, and nothing is called under
it but `say`, which queues a message: so the news are in the outbox in the order of what happened.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from nbaccel.local_engine import wire
from nbaccel.local_engine.wire.ids import return_id

Results = list[tuple[bytes, wire.Value]]  # ids with their values
LATE_S = 0.02  # the head hears of a call so late at most
TELL_S = LATE_S / 2  # how often it is told, and how old an open call is then: a younger one may return first


class OpenCall(msgspec.Struct, eq=False, gc=False):
    """A call that has not come back."""

    call: wire.StraightCall
    way: Any  # the connection that it took
    id: bytes = b""  # of its result
    sent: bool = False  # its message is on the way; False if an interrupt came before
    told: bool = False
    over: bool = False  # it has come back, or is forgotten
    promised: bool = False  # others may ask the head for its result
    answered: bool = False  # the head has sent the result
    failure: wire.ObjectValue | None = None  # from the head, kept while the actor's own answer may still be read


class CallBook:
    """The open calls of one process, and the news of them for the head."""

    def __init__(self, say: Callable[[wire.StraightNews], None], *, clock: Callable[[], float] = time.time) -> None:
        self._say = say  # queues a message to the head
        self._clock = clock
        self._lock = threading.Lock()
        self.open: dict[bytes, OpenCall] = {}
        self._untold: deque[OpenCall] = deque()  # in their order; those that are over among them count for nothing
        self._ended: list[wire.StraightCall] = []
        self._known: dict[bytes, None] = {}

    def begins(self, task_id: bytes, template: int, actor_id: bytes, way: Any) -> OpenCall:
        """A call is about to be sent; its `sent` is set when it is."""
        told = wire.StraightCall(task_id, template, actor_id, self._clock())
        call = OpenCall(told, way, return_id(task_id, 0))
        self.open[task_id] = call  # each of the two is one step that needs no lock
        self._untold.append(call)
        return call

    def find(self, task_id: bytes) -> OpenCall | None:
        return self.open.get(task_id)

    def of_way(self, way: Any) -> list[OpenCall]:
        """The open calls that took this connection."""
        with self._lock:
            return [call for call in list(self.open.values()) if call.way is way]

    def never_sent(self, task_id: bytes) -> None:
        """Forget a call whose ref has gone, if an interrupt came before it was sent."""
        with self._lock:
            call = self.open.get(task_id)
            if call is not None and not call.sent:
                self._forget(task_id)

    def _forget(self, task_id: bytes) -> OpenCall | None:
        call = self.open.pop(task_id, None)
        if call is not None:
            call.over = True
        return call

    def returned(self, done: wire.Done, keep: Callable[[wire.Value], None]) -> OpenCall | None:
        """The far end has answered. The result is kept before others can learn that the call has ended."""
        with self._lock:
            call = self._forget(done.task_id)
            if call is None:
                return None
            if not done.results:
                self._known[done.task_id] = None
                return call
            value = done.results[0].value
            self._ended.append(_ended(call, done.times, value))
            keep(value)
        return call

    def all_returned(self, answers: list[wire.StraightAnswer], keep: Callable[[Results], None]) -> Results:
        """An actor has answered these calls, in this order. Returns the results, which are kept first."""
        with self._lock:
            came: list[tuple[wire.StraightAnswer, OpenCall]] = []
            for answer in answers:
                call = self.open.get(answer.task_id)
                if call is not None:
                    came.append((answer, call))
            results = [(call.id, wire.Value(wire.OK, answer.data)) for answer, call in came]
            keep(results)
            for (answer, call), (_, value) in zip(came, results, strict=True):
                del self.open[answer.task_id]
                call.over = True
                self._ended.append(_ended(call, answer.times, value))
        return results

    def answered(self, task_id: bytes) -> None:
        """The head has sent the result of a call, and the connection on which the actor would say so has ended."""
        with self._lock:
            if self._forget(task_id) is not None:
                self._known[task_id] = None

    def failed(self, task_id: bytes) -> None:
        """The head has said how this call ended, and nobody else will."""
        with self._lock:
            self._forget(task_id)

    def promise(self, task_id: bytes) -> bool:
        """Others get a ref to the result of this call. False: it is here already."""
        with self._lock:
            call = self.open.get(task_id)
            if call is None:
                return False
            if not call.promised:
                call.promised = call.sent = True
                self._tell(0.0, [task_id])
        return True

    def announce(self, task_id: bytes) -> None:
        """Others get a ref to a result of which the head was to hear from the actor: it may not have read that yet."""
        if task_id in self.open:
            self.promise(task_id)
        if task_id in self._known:
            self.tell()

    # ---- news

    def tell(self, older_than_s: float = 0.0) -> bool:
        """Say what the head has not been told, of open calls only older ones. Returns whether there was any."""
        with self._lock:
            return self._tell(older_than_s, [])

    def is_quiet(self) -> bool:
        """Whether there is nothing to tell, now or later, until a call begins or returns."""
        with self._lock:
            while self._untold and self._untold[0].over:
                self._untold.popleft()
        return not (self._untold or self._ended or self._known)

    def _tell(self, older_than_s: float, promised: list[bytes]) -> bool:
        opened = self._take_untold(older_than_s)
        if not (opened or promised or self._ended or self._known):
            return False
        self._say(wire.StraightNews(opened, self._ended, list(self._known), promised))
        self._ended, self._known = [], {}
        return True

    def _take_untold(self, older_than_s: float) -> list[wire.StraightCall]:
        """The open calls that are so old and have not been told."""
        untold = self._untold
        opened: list[wire.StraightCall] = []
        unsent: list[OpenCall] = []
        until = self._clock() - older_than_s if older_than_s else float("inf")
        while untold and (untold[0].over or untold[0].call.sent_at <= until):  # the others are younger
            call = untold.popleft()
            if call.over:
                continue
            if call.sent:
                call.told = True
                opened.append(call.call)
            else:
                unsent.append(call)
        untold.extendleft(reversed(unsent))
        return opened


def _ended(call: OpenCall, times: list[float], value: wire.Value) -> wire.StraightCall:
    told = call.call
    if not call.told:  # nobody else has it
        told.times = times
        return told
    result = value if call.promised else None
    return wire.StraightCall(told.task_id, told.template, told.actor_id, told.sent_at, times, result)
