"""The open direct calls: each is reported at most once as open, and then once as ended or taken."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.direct_calls import LATE_S, REPORT_S, ActorConnection, OpenCalls

WAY, OTHER_WAY = ActorConnection(b"actor"), ActorConnection(b"other")
VALUE = wire.Value(wire.OK, b"x")


class Books:
    """Open calls, what was reported of them, and a clock that stands still."""

    def __init__(self) -> None:
        self.said: list[wire.CallReports] = []
        self.now = 100.0
        self.book = OpenCalls(self.said.append, clock=lambda: self.now)
        self.kept: list[wire.Value] = []

    def begins(self, task_id: bytes, way: ActorConnection = WAY) -> None:
        self.book.begins(task_id, 1, way).sent = True

    def returns(self, task_id: bytes) -> None:
        self.book.returned(
            [wire.DirectReply(task_id, b"x", [1.0, 2.0])], lambda results: self.kept.extend(v for _, v in results)
        )

    def opened(self) -> list[bytes]:
        return [call.task_id for news in self.said for call in news.opened]

    def ended(self) -> list[bytes]:
        return [call.task_id for news in self.said for call in news.ended]

    def taken(self) -> list[bytes]:
        return [task_id for news in self.said for task_id in news.taken]


def test_a_call_that_returns_soon_is_reported_once_as_ended() -> None:
    books = Books()
    books.begins(b"a")
    books.returns(b"a")
    assert books.book.report()
    assert (books.opened(), books.ended(), books.kept) == ([], [b"a"], [VALUE])
    assert not books.book.report()
    assert books.book.is_idle()


def test_a_young_call_is_reported_with_a_question_and_an_old_one_by_itself() -> None:
    books = Books()
    books.begins(b"a")
    books.now += 1.0
    books.begins(b"b")
    assert books.book.report(older_than_s=0.5)
    assert books.opened() == [b"a"]
    assert not books.book.report(older_than_s=0.5)
    assert not books.book.is_idle()
    assert books.book.report()
    assert books.opened() == [b"a", b"b"]


def test_a_call_that_an_interrupt_kept_from_being_sent_is_forgotten_with_its_ref() -> None:
    books = Books()
    books.book.begins(b"a", 1, WAY)
    assert not books.book.report()
    books.book.never_sent(b"a")
    assert books.book.find(b"a") is None
    assert books.book.is_idle()


def test_a_call_that_was_sent_is_not_forgotten_with_its_ref() -> None:
    books = Books()
    books.begins(b"a")
    books.book.never_sent(b"a")
    assert books.book.find(b"a") is not None


def test_a_result_that_others_were_promised_is_reported_with_its_value() -> None:
    books = Books()
    books.begins(b"a")
    assert books.book.promise(b"a")
    books.returns(b"a")
    books.book.report()
    first, second = books.said
    assert [call.task_id for call in first.opened] == first.promised == [b"a"]
    assert second.ended[0].value == VALUE
    assert not books.book.promise(b"a")


def test_a_call_that_the_head_takes_is_reported_as_taken_if_it_was_not_as_open() -> None:
    books = Books()
    books.begins(b"a")
    books.book.taken(b"a")
    books.book.report()
    books.begins(b"b")
    books.book.report()
    books.book.taken(b"b")
    assert not books.book.report()
    assert (books.opened(), books.ended(), books.taken()) == ([b"b"], [], [b"a"])


def test_an_answer_to_an_unknown_call_changes_nothing() -> None:
    books = Books()
    books.returns(b"a")
    assert not books.book.report()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 25), st.booleans()), max_size=30))
def test_the_head_is_never_further_behind_than_it_is_said_to_be(steps: list[tuple[int, bool]]) -> None:
    """Calls begin and return, some milliseconds after each other, and reports leave every REPORT_S."""
    books = Books()
    begun: dict[bytes, float] = {}
    over: dict[bytes, float] = {}
    told_at = books.now

    def check() -> None:
        opened, ended = set(books.opened()), set(books.ended())
        may_be_unknown = books.now - LATE_S - 1e-6  # since then
        assert {task_id for task_id, at in over.items() if at < may_be_unknown} <= ended <= over.keys()
        assert {task_id for task_id, at in begun.items() if at < may_be_unknown} <= opened | ended <= begun.keys()

    for pause_ms, begins in [*steps, (25, True)]:
        for _ in range(pause_ms):
            books.now += 0.001
            if books.now - told_at > REPORT_S - 1e-6:
                told_at = books.now
                books.book.report(REPORT_S)
            check()
        if begins:
            task_id = b"%d" % len(begun)
            begun[task_id] = books.now
            books.begins(task_id)
        elif open_calls := begun.keys() - over.keys():
            task_id = min(open_calls, key=lambda each: begun[each])
            over[task_id] = books.now
            books.returns(task_id)


class OpenCallsMachine(RuleBasedStateMachine):
    """Calls begin, return here or at the head, are promised or lost, while news are told at any time."""

    open_calls = Bundle("open_calls")

    def __init__(self) -> None:
        super().__init__()
        self.books = Books()
        self.count = 0
        self.began: list[bytes] = []
        self.here: list[bytes] = []
        self.there: list[bytes] = []
        self.at_head: set[bytes] = set()
        self.promised: set[bytes] = set()

    @rule(target=open_calls, way=st.sampled_from([WAY, OTHER_WAY]))
    def begin(self, way: ActorConnection) -> bytes:
        self.count += 1
        task_id = b"%d" % self.count
        self.began.append(task_id)
        self.books.begins(task_id, way)
        return task_id

    @rule(task_id=consumes(open_calls))
    def return_here(self, task_id: bytes) -> None:
        self.here.append(task_id)
        self.books.returns(task_id)

    @rule(task_id=consumes(open_calls))
    def be_taken_by_the_head(self, task_id: bytes) -> None:
        if task_id not in self.books.opened():
            self.there.append(task_id)
        self.at_head.add(task_id)
        self.books.book.taken(task_id)

    @rule(task_id=open_calls)
    def promise(self, task_id: bytes) -> None:
        assert self.books.book.promise(task_id)
        self.promised.add(task_id)

    @rule(older=st.sampled_from([0.0, 0.02]), later=st.sampled_from([0.0, 0.01, 0.05]))
    def report(self, older: float, later: float) -> None:
        self.books.now += later
        self.books.book.report(older)

    @invariant()
    def each_call_is_reported_once(self) -> None:
        books = self.books
        opened, ended, taken = books.opened(), books.ended(), books.taken()
        assert len(set(opened)) == len(opened)
        assert ended == self.here[: len(ended)]
        assert taken == self.there[: len(taken)]
        assert not set(taken) & set(opened)
        for news in books.said:
            assert not {call.task_id for call in news.opened} & {call.task_id for call in news.ended}
        values = {call.task_id for news in books.said for call in news.ended if call.value is not None}
        assert values == self.promised & set(ended)

    def teardown(self) -> None:
        books = self.books
        books.book.report()
        assert (books.ended(), books.taken()) == (self.here, self.there)
        over = {*self.here, *self.at_head}
        assert {call.task_id for way in (WAY, OTHER_WAY) for call in books.book.of_connection(way)} == (
            set(self.began) - over
        )
        assert set(self.began) - over <= set(books.opened())
        order: list[tuple[str, bytes]] = []
        for news in books.said:
            order += [("opened", call.task_id) for call in news.opened]
            order += [("over", task_id) for task_id in [*(call.task_id for call in news.ended), *news.taken]]
        for task_id in books.opened():
            if ("over", task_id) in order:
                assert order.index(("opened", task_id)) < order.index(("over", task_id))


TestOpenCallsMachine = OpenCallsMachine.TestCase
TestOpenCallsMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
