"""Two threads and a socket in any order: each move stands in the table, one reads at a time, nothing stays unread."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nbaccel.local_engine.worker.worker_link import LOOKS, MOVES, Main, Reader, SocketOwner

WORK, ANSWER = "work", "answer"
MANY = 100  # steps: more than are needed to take all that waits


class AnyTurns(RuleBasedStateMachine):
    """`WorkerLink` with its threads as two lists of steps, of which any is next."""

    @initialize()
    def begin(self) -> None:
        self.turns = SocketOwner()
        self.socket: list[str] = []  # what nobody has read
        self.inbox = 0  # work that was read
        self.answers = 0
        self.calls = 0  # in the reader's queue
        self.awaited = 0  # answers that the main thread waits for
        self.turn = ""  # who reads
        self.main_waits_for_reader = False  # it found the turn taken, and looks only into the inbox
        self.begun = 0  # as the reader saw it at its last look
        self.reader_is_at = "sleep"

    def moved(self, thread: str, before: Main | Reader, event: str) -> None:
        after = self.turns.main if thread == "main" else self.turns.reader
        assert after is MOVES[before, event], (before, event, after)

    # ---- the head

    @rule(what=st.sampled_from([WORK, ANSWER]))
    def head_says(self, what: str) -> None:
        self.socket.append(what)

    def read(self) -> None:
        for what in self.socket:
            self.inbox += what == WORK
            self.answers += what == ANSWER
        self.socket.clear()

    # ---- the main thread

    @precondition(lambda self: self.turns.main is Main.IDLE and self.inbox)
    @rule()
    def main_begins(self) -> None:
        if self.turn == "main":
            self.turn = ""
        self.main_waits_for_reader = False
        main, reader = self.turns.main, self.turns.reader
        self.inbox -= 1
        self.calls += self.turns.begins()
        self.moved("main", main, "begin")
        self.moved("reader", reader, "begin")

    @precondition(lambda self: self.turns.main is Main.WORKS and not self.awaited)
    @rule()
    def main_has_nothing_to_run(self) -> None:
        before = self.turns.main
        self.turns.idles()
        self.moved("main", before, "idle")

    @precondition(lambda self: self.turns.main is Main.IDLE and not self.inbox)
    @rule()
    def main_reads(self) -> None:
        if self.turn == "reader":
            self.main_waits_for_reader = True
        if not self.main_waits_for_reader:
            self.turn = "main"
            self.read()
            if self.inbox:
                self.turn = ""

    @precondition(lambda self: self.turns.main is Main.WORKS)
    @rule(awaits=st.booleans())
    def main_says_something(self, awaits: bool) -> None:
        before = self.turns.reader
        self.calls += self.turns.waits()
        self.moved("reader", before, "wait")
        self.awaited += awaits

    @precondition(lambda self: self.awaited and self.answers)
    @rule()
    def main_has_its_answer(self) -> None:
        self.awaited -= 1
        self.answers -= 1

    # ---- the reader

    @rule()
    def reader_steps(self) -> None:
        getattr(self, f"_reader_{self.reader_is_at}s")()

    def _reader_sleeps(self) -> None:
        if self.calls:
            self.calls -= 1
            self.begun, self.reader_is_at = self.turns.begun, "look"

    def _reader_looks(self) -> None:
        before = self.turns.reader
        called, self.calls = self.calls > 0, max(self.calls - 1, 0)
        if self.turns.is_wanted(self.begun, called):
            self.begun = self.turns.begun
            before = self.turns.reader
            self.turns.reads()
            self.moved("reader", before, "read")
            self.reader_is_at = "read"
            return
        if self.turns.main is Main.IDLE:
            self.moved("reader", before, "look")
        self.begun = self.turns.begun
        if self.turns.looks >= LOOKS and self.turns.falls_asleep():
            assert self.turns.reader is Reader.SLEEPS
            self.reader_is_at = "sleep"

    def _reader_reads(self) -> None:
        if self.turn == "main":
            self._reader_stops()
            return
        if not self.socket:
            self.turn = "reader"  # it waits for bytes
            return
        self.read()
        self.turn = ""
        if not self.turns.goes_on(self.begun, has_brought=self.inbox > 0):
            self._reader_stops()

    def _reader_stops(self) -> None:
        before = self.turns.reader
        self.turns.stops()
        self.moved("reader", before, "stop")
        self.begun, self.reader_is_at = self.turns.begun, "look"

    # ---- what always holds

    @invariant()
    def the_states_say_who_reads(self) -> None:
        if hasattr(self, "turns"):
            assert (self.turns.reader is Reader.READS) == (self.reader_is_at == "read")
            if self.turn == "main":
                assert self.turns.main is Main.IDLE

    def teardown(self) -> None:
        """Whatever happened, what comes now is read: an answer, a word beside the work, and more work."""
        if not hasattr(self, "turns"):
            return
        self.socket += [ANSWER] * max(self.awaited - self.answers - self.socket.count(ANSWER), 0)
        for _ in range(MANY):
            self.reader_steps()
            while self.awaited and self.answers:
                self.main_has_its_answer()
        assert not self.awaited, "an answer stayed unread while the main thread worked"
        if self.turns.main is Main.WORKS:
            self.socket.append(ANSWER)  # nobody has called for it: the work may be interrupted by it
            for _ in range(MANY):
                self.reader_steps()
            assert not self.socket, "nobody listened while the main thread was at work that lasts"
        self.socket.append(WORK)
        wanted = self.turns.begun + self.inbox + self.socket.count(WORK)
        for _ in range(MANY):
            if self.turns.main is Main.IDLE and self.inbox:
                self.main_begins()
            elif self.turns.main is Main.IDLE:
                self.main_reads()
            else:
                self.main_has_nothing_to_run()
            self.reader_steps()
        assert self.turns.begun == wanted, "work stayed unread while the main thread was idle"


AnyTurns.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestAnyTurns = AnyTurns.TestCase


def test_the_reader_sleeps_when_the_main_thread_has_been_idle_for_long() -> None:
    turns = SocketOwner()
    assert turns.begins() and turns.reader is Reader.STANDS_BY
    turns.idles()
    for _ in range(LOOKS):
        assert turns.looks < LOOKS and not turns.is_wanted(turns.begun, False)
    assert turns.looks == LOOKS and turns.falls_asleep()
    assert turns.begins()  # it has to be woken


def test_a_main_thread_that_begins_something_in_that_moment_keeps_the_reader_awake() -> None:
    turns = SocketOwner()
    turns.begins()
    assert not turns.falls_asleep() and turns.reader is Reader.STANDS_BY


def test_the_reader_listens_beside_work_that_lasts_and_not_beside_short_work() -> None:
    turns = SocketOwner()
    turns.begins()
    assert turns.is_wanted(turns.begun, called=False)
    assert not turns.is_wanted(turns.begun - 1, called=False)
    assert turns.is_wanted(turns.begun - 1, called=True)


def test_an_idle_main_thread_that_could_not_have_the_turn_is_read_for() -> None:
    turns = SocketOwner()
    turns.begins()
    begun = turns.begun
    turns.reads()
    turns.begins()
    assert not turns.goes_on(begun, has_brought=False)  # it works: it will read by itself
    turns.idles()
    assert turns.goes_on(begun, has_brought=False)
    assert not turns.goes_on(begun, has_brought=True)
