"""Among many nodes, each demand gets the place that trying all of them in order would give it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.scheduling import events as ev
from nbaccel.scheduling.ledger import Hold, Place
from nbaccel.scheduling.placement import SPREAD_THRESHOLD, PlacementBook
from nbaccel.scheduling.terms import Choice, Placement
from tests.scheduling.world import World, choice, node

ZONE = Placement(labels=(("zone", "a"),))
RATHER_ZONE = Placement(soft_labels=(("zone", "a"),))
SPREAD = Placement(strategy="SPREAD")
DEMANDS = [
    choice(CPU=1),
    choice(CPU=3, memory=2),
    choice(ZONE, CPU=2),
    choice(RATHER_ZONE, CPU=2),
    choice(SPREAD, CPU=1),
    choice(CPU=1, GPU=0.5),
    choice(CPU=0, GPU=1),
    choice(CPU=1, GPU=2),
    choice(CPU=5, memory=6),
    choice(CPU=0),
]


def nodes(dice: random.Random, number: int) -> list[ev.NodeSpec]:
    """Of three sizes, some without devices, some in zone a."""
    return [
        node(
            f"n{each}",
            dice.choice([0, 0, 2, 3]),
            {"zone": dice.choice("ab")} if each % 3 else None,
            CPU=dice.choice([4, 6, 8]),
            memory=dice.choice([4, 8]),
        )
        for each in range(number)
    ]


def best_of_all(book: PlacementBook, wanted: Choice, turns: dict[Place, int]) -> Place | None:
    """The place that Ray's hybrid order says, found by trying every node on a copy of the rules."""
    asked = book.ask_for(wanted).asked
    placement = wanted.placement
    able = [
        place
        for place in book.nodes.values()
        if place.alive and place.meets(placement.labels) and place.lacks_now(asked) is None
    ]

    def badness(place: Place) -> Any:
        used = place.utilisation(asked)
        score = turns.get(place, 0) if placement.strategy == "SPREAD" else used if used >= SPREAD_THRESHOLD else 0
        wasteful = placement.strategy == "DEFAULT" and not asked.devices and place.has_accelerators
        misses = bool(placement.soft_labels) and not place.meets(placement.soft_labels)
        return (2 * misses + wasteful, score, place.order)

    return min(able, key=badness, default=None)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 14))
def test_each_demand_gets_the_place_that_trying_all_of_them_gives(seed: int, number: int) -> None:
    dice = random.Random(seed)
    book = PlacementBook()
    turns: dict[Choice, dict[Place, int]] = {}
    held: list[Hold] = []
    spare = nodes(dice, number)
    for step in range(60):
        what = dice.choice(["take"] * 6 + ["give"] * 3 + ["come", "go"])
        if what == "take":
            wanted = dice.choice(DEMANDS)
            mine = turns.setdefault(wanted, {})
            expected = best_of_all(book, wanted, mine)
            book.offer_freed()
            got = book.take(book.ask_for(wanted), None, 0.0)
            assert (got.place if got is not None else None) is expected, wanted
            if got is not None:
                mine[got.place] = 1 + step
                held.append(got)
        elif what == "give" and held:
            book.give_all(held.pop(dice.randrange(len(held))))
        elif what == "come" and spare:
            book.add_node(spare.pop())
        elif what == "go" and book.nodes:
            gone = dice.choice(list(book.nodes))
            held = [hold for hold in held if hold.place.node_id != gone]
            for mine in turns.values():
                mine.pop(book.nodes[gone], None)
            book.remove_node(gone)


def test_work_that_is_spread_keeps_its_turns_when_all_places_are_looked_at_anew() -> None:
    book = World(*(node(f"n{number}", CPU=8) for number in range(4))).scheduler._cluster
    ask = book.ask_for(choice(SPREAD, CPU=1))
    used = [book.take(ask, None, 0.0).place for _ in range(2)]
    book.reopen_all()
    used += [book.take(ask, None, 0.0).place for _ in range(2)]
    assert len(set(map(id, used))) == 4


def test_what_no_place_has_room_for_is_tried_only_where_something_came_back() -> None:
    world = World(node("head", CPU=2), *(node(f"n{number}", CPU=2) for number in range(9)))
    running = [world.submit(f"r{number}", choice(CPU=2)) for number in range(10)]
    world.ready()
    waits = world.submit("waits", choice(CPU=1))
    ask = world.scheduler._cluster.ask_for(choice(CPU=1))
    assert ask.exhausted and not ask.offers
    tried: list[Place] = []
    take = Place.take

    def counted(place: Place, *args: Any) -> Hold | str:
        tried.append(place)
        return take(place, *args)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Place, "take", counted)
        world.returns(running[4])
    assert world.is_sent(waits) and len(tried) == 1


def test_a_node_of_a_new_sort_is_hope_for_what_no_node_could_meet() -> None:
    world = World(node("head", CPU=2))
    task = world.submit("large", choice(CPU=8))
    assert not world.scheduler._cluster.ask_for(choice(CPU=8)).has_places
    world.notify(ev.NodeAdded(node("big", CPU=8)))
    world.ready()
    assert world.is_sent(task)
    world.notify(ev.NodeRemoved(b"big", "it was taken away"))
    assert not world.scheduler._cluster.ask_for(choice(CPU=8)).has_places
