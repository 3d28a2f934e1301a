"""Among many nodes, each demand gets the place that trying all of them in order would give it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbaccel.quantities import UNIT
from nbaccel.scheduling import events as ev
from nbaccel.scheduling import place_order
from nbaccel.scheduling.ledger import Hold, Place
from nbaccel.scheduling.place_order import SPREAD_THRESHOLD
from nbaccel.scheduling.placement import MAX_KINDS, PlaceableChoice, PlacementBook
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
@given(st.integers(0, 100_000), st.sampled_from([2, 3, 64]), st.integers(1, 14))
def test_each_demand_gets_the_place_that_trying_all_of_them_gives(seed: int, block: int, number: int) -> None:
    dice = random.Random(seed)
    book = PlacementBook()
    turns: dict[Choice, dict[Place, int]] = {}
    held: list[Hold] = []
    spare = nodes(dice, number)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(place_order, "BLOCK", block)
        for step in range(60):
            what = dice.choice(["take"] * 6 + ["give"] * 3 + ["come", "go"])
            if what == "take":
                wanted = dice.choice(DEMANDS)
                mine = turns.setdefault(wanted, {})
                expected = best_of_all(book, wanted, mine)
                book.refusals.close()
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
            for ask in book.asks.values():
                ask.order.check()


def test_demands_that_name_the_same_resources_share_one_order() -> None:
    book = World(node("head", 2, CPU=8), node("n1", 2, CPU=8)).scheduler._cluster

    def order_of(*args: Any, **amounts: float) -> place_order.PlaceOrder:
        ask: PlaceableChoice = book.ask_for(choice(*args, **amounts))
        return ask.order

    assert order_of(CPU=1, GPU=1) is order_of(CPU=2, GPU=0.5)
    assert order_of(CPU=1) is not order_of(CPU=1, GPU=1)
    assert order_of(CPU=1) is not order_of(ZONE, CPU=1)
    assert order_of(SPREAD, CPU=1) is not order_of(SPREAD, CPU=2)  # each has turns of its own


def test_work_that_is_spread_keeps_its_turns_when_all_places_are_looked_at_anew() -> None:
    book = World(*(node(f"n{number}", CPU=8) for number in range(4))).scheduler._cluster
    ask = book.ask_for(choice(SPREAD, CPU=1))
    used = [book.take(ask, None, 0.0).place for _ in range(2)]
    book.reopen_all()
    used += [book.take(ask, None, 0.0).place for _ in range(2)]
    assert len(set(map(id, used))) == 4


def test_an_order_ends_with_the_last_demand_that_asks_for_it() -> None:
    world = World(node("head", 2, CPU=8), node("n1", 2, CPU=8))
    book: PlacementBook = world.scheduler._cluster
    for cpus in (1, 2):
        book.ask_for(choice(CPU=cpus))
    place = book.nodes[b"n1"]
    assert len(place.orders) == 1
    book._forget_unused()
    assert not place.orders and not book.asks


def test_nothing_is_kept_of_the_kinds_of_nodes_that_are_gone() -> None:
    book = PlacementBook()
    book.add_node(node("head", CPU=4, memory=4))
    ask = book.ask_for(choice(CPU=8, memory=1))
    for number in range(2 * MAX_KINDS):
        came = book.add_node(node(f"n{number}", CPU=8, memory=5 + number))  # no machine has quite as much as another
        assert ask.has_places
        book.remove_node(came.node_id)
    assert not ask.has_places
    assert len(book._kinds) <= MAX_KINDS + 1 and len(ask.fits) <= MAX_KINDS + 1


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
    world.tell(ev.NodeAdded(node("big", CPU=8)))
    world.ready()
    assert world.is_sent(task)
    world.tell(ev.NodeRemoved(b"big", "it was taken away"))
    assert not world.scheduler._cluster.ask_for(choice(CPU=8)).has_places


@pytest.mark.parametrize("number", [2, 40])
def test_a_place_with_room_behind_many_without_is_found(number: int) -> None:
    book = PlacementBook()
    for each in range(5 * place_order.BLOCK):
        book.add_node(node(f"n{each}", 1, CPU=4))
    full = [book.take(book.ask_for(choice(CPU=0, GPU=1)), None, 0.0) for _ in range(5 * place_order.BLOCK - number)]
    assert all(hold is not None for hold in full)
    small = book.ask_for(choice(CPU=1, GPU=0.5))
    found = [book.take(small, None, 0.0) for _ in range(2 * number + 1)]
    assert sum(hold is not None for hold in found) == 2 * number
    small.order.check()
    amount = UNIT // 2
    assert all(hold.parts[0][1] == amount for hold in found if hold is not None)
