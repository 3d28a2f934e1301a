"""Patience with what moves: it begins anew with each move, and a machine that stands still uses up none of it."""

from __future__ import annotations

from nbaccel.local_engine.stall_timer import LONGEST_LOOK_S, StallTimer


class Moving:
    """Something that moves when the test says so, and is looked at."""

    def __init__(self, patience_s: float) -> None:
        self.moves = 0
        self.now = 100.0
        self.quiet = StallTimer(patience_s, self.now, lambda: self.moves)

    def is_over_after(self, seconds: float) -> bool:
        self.now += seconds
        return self.quiet.is_over(self.now)


def test_what_does_not_move_is_given_up_when_its_time_is_over() -> None:
    thing = Moving(2.0)
    assert [thing.is_over_after(0.5) for _ in range(4)] == [False, False, False, True]


def test_what_moves_now_and_then_is_waited_for_however_long_it_takes() -> None:
    thing = Moving(2.0)
    for _ in range(100):
        assert not any(thing.is_over_after(0.5) for _ in range(3))
        thing.moves += 1
        assert not thing.is_over_after(0.5)


def test_a_machine_that_stands_still_uses_up_one_look() -> None:
    thing = Moving(2 * LONGEST_LOOK_S)
    assert not thing.is_over_after(20.0)
    assert thing.is_over_after(20.0)
