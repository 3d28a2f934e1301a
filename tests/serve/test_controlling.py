"""The pure decision of what a deployment needs next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbaccel.serve.controlling import Seen, State, back_off_s, next_step

OLD, NEW = False, True


def seen(*rows: tuple[bool, State]) -> list[Seen]:
    return [Seen(str(number), is_new, state) for number, (is_new, state) in enumerate(rows)]


def test_missing_replicas_are_started_at_once() -> None:
    assert next_step(3, seen((NEW, State.RUNNING)), holds_devices=True, room=None).start == 2


def test_replicas_of_devices_are_exchanged_one_at_a_time_new_first() -> None:
    old = seen((OLD, State.RUNNING), (OLD, State.RUNNING))
    assert next_step(2, old, holds_devices=True, room=None).ask_room
    step = next_step(2, old, holds_devices=True, room=True)
    assert (step.start, step.stop) == (1, [])
    starting = [*old, Seen("n", NEW, State.STARTING)]
    assert next_step(2, starting, holds_devices=True, room=None) == next_step(
        2, starting, holds_devices=True, room=True
    )
    assert next_step(2, starting, holds_devices=True, room=None).start == 0
    up = [*old, Seen("n", NEW, State.RUNNING)]
    assert next_step(2, up, holds_devices=True, room=None).stop == ["0"]


def test_without_room_an_old_one_goes_first_and_the_gap_is_known() -> None:
    step = next_step(1, seen((OLD, State.RUNNING)), holds_devices=True, room=False)
    assert (step.stop, step.has_gap, step.start) == (["0"], True, 0)
    leaving = seen((OLD, State.STOPPING))
    assert next_step(1, leaving, holds_devices=True, room=None).start == 1
    assert not next_step(2, seen(*[(OLD, State.RUNNING)] * 2), holds_devices=True, room=False).has_gap


def test_others_are_exchanged_all_at_once() -> None:
    assert next_step(3, seen(*[(OLD, State.RUNNING)] * 3), holds_devices=False, room=None).start == 3


def test_what_is_too_much_goes_the_starting_ones_first() -> None:
    rows = seen((NEW, State.RUNNING), (NEW, State.STARTING), (NEW, State.RUNNING))
    assert next_step(1, rows, holds_devices=True, room=None).stop == ["1", "2"]
    assert next_step(0, seen((OLD, State.RUNNING)), holds_devices=True, room=None).stop == ["0"]


def test_deaths_in_a_row_wait_longer_and_longer_and_never_more_than_ten_seconds() -> None:
    assert [back_off_s(deaths) for deaths in range(5)] == [0, 0, 0.1, 0.2, 0.4]
    assert back_off_s(50) == 10


@given(
    wanted=st.integers(0, 4),
    old=st.integers(0, 4),
    holds=st.booleans(),
    rooms=st.lists(st.booleans(), min_size=60, max_size=60),
    extra=st.integers(0, 2),
)
def test_every_exchange_ends_with_what_is_wanted_and_never_stops_more_than_it_must(
    wanted: int, old: int, holds: bool, rooms: list[bool], extra: int
) -> None:
    replicas = seen(*[(OLD, State.RUNNING)] * old, *[(NEW, State.RUNNING)] * extra)
    made = 0
    for chance in rooms:
        step = next_step(wanted, replicas, holds_devices=holds, room=None)
        if step.ask_room:
            step = next_step(wanted, replicas, holds_devices=holds, room=chance)
            serving = [each for each in replicas if each.state is State.RUNNING]
            assert not (chance and len(serving) <= wanted and step.stop), "with room the new one comes first"
        for _ in range(step.start):
            replicas.append(Seen(f"n{made}", NEW, State.STARTING))
            made += 1
        replicas = [Seen(each.tag, each.is_new, State.STOPPING) if each.tag in step.stop else each for each in replicas]
        # something happens: what stops has ended, or what starts is up
        if any(each.state is State.STOPPING for each in replicas):
            replicas = [each for each in replicas if each.state is not State.STOPPING]
        else:
            replicas = [Seen(each.tag, each.is_new, State.RUNNING) for each in replicas]
    assert [each.is_new for each in replicas] == [True] * wanted
