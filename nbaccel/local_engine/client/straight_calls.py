"""Calls that a driver sends straight to its actors: one thread for all connections.

```
  any thread ── Submit ──► line's socket ──► actor                     (or line's outbox ── our thread ──► socket)
  our thread ◄── Done ──── line's socket     values ──► waiters        and every TELL_S: StraightNews ──► head
```
A result belongs to this process until a ref to it leaves (`hand_over`). A call that has failed, whose result is large
or holds refs, or whose code has spoken with the head, is answered through the head: the actor says so (`Done` without
results). When a connection ends, its open calls are told to the head, which knows what became of the actor.
Decision 43 has the rules.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable
from itertools import groupby
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.answer_turns import HERE_S, AnswerTurns
from nbaccel.local_engine.client.call_book import TELL_S, CallBook, OpenCall
from nbaccel.local_engine.client.holdings import Holdings
from nbaccel.local_engine.client.link import FULL, Link, block_signals
from nbaccel.local_engine.client.straight_line import ActorWay, StraightLine
from nbaccel.local_engine.client.values import Values
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.local_engine.wire import failures
from nbaccel.local_engine.wire.ids import return_id, task_of
from nbaccel.scheduling.terms import Terms

QUIET_LOOKS = 20  # the thread sleeps after finding nothing so often


class StraightCalls:
    """The straight calls of one process."""

    def __init__(self, link: Link, holdings: Holdings, values: Values) -> None:
        self._link = link
        self._holdings = holdings
        self._values = values
        self.book = CallBook(link.say_later)
        self._ways: dict[bytes, ActorWay] = {}
        self._lines: dict[int, ActorWay] = {}  # descriptor -> its actor; only our thread changes it
        self._to_write: set[ActorWay] = set()
        self._thread: threading.Thread | None = None
        self._turns: AnswerTurns | None = None  # there with the first connection
        self._quiet_looks = 0  # how often the thread found nothing
        self._told_at = 0.0
        self._closing = False
        self._value_came: Callable[[Any], None] = link.receivers[wire.ObjectValue]
        self._ready_came: Callable[[Any], None] = link.receivers[wire.ObjectReady]
        link.receivers[wire.Connected] = self._connected
        link.receivers[wire.ObjectValue] = self._head_sent
        link.receivers[wire.ObjectReady] = self._head_has
        link.before_question = self.tell
        self._forget_values = holdings.on_released
        holdings.on_released = self._released

    # ---- calls

    def learn(self, actor_id: bytes, terms: Terms) -> None:
        """This process is about to make an actor with these terms."""
        if terms.takes_straight_calls:
            self._ways[actor_id] = ActorWay(actor_id)
            self._holdings.before_release = self._before_release

    def way_of(self, actor_id: bytes) -> ActorWay | None:
        """The way to an actor whose calls may go straight; the first call asks the head for a connection."""
        way = self._ways.get(actor_id)
        if way is not None and not way.is_asked_for:
            way.is_asked_for = True
            self._link.say(asks.told(asks.ConnectActor(actor_id)))
        return way

    def call(self, way: ActorWay, task_id: bytes, template: int, terms: Terms, args: bytes) -> None:
        """Send a call straight. `way.lock` is held, and its ref exists."""
        number = way.sent + 1
        call = self.book.begins(task_id, template, way.actor_id, way)
        self._values.expect((call.id,))
        self._send(way, call, wire.StraightSubmit(task_id, template, args, number), terms)
        way.sent = number
        call.sent = True

    def _send(self, way: ActorWay, call: OpenCall, message: wire.StraightSubmit, terms: Terms) -> None:
        line, turns = way.line, self._turns
        assert line is not None and turns is not None
        messages: list[Any] = [message]
        if message.template not in line.templates:
            messages.insert(0, wire.DefineTemplate(message.template, terms))
        if not (self._values.expects_only_one() and line.wrote_whole(messages)):
            line.outbox.extend(messages)
            if way not in self._to_write:
                self._to_write.add(way)
                turns.ring()
        line.templates.add(message.template)
        if turns.sleeps:
            turns.ring()

    def follow(self, way: ActorWay, returned: Any, template: int) -> Callable[[], None]:
        """A call goes through the head: no call goes straight before it has come back. `way.lock` is held.

        Returns what is to be called when it is free.
        """
        ref = returned[0] if isinstance(returned, list) and returned else returned
        id = getattr(ref, "_id", None)
        if id is None:  # a stream, or no result: only a later call that has run says that this one has ended
            way.went_through_head(object(), template)
            return _nothing
        way.went_through_head(id, template)

        def came_back(_id: bytes, keep: Any = ref) -> None:  # kept, or nobody would learn of the result
            way.came_back(id, has_run=not self._values.is_error(id))

        def watch() -> None:
            if self._values.when_ready([id], came_back):
                came_back(id)

        return watch

    def stop(self, actor_id: bytes) -> None:
        """Later calls of this actor go through the head, and so do not overtake what the head is told of it."""
        way = self._ways.get(actor_id)
        if way is not None:
            with way.lock:
                way.is_stopped = True
            self.book.tell()

    def hold_back(self, way: ActorWay) -> None:
        """Let the main thread wait while far too many of its calls wait to be written."""
        line = way.line
        if line is None or len(line.outbox) <= FULL or threading.current_thread() is not threading.main_thread():
            return
        while line is not None and len(line.outbox) > FULL and way.line is line and self._link.lost is None:
            time.sleep(0.01)

    # ---- waiting

    def read_here(self, id: bytes, timeout_s: float | None) -> tuple[bool, float | None]:
        """Wait a moment for a result in the thread that reads it, if it is of the only call under way.

        Returns whether it is here, and what is left of the time.
        """
        if not self._values.expects_only_one() or (timeout_s is not None and timeout_s < HERE_S):
            return False, timeout_s
        call = self.book.find(task_of(id))
        if call is None or self._turns is None:
            return False, timeout_s
        began = time.monotonic()
        is_here = self._turns.read_here(id, call)
        return is_here, None if timeout_s is None else max(timeout_s + began - time.monotonic(), 0.0)

    def _settle(self) -> None:
        """Let the book have all that has been received."""
        if self._turns is not None and threading.current_thread() is not self._thread:
            self._turns.settle()

    # ---- what others know

    def tell(self) -> None:
        """Tell the head everything, before it is asked something."""
        self._settle()
        self.book.tell()

    def hand_over(self, ids: list[bytes]) -> None:
        """Refs to these objects leave this process: from now on the head can answer for them."""
        if any(map(self._holdings.is_private, ids)):
            self._settle()
        for id in ids:
            if not self._holdings.is_private(id):
                self.book.announce(task_of(id))
                continue
            if not self.book.promise(task_of(id)):
                self.book.tell()
                value = self._values.known_here(id)
                if value is not None:
                    self._link.say_later(wire.Put(id, value, []))
            self._holdings.publish(id)

    def _before_release(self, ids: list[bytes]) -> None:
        """The head hears of open calls before it hears that the last handle of their actor has gone."""
        for id in ids:
            way = self._ways.get(id)
            if way is not None:
                self.book.tell()
                if way.line is None:
                    self._ways.pop(id, None)

    def _released(self, ids: list[bytes]) -> None:
        for id in ids if self.book.open else ():
            self.book.never_sent(task_of(id))
        if self._forget_values is not None:
            self._forget_values(ids)

    # ---- the link's reader thread

    def _connected(self, message: wire.Connected) -> None:
        sock = self._link.take_socket(message.socket)
        way = self._ways.get(message.actor_id)
        turns = self._listening() if sock is not None and way is not None else None
        if sock is None or way is None or turns is None or way.line is not None or self._closing:
            if sock is not None:
                sock.close()
            return  # calls go on through the head
        line = StraightLine(sock)
        self._lines[sock.fileno()] = way
        with way.lock:  # no call is sent before our thread listens; the far end may speak, or end, as soon as it does
            way.line = line
            turns.add(line)

    def _listening(self) -> AnswerTurns | None:
        """Our thread's turns; the thread starts now if it has not. None: this process can open no more files."""
        if self._turns is None and not self._closing:
            try:
                self._turns = AnswerTurns(self._values)
            except OSError:
                return None
            self._values.others_wait = self._turns.others_wait
            self._thread = threading.Thread(target=self._run, name="nbaccel-straight-calls", daemon=True)
            self._thread.start()
        return self._turns

    def _head_sent(self, message: wire.ObjectValue) -> None:
        id = message.object_id
        call = self.book.find(task_of(id))
        if call is None:
            if not self._holdings.is_private(id):  # else the head thinks that it failed, but its result had come before
                self._value_came(message)
            return
        line = call.way.line
        if line is not None and failures.is_end_of_actor(message.value):
            call.failure = message  # if the actor has answered before its end, that counts
            line.stop_reading()
            return
        self._take(call, message)

    def _take(self, call: OpenCall, message: wire.ObjectValue) -> None:
        """The head has the result of a call, and believes that we hold it."""
        call.answered = True
        if failures.is_end_of_actor(message.value):
            self.book.failed(call.call.task_id)
        else:
            self._conclude(call)
        self._holdings.publish(message.object_id)
        self._value_came(message)

    def _head_has(self, message: wire.ObjectReady) -> None:
        for id in message.object_ids:
            call = self.book.find(task_of(id))
            if call is not None:
                call.answered = True
                self._conclude(call)
                self._holdings.publish(id)
        self._ready_came(message)

    def _conclude(self, call: OpenCall) -> None:
        """The head has the result: nobody else will say so, if the connection has ended."""
        if call.way.line is None:
            self.book.answered(call.call.task_id)

    # ---- our thread

    def _run(self) -> None:
        block_signals()
        turns = self._turns
        assert turns is not None
        try:
            while not self._closing:
                self._look(turns)
        except Exception as error:  # this thread's last line: whoever waits must not wait for ever
            why = f"calls of actors can no longer be sent: {type(error).__name__}: {error}"
            self._link.give_up(why)
        finally:
            turns.ends()

    def _look(self, turns: AnswerTurns) -> None:
        """Take what has come, write what waits, and tell the head what it is time to tell."""
        events = turns.poll(TELL_S)
        for fd, kind in events:
            if not turns.is_bell(fd):
                self._hear(turns, fd, kind)
        for way, line in turns.take_received():
            self._take_all(turns, way, line)
        self._write(turns)
        self._quiet_looks = 0 if events or turns.are_any_left() else self._quiet_looks + 1
        now = time.monotonic()
        if now - self._told_at >= TELL_S:
            self._told_at = now
            if self.book.tell(TELL_S):
                self._link.flush()
                self._quiet_looks = 0
        if self._quiet_looks >= QUIET_LOOKS:
            turns.sleeps = True  # before the check: a call that begins after it rings
            if self._to_write or not self.book.is_quiet() or turns.are_any_left():
                turns.sleeps = False

    def _write(self, turns: AnswerTurns) -> None:
        while self._to_write:
            way = self._to_write.pop()
            line = way.line
            if line is not None:
                turns.note_full(line, line.write())

    def _hear(self, turns: AnswerTurns, fd: int, kind: int) -> None:
        way = self._lines[fd]
        line = way.line
        assert line is not None
        if kind & select.EPOLLOUT:
            self._to_write.add(way)
        if kind & ~select.EPOLLOUT:
            turns.receive(way, line)
            self._take_all(turns, way, line)

    def _take_all(self, turns: AnswerTurns, way: ActorWay, line: StraightLine) -> None:
        if way.line is not line:
            return  # it has ended
        for messages in line.take():
            if messages is None:
                self._end(way, line)
                return
            for kind, alike in groupby(messages, key=type):
                if kind is wire.StraightAnswer:
                    self._all_answered(list(alike))
                    continue
                for message in alike:
                    self._answered(message)

    def _all_answered(self, answers: list[wire.StraightAnswer]) -> None:
        self._values.all_came([id for id, _ in self.book.all_returned(answers, self._values.note_all)])

    def _answered(self, done: wire.Done) -> None:
        id = return_id(done.task_id, 0)
        if not done.results:
            self._holdings.publish(id)  # before the book forgets the call: what the head sends then must not seem old
        call = self.book.returned(done, lambda value: self._values.know(id, value))
        if call is None:
            return
        if done.results:
            self._value_came(wire.ObjectValue(id, done.results[0].value))
            if not self._holdings.holds(id):
                self._values.forget(id)
            return
        if call.failure is not None:
            self._value_came(call.failure)

    def _end(self, way: ActorWay, line: StraightLine) -> None:
        """The connection has ended, most likely with the actor: the head says what became of its open calls."""
        self._close(way)
        self._ways.pop(way.actor_id, None)
        for call in self.book.of_way(way):
            call.sent = True  # whatever an interrupt has kept from being noted: nobody else tells of it
            if call.answered:
                self.book.answered(call.call.task_id)
        self.book.tell()
        self._link.flush()
        for call in self.book.of_way(way):
            if call.failure is not None:
                self._take(call, call.failure)

    def _close(self, way: ActorWay) -> None:
        with way.lock:
            line, way.line = way.line, None
            self._to_write.discard(way)
        assert line is not None and self._turns is not None
        del self._lines[line.sock.fileno()]
        self._turns.drop(way, line)

    # ---- the end

    def close(self) -> None:
        """End the thread and close all connections."""
        self._closing = True
        if self._thread is None or self._turns is None:
            return
        self._turns.ring()
        self._thread.join()
        self.forget()

    def forget(self) -> None:
        """Close our copies of the descriptors, in a forked child too."""
        if self._turns is None:
            return
        self._closing = True
        for way in self._lines.values():
            line, way.line = way.line, None
            if line is not None:
                line.close()
        self._lines.clear()
        self._turns.close()
        self._turns = None


def _nothing() -> None:
    """No result will say that the call has come back."""
