"""A link that does as it likes: each of its moves stands in the table, and everything that is said arrives in order."""

from __future__ import annotations

import socket
from collections import deque
from queue import Empty
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import MOVES, Link, LinkLife, Request, Writer
from nbaccel.local_engine.wire.framing import FrameReader


class Sleeps(Exception):
    """The writer waits for a kick, however long."""


class Waits:
    """A queue on which the writer waits. Time passes at once; a wait without end is an exception."""

    def __init__(self, meanwhile: list[Any]) -> None:
        self.waiting: deque[Any] = deque()
        self.meanwhile = meanwhile  # done when the writer begins to wait: other threads act then

    def put(self, what: Any) -> None:
        self.waiting.append(what)

    def empty(self) -> bool:
        return not self.waiting

    def get_nowait(self) -> Any:
        if not self.waiting:
            raise Empty
        return self.waiting.popleft()

    def get(self, timeout: float | None = None) -> Any:
        if not self.waiting and self.meanwhile:
            self.meanwhile.pop()()
        if self.waiting:
            return self.waiting.popleft()
        if timeout is None:
            raise Sleeps
        raise Empty


class AnyLink(RuleBasedStateMachine):
    """Threads take turns at every step that they share; the far end reads when we say so."""

    @initialize()
    def begin(self) -> None:
        ours, self.theirs = socket.socketpair()
        self.theirs.setblocking(False)
        self.news: list[str] = []
        self.link = Link(ours, on_lost=self.news.append)
        self.meanwhile: list[Any] = []
        self.kicks = self.link._kick = Waits(self.meanwhile)  # type: ignore[assignment]
        self.ended = self.link.ended = Waits(self.meanwhile)  # type: ignore[assignment]
        self.link.when_ended[wire.GiveUp] = self.hear_ends
        self.while_ends_are_heard: list[str] = []
        self.finalised = 0
        self.reader = FrameReader(wire.decode_to_head)
        self.said = 0
        self.received: list[int] = []
        self.is_left = False

    def hear_ends(self, ended: list[Any]) -> None:
        self.link._outbox.extend(ended)
        while self.while_ends_are_heard:
            self.act(self.while_ends_are_heard.pop())

    def message(self) -> wire.GiveUp:
        self.said += 1
        return wire.GiveUp(self.said, 0)

    def act(self, what: str) -> None:
        before = self.link._request
        if what == "nudge":
            self.link.nudge()
        elif what == "finalise":
            what = ""
            self.finalised += 1
            self.link.ended.put(wire.GiveUp(-self.finalised, 0))
        elif what == "later":
            what = "nudge"
            self.link.send_later(self.message())
        else:
            self.link.send(self.message())
        assert self.link._request is (MOVES[before, what] if what else before)

    WAYS = st.sampled_from(["say", "later", "nudge", "finalise"])

    @rule(what=WAYS)
    def another_thread_acts(self, what: str) -> None:
        self.act(what)

    @rule()
    def says_at_once(self) -> None:
        before, message = self.link._request, self.message()
        self.link.send_at_once(message)
        assert self.link._request in (before, Request.NOW)

    @rule()
    def flushes(self) -> None:
        before = self.link._request
        self.link.flush()
        assert self.link._request is MOVES[before, "flush"]

    @rule(meanwhile=st.lists(WAYS, min_size=1, max_size=2))
    def flushes_while_others_act(self, meanwhile: list[str]) -> None:
        self.act("finalise")
        self.while_ends_are_heard[:] = meanwhile
        self.link.flush()

    @rule(meanwhile=st.lists(WAYS, max_size=2), during=st.lists(WAYS, max_size=2))
    def the_writer_works(self, meanwhile: list[str], during: list[str]) -> None:
        """One pass of its loop; others act while it waits, and while it hears what has ended."""
        self.while_ends_are_heard[:] = during
        self.meanwhile[:] = [lambda what=what: self.act(what) for what in meanwhile]
        try:
            self.link._writes_once()
        except Sleeps:
            assert self.link._writer is Writer.SLEEPS
        for act in self.meanwhile:
            act()
        self.meanwhile.clear()

    @rule()
    def leaves(self) -> None:
        before, self.is_left = self.link.life, True
        self.link.leave()
        assert self.link.life is MOVES[before, "close"]

    @invariant()
    def what_waits_is_written_some_time(self) -> None:
        if hasattr(self, "link") and (self.link._outbox or self.link._request is not Request.NOTHING):
            sleeps = self.link._writer is Writer.SLEEPS  # else it looks within IDLE_S, whatever there is
            assert (self.ended if sleeps else self.kicks).waiting, "nobody wakes the writer"

    def teardown(self) -> None:
        if not hasattr(self, "link"):
            return
        try:
            for _ in range(3):
                try:
                    self.link._writes_once()
                except Sleeps:
                    break
            assert not self.link._outbox
            self.receive()
            assert [each for each in self.received if each > 0] == list(range(1, self.said + 1))
            assert [-each for each in self.received if each < 0] == list(range(1, self.finalised + 1))
            self.ends()
        finally:
            self.link.close()
            self.theirs.close()

    def receive(self) -> None:
        while True:
            try:
                self.received += [message.offset for message in self.reader.feed(self.theirs.recv(1 << 20))]
            except BlockingIOError:
                return

    def ends(self) -> None:
        """The end is news unless we have left; the second end never is."""
        before = self.link.life
        self.link._lose("the far end has gone")
        self.link._lose("once more")
        assert self.link.life is MOVES[before, "end"]
        assert self.news == ([] if self.is_left else ["the far end has gone"])
        assert self.link.was_left == self.is_left
        self.link.leave()
        assert self.link.life is LinkLife.CLOSED


AnyLink.TestCase.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
TestAnyLink = AnyLink.TestCase


def test_every_state_is_in_the_table_and_can_be_left() -> None:
    for states in (LinkLife, Request, Writer):
        reached = {MOVES[move] for move in MOVES if isinstance(move[0], states)}
        assert reached | {next(iter(states))} == set(states)
