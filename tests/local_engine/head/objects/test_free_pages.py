"""Which free bytes have memory behind them: compared page by page with a table that is plain to see."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from nbaccel.local_engine.arena import PAGE, Arena
from nbaccel.local_engine.head.objects.page_keeper import MERGED_S, FreePages

PAGES = 40
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "give", "populate", "give back"]), st.integers(0, PAGES - 1), st.integers(1, 12)
    ),
    max_size=60,
)


class Table:
    """For each page of the arena: is it taken, and if it is free, does it have memory, which somebody has used?"""

    def __init__(self) -> None:
        self.arena = Arena(PAGES * PAGE)
        self.pages = FreePages(self.arena)
        self.state = ["bare"] * PAGES
        self.taken: list[int] = []
        self.now = 0.0

    def take(self, at: int, count: int) -> None:
        offset = self.arena.take(count * PAGE)
        if offset is None:
            return
        first = offset // PAGE
        needs_more = any(state in ("bare", "new") for state in self.state[first : first + count])
        assert self.pages.taken(offset, count * PAGE) is needs_more
        self.state[first : first + count] = ["taken"] * count
        self.taken.append(offset)

    def give(self, at: int, count: int) -> None:
        if not self.taken:
            return
        offset = self.taken.pop(at % len(self.taken))
        size = self.arena.give(offset)
        self.pages.given(offset, size, self.now)
        first = offset // PAGE
        self.state[first : first + size // PAGE] = ["used"] * (size // PAGE)

    def populate(self, at: int, count: int) -> None:
        count = min(count, PAGES - at)
        self.pages.populated(at * PAGE, count * PAGE, self.now)
        self.state[at : at + count] = ["new" if state == "bare" else state for state in self.state[at : at + count]]

    def give_back(self, at: int, count: int) -> None:
        due = self.pages.unused_since(self.now - at, count * PAGE)
        if due is None:
            assert at or not self.pages.bytes
            return
        offset, size = due
        first = offset // PAGE
        assert size <= count * PAGE and set(self.state[first : first + size // PAGE]) <= {"new", "used"}
        self.arena.set_aside(offset, size)
        self.pages.given_back(offset, size)
        self.arena.check()
        self.arena.put_back(offset)
        self.state[first : first + size // PAGE] = ["bare"] * (size // PAGE)

    def check(self) -> None:
        self.arena.check()
        self.pages.check()
        assert self.pages.bytes == PAGE * (self.state.count("new") + self.state.count("used"))
        assert self.pages.new_bytes == PAGE * self.state.count("new")
        gap = self.pages.next_gap(2 * PAGE)
        if gap is None:
            assert "bare" not in self.state
        else:
            assert gap[0] == self.state.index("bare") * PAGE and gap[1] in (PAGE, 2 * PAGE)
        backed = {page for page, state in enumerate(self.state) if state in ("new", "used")}
        parts = self.pages.stretches(PAGE, PAGES * PAGE)
        assert {page for start, end in parts for page in range(start // PAGE, end // PAGE)} == backed
        assert all(before[1] < after[0] for before, after in pairwise(parts))


@given(STEPS)
def test_every_page_is_known_for_what_it_is(steps: list[tuple[str, int, int]]) -> None:
    table = Table()
    for what, at, count in steps:
        table.now += 1.0
        {"take": table.take, "give": table.give, "populate": table.populate, "give back": table.give_back}[what](
            at, count
        )
        table.check()


def made(*, free: int) -> tuple[Arena, FreePages]:
    """An arena whose first pages have been used and came free at 0, one after the other."""
    arena = Arena(PAGES * PAGE)
    pages = FreePages(arena)
    offsets = [arena.take(PAGE) for _ in range(free)]
    for offset in offsets:
        assert offset is not None
        pages.taken(offset, PAGE)
    for number, offset in enumerate(offsets):
        assert offset is not None
        arena.give(offset)
        pages.given(offset, PAGE, number * MERGED_S)
    return arena, pages


def test_only_what_nobody_has_used_for_long_enough_is_due() -> None:
    _arena, pages = made(free=6)
    assert pages.unused_since(-0.1, PAGES * PAGE) is None
    assert pages.unused_since(MERGED_S * 2, PAGES * PAGE) == (0, 3 * PAGE)
    assert pages.unused_since(MERGED_S * 99, 4 * PAGE) == (0, 4 * PAGE)


def test_neighbours_that_come_free_together_are_one_run_of_the_older_ones_age() -> None:
    arena, pages = made(free=1)
    offset = arena.take(2 * PAGE)
    assert offset == 0
    pages.taken(offset, 2 * PAGE)
    other = arena.take(PAGE)
    assert other is not None
    pages.taken(other, PAGE)
    pages.given(offset, arena.give(offset), 10.0)
    pages.given(other, arena.give(other), 10.0 + MERGED_S / 2)
    assert pages.unused_since(10.0, PAGES * PAGE) == (0, 3 * PAGE)


def test_ready_parts_are_the_lowest_and_no_more_than_was_asked_for() -> None:
    _arena, pages = made(free=6)
    assert pages.stretches(2 * PAGE, 4 * PAGE) == [(0, 4 * PAGE)]
    assert pages.stretches(7 * PAGE, 40 * PAGE) == []
