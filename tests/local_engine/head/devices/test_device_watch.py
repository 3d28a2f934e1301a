"""The prober's answers: what is measured, what is lost, and what is said when it is silent or dies."""

from __future__ import annotations

import pytest

from nbaccel.local_engine.head.devices.device_watch import LOOK_FOR_LOST_S, MOST_DEATHS, PATIENCE_S, SILENCE_S
from nbaccel.local_engine.side_processes import prober
from nbaccel.quantities import UNIT
from tests.local_engine.head.devices.conftest import GIB, Place, metrics

ALL = {"GPU": [(0, UNIT), (1, UNIT)]}


def test_devices_are_measured_while_somebody_watches(place: Place) -> None:
    first, _second = place.have_two_real()
    place.room.watch.measure(True)
    (order,) = place.asked()
    assert type(order) is prober.Sample and len(order.devices) == 2
    place.answer(prober.Measured([metrics(GIB), metrics(0)]))
    assert place.room.watch.metrics[first.lease_key].memory_used_bytes == GIB
    assert place.onlookers.changes
    place.room.watch.measure(False)
    assert [order.devices for order in place.asked()] == [[]]


def test_a_silent_prober_makes_everything_unknown_with_the_reason(place: Place) -> None:
    first, _second = place.have_two_real()
    place.room.watch.measure(True)
    place.clock.jump(SILENCE_S)
    known = place.room.watch.metrics[first.lease_key]
    assert known.memory_used_bytes is None and "have not answered" in known.reasons["memory_used_bytes"]


def test_a_machine_that_stands_still_makes_no_prober_silent(place: Place) -> None:
    first, _second = place.have_two_real()
    place.room.watch.measure(True)
    for _ in range(3):
        place.clock.stand_still(60.0)
        place.answer(prober.Measured([metrics(GIB), metrics(0)]))
        assert place.room.watch.metrics[first.lease_key].memory_used_bytes == GIB
        place.clock.stand_still(60.0)
        assert place.room.watch.metrics[first.lease_key].memory_used_bytes == GIB


def test_a_prober_that_dies_is_ordered_again_and_left_alone_in_the_end(place: Place) -> None:
    place.have_two_real()
    place.room.watch.measure(True)
    place.asked()
    for _ in range(MOST_DEATHS - 1):
        place.prober_dies()
        assert len(place.asked()) == 1
    place.prober_dies()
    assert place.asked() == []
    assert place.onlookers.alerts[-1][0] == "prober" and "is left alone" in place.onlookers.alerts[-1][1]


def test_a_lost_device_is_told_to_all_and_offered_again_when_it_is_back(place: Place) -> None:
    place.have_two_real()
    done: list[str] = []
    place.room.watch.after_failure(place.nodes.node_id, ALL, lambda: done.append("looked"))
    assert done == []
    (look,) = place.asked()
    place.answer(prober.Inspected(look.number, [metrics(None, lost="it fell off the bus"), metrics(0)]))
    assert done == ["looked"]
    (event,) = place.taken()
    assert (event.index, event.lost) == (0, True)
    assert "is lost: it fell off the bus" in place.onlookers.alerts[-1][1]
    place.clock.jump(LOOK_FOR_LOST_S)
    (look,) = place.asked()
    place.answer(prober.Inspected(look.number, [metrics(0)]))
    (event,) = place.taken()
    assert (event.index, event.free, event.lost) == (0, UNIT, False)
    assert "answers again" in place.onlookers.alerts[-1][1]


def test_a_failure_without_real_devices_is_not_looked_at(place: Place) -> None:
    place.have_two_real()
    done: list[str] = []
    place.room.watch.after_failure(place.nodes.node_id, {}, lambda: done.append("at once"))
    assert done == ["at once"] and place.asked() == []


def test_a_look_that_hangs_is_given_up_and_its_late_answer_is_news_all_the_same(place: Place) -> None:
    first, _second = place.have_two_real()
    answers: list[object] = []
    place.room.looks.look([first], answers.append)
    (look,) = place.asked()
    place.clock.jump(PATIENCE_S)
    assert answers == [None]
    place.answer(prober.Inspected(look.number, [metrics(GIB)]))
    assert answers == [None] and place.room.watch.metrics[first.lease_key].memory_used_bytes == GIB


@pytest.mark.parametrize("watched", [True, False])
def test_a_look_of_a_person_is_saved_while_others_watch(place: Place, watched: bool) -> None:
    place.have_two_real()
    if watched:
        place.room.watch.measure(True)
        place.asked()
    seen: list[str] = []
    place.room.watch.freshen(lambda: seen.append("now"))
    assert seen == (["now"] if watched else [])
    assert len(place.asked()) == (not watched)
