"""Chooses the place for work: Ray's hybrid order, made deterministic, at a cost that does not grow with the nodes.

A `PlaceableChoice` is one choice with the order of the places that it may use (`place_order.py`), which it shares with
all choices that name the same resources under the same conditions. Once no place had room for it, it is *exhausted*: it
looks at no place before something comes back there, and is then offered that place (`refusals.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.quantities import DEVICE_RESOURCES
from nbaccel.scheduling.events import NodeSpec
from nbaccel.scheduling.ledger import NO_DEVICES, Hold, LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.place_order import PlaceOrder
from nbaccel.scheduling.refusals import Refusals
from nbaccel.scheduling.terms import Choice, Pairs

if TYPE_CHECKING:
    from nbaccel.scheduling.tasks import Shape

MAX_ASKS = 1024  # beyond this, choices that nobody waits for are forgotten
MAX_KINDS = 1024  # beyond this, kinds of which no node is here are forgotten


class PlaceableChoice(msgspec.Struct, eq=False):
    """One choice with its split demand and the places that it may use."""

    choice: Choice
    asked: SplitDemand
    needs: dict[str, int]  # of each resource, devices first: with less than this nobody who asks it can start
    order: PlaceOrder
    lasting: Pairs | None = None  # of actors that start where there is room for what they keep; see `take_lasting`
    shapes: dict[Shape, None] = {}
    exhausted: bool = False  # no place has room for it, but for those on offer, perhaps
    offers: dict[Place, None] = {}  # of an exhausted one: places that got something back since it was tried there
    fits: dict[int, bool] = {}  # by kind of place: whether an empty one could meet it

    @staticmethod
    def least(asked: SplitDemand, lasting: Pairs | None) -> dict[str, int]:
        """What has to be free: of an actor that keeps less than it asks, what it keeps."""
        needs = asked.needs()
        return needs if lasting is None else {**needs, **dict.fromkeys(dict(asked.pooled), 0), **dict(lasting)}

    @property
    def is_waited_for(self) -> bool:
        """Whether a task waits that may take this choice."""
        return any(shape.size for shape in self.shapes)

    def could_use(self, place: Place) -> bool:
        """Whether the place could meet it if nobody held anything."""
        fits = self.fits.get(place.kind)
        if fits is None:
            fits = self.fits[place.kind] = place.lacks_for_ever(self.asked) is None
        return fits

    @property
    def has_places(self) -> bool:
        """Whether any place could ever meet it."""
        return any(self.could_use(next(iter(alike))) for alike in self.order.kinds.values())

    def wants(self, place: Place) -> bool:
        """Whether it is to be tried there again: it is exhausted, may use the place, and has it not on offer."""
        return self.exhausted and place in self.order.entries and place not in self.offers and self.could_use(place)


class PlacementBook:
    """All places, all placeable choices, and the shapes that may be able to start now."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, Place] = {}
        self.bundles: dict[bytes, dict[int, Place]] = {}  # group -> bundle index -> place
        self.commons: dict[bytes, dict[bytes, Place]] = {}  # group -> node -> all its bundles there, as one place
        self.asks: dict[tuple[Choice, Pairs | None], PlaceableChoice] = {}
        self.woken: dict[Shape, None] = {}
        self.freed_any = False  # something came back since pending groups were last tried
        self.groups_wait = False  # a placement group waits for room: nobody holds on to more than it runs
        self.may_come: dict[str, tuple[Place, int]] = {}  # node type -> an empty node, how many there may ever be
        self.stirred = False  # work waits, or a node that was asked for has become empty
        self.emptied: dict[Place, None] = {}  # such nodes
        self.device_resources = DEVICE_RESOURCES
        self.cpus = 0  # of all nodes
        self.refusals = Refusals(self.woken)
        self._orders: dict[object, PlaceOrder] = {}
        self._kinds: dict[tuple[object, ...], int] = {}
        self._most_asks = MAX_ASKS
        self._most_kinds = MAX_KINDS
        self._order = count()
        self._number = count()
        self._turn = count(1)

    # --- asks -----------------------------------------------------------------------------------------------------

    def asks_for(self, choices: tuple[Choice, ...], lasting: Pairs | None) -> tuple[PlaceableChoice, ...]:
        """The asks of a line, whose actors keep so much of its first choice."""
        return tuple(self.ask_for(choice, None if index else lasting) for index, choice in enumerate(choices))

    def ask_for(self, choice: Choice, lasting: Pairs | None = None) -> PlaceableChoice:
        ask = self.asks.get((choice, lasting))
        if ask is None:
            if len(self.asks) >= self._most_asks:
                self._forget_unused()
                self._most_asks = max(MAX_ASKS, 2 * len(self.asks))
            asked = SplitDemand.of(choice, self.device_resources)
            needs, order = PlaceableChoice.least(asked, lasting), self._order_for(choice, asked)
            ask = self.asks[choice, lasting] = PlaceableChoice(choice, asked, needs, order, lasting)
            ask.order.asks[ask] = None
        return ask

    def _order_for(self, choice: Choice, asked: SplitDemand, turns: dict[Place, int] | None = None) -> PlaceOrder:
        """The order of the places that this choice may use; only those that may go anywhere share one."""
        key = _order_key(choice, asked)
        order = self._orders.get(key)
        if order is None:
            places = list(self._of_strategy(choice))
            for place in places:
                self._name_kind(place)
            order = self._orders[key] = PlaceOrder(choice.placement, asked, places, turns)
        return order

    def _name_kind(self, place: Place) -> None:
        if place.kind < 0:
            number = next(self._number)
            of_group = place.group_id is not None  # groups come and go: nothing of theirs is kept
            place.kind = number if of_group else self._kinds.setdefault(place.kind_facts(), number)
            if len(self._kinds) > self._most_kinds:
                self._forget_kinds()

    def _forget_kinds(self) -> None:
        """Nodes come and go, and no two may have the same amount of memory."""
        here = {place.kind for place in self.nodes.values()}
        self._kinds = {facts: kind for facts, kind in self._kinds.items() if kind in here}
        for ask in self.asks.values():
            ask.fits = {kind: fits for kind, fits in ask.fits.items() if kind in ask.order.kinds}
        self._most_kinds = max(MAX_KINDS, 2 * len(self._kinds))

    def _close(self, ask: PlaceableChoice) -> None:
        self.refusals.forget(ask)
        ask.fits = {}
        order = ask.order
        del order.asks[ask]
        if not order.asks:
            order.end()
            del self._orders[_order_key(ask.choice, ask.asked)]

    def reopen(self, asks: Iterable[PlaceableChoice]) -> None:
        """Look at all places again, after the set of places changed."""
        asks = list(asks)
        for ask in asks:
            self._close(ask)
        for ask in asks:
            ask.asked = SplitDemand.of(ask.choice, self.device_resources)
            ask.needs = PlaceableChoice.least(ask.asked, ask.lasting)
            ask.order = self._order_for(ask.choice, ask.asked, ask.order.turns)
            ask.order.asks[ask] = None
            self.refusals.wake(ask)

    def reopen_all(self) -> None:
        """Look at everything again, after what places have in total changed."""
        for group in self.bundles.keys() | self.commons.keys():
            for place in (*self.bundles.get(group, {}).values(), *self.commons.get(group, {}).values()):
                place.kind = -1
        for place in self.nodes.values():
            place.kind = -1
        self.reopen(self.asks.values())

    def _forget_unused(self) -> None:
        for key, ask in list(self.asks.items()):
            if not ask.shapes:
                self._close(ask)
                del self.asks[key]

    def eligible(self, choice: Choice) -> Iterator[Place]:
        """The places that this choice may use, whatever resources they have."""
        placement = choice.placement
        for place in self._of_strategy(choice):
            if place.meets(placement.labels):
                yield place

    def _of_strategy(self, choice: Choice) -> list[Place]:
        placement = choice.placement
        if placement.strategy == "GROUP":
            group_id = placement.group_id or b""
            if placement.bundle == -1:
                return list(self.commons.get(group_id, {}).values())
            bundle = self.bundles.get(group_id, {}).get(placement.bundle)
            return [bundle] if bundle is not None else []
        nodes = self.staying() if self.may_come else list(self.nodes.values())
        if placement.strategy != "NODE":
            return nodes
        wanted = [place for place in nodes if place.node_id == placement.node_id]
        if not placement.soft:
            return wanted
        asked = SplitDemand.of(choice, self.device_resources)
        able = [p for p in wanted if p.lacks_for_ever(asked) is None and p.meets(placement.labels)]
        return able or nodes

    def someone_may_start(self) -> bool:
        """Whether a line is to be looked at again."""
        return bool(self.woken) or self.refusals.someone_waits()

    # --- taking and giving back -----------------------------------------------------------------------------------

    def take(self, ask: PlaceableChoice, owner: Any, now: float) -> Hold | None:
        """A hold on the best place that fits; None when there is none now, and the ask then waits to be woken."""
        if ask.exhausted:
            hold = self._take_offered(ask, owner, now) if ask.offers else None
        else:
            hold = ask.order.take(ask, owner, now)
            if hold is None:
                self.refusals.exhaust(ask)
        if hold is not None and ask.choice.placement.strategy == "SPREAD":
            ask.order.used(hold.place, next(self._turn))
        return hold

    def _take_offered(self, ask: PlaceableChoice, owner: Any, now: float) -> Hold | None:
        """A hold on the best of the places on offer; those that have no room are on offer no more."""
        order, offers = ask.order, ask.offers
        places = list(offers)
        if len(places) > 1:
            places = [entry[4] for entry in sorted(order.entry_of(place) for place in places)]
        for place in places:
            if place in order.entries:
                got = place.take(ask.asked, owner, now)
                if isinstance(got, Hold):
                    return got
            del offers[place]
        return None

    def take_lasting(self, ask: PlaceableChoice, lasting: Pairs, owner: Any, now: float) -> Hold | None:
        """A hold on what an actor keeps once it is placed, where all that it asks could be met some day.

        An actor that holds no CPU asks for one to be placed, which says which nodes will do: on a busy node it starts
        all the same, as in Ray.
        """
        asked = msgspec.structs.replace(ask.asked, pooled=lasting)
        for entry in sorted(ask.order.entry_of(place) for place in ask.order.entries if ask.could_use(place)):
            got = entry[4].take(asked, owner, now)
            if isinstance(got, Hold):
                return got
        return None

    def give_pooled(self, hold: Hold) -> None:
        """CPU, memory and the like come back at once; devices only when their process is gone."""
        place, free = hold.place, hold.place.free
        if hold.lent:
            free["CPU"] -= hold.lent
            hold.lent = 0
        pooled, hold.pooled = hold.pooled, ()
        for name, amount in pooled:
            free[name] += amount
        for name, _ in pooled:
            self._freed(place, name)
        self._settle(hold)
        if hold.in_commons is not None:
            self.give_pooled(hold.in_commons)

    def shrink(self, hold: Hold, lasting: tuple[tuple[str, int], ...]) -> None:
        """Keeps of the pooled resources only what `lasting` names; the devices stay."""
        keep = dict(lasting)
        pooled = hold.pooled
        hold.pooled = tuple((n, min(a, keep.get(n, 0))) for n, a in pooled if keep.get(n, 0))
        kept = dict(hold.pooled)
        for name, amount in pooled:
            hold.place.free[name] += amount - kept.get(name, 0)
            self._freed(hold.place, name)
        if hold.lent:  # a blocked constructor cannot return, but its thread may still wait
            back = hold.lent - min(hold.lent, kept.get("CPU", 0))
            hold.place.free["CPU"] -= back
            hold.lent -= back
        self._settle(hold)
        if hold.in_commons is not None:
            self.shrink(hold.in_commons, lasting)

    def give_devices(self, hold: Hold) -> None:
        parts, hold.parts, hold.devices = hold.parts, [], NO_DEVICES
        for device, amount in parts:
            device.used -= amount
            del device.holds[hold]
        for device, _ in parts:
            self.device_freed(hold.place, device)
        self._settle(hold)
        if hold.in_commons is not None:
            self.give_devices(hold.in_commons)

    def give_all(self, hold: Hold) -> None:
        self.give_pooled(hold)
        self.give_devices(hold)
        hold.place.holds.pop(hold, None)
        if hold.place.node_type and not hold.place.holds:
            self.emptied[hold.place] = None
        if hold.in_commons is not None:
            hold.in_commons.place.holds.pop(hold.in_commons, None)
        self._give_bundles(hold.place.commons or hold.place)

    def _settle(self, hold: Hold) -> None:
        hold.place.version += 1
        _may_be_better(hold.place)

    def lend_cpu(self, hold: Hold) -> None:
        """Give the CPU of a blocked worker to others."""
        amount = dict(hold.pooled).get("CPU", 0)
        if amount and not hold.lent:
            hold.lent = amount
            hold.place.free["CPU"] += amount
            self._freed(hold.place, "CPU")
            self._settle(hold)
            if hold.in_commons is not None:
                self.lend_cpu(hold.in_commons)

    def reclaim_cpu(self, hold: Hold) -> None:
        """It takes it back at once: free CPU may go below zero, and nothing starts before it is above again."""
        hold.place.free["CPU"] = hold.place.free.get("CPU", 0) - hold.lent
        hold.place.version += 1
        hold.lent = 0
        if hold.in_commons is not None:
            self.reclaim_cpu(hold.in_commons)

    def _freed(self, place: Place, name: str) -> None:
        self.freed_any = True
        if place.commons is None:  # what a bundle gets back, its commons get back next
            for each in (place, *place.bundles):
                self.refusals.came_back(each)

    def device_freed(self, place: Place, device: LedgerDevice) -> None:
        """Some of a device came back, or others leave us more of it."""
        place.version += 1
        _may_be_better(place)
        self._freed(place, device.spec.resource)
        if device.base is None and place.group_id is None:
            for commons in self.commons.values():
                if place.node_id in commons:
                    _may_be_better(commons[place.node_id])
                    self._freed(commons[place.node_id], device.spec.resource)

    # --- nodes and bundles ----------------------------------------------------------------------------------------

    def add_node(self, spec: NodeSpec) -> Place:
        place = self.nodes[spec.node_id] = Place.of(spec, -1 if spec.is_head else next(self._order))
        self.cpus += place.totals.get("CPU", 0)
        news = set(place.devices) - self.device_resources
        if news:
            self.device_resources = self.device_resources | news
            self.reopen_all()
        else:
            self._announce(place)
        self.freed_any = True
        return place

    def _announce(self, place: Place) -> None:
        """Whoever may use this place looks at it; whoever had no hope before hears of it, too."""
        self._name_kind(place)
        for order in list(self._orders.values()):
            strategy = order.placement.strategy
            if strategy == "NODE":
                self.reopen(order.asks)
            elif strategy != "GROUP" and order.may_have(place) and order.add(place):
                for ask in order.asks:
                    if ask.could_use(place):
                        self.refusals.wake(ask)
        self.refusals.came_back(place)

    def remove_node(self, node_id: bytes) -> Place:
        place = self.nodes.pop(node_id)
        self.cpus -= place.totals.get("CPU", 0)
        self.withdraw(place)
        return place

    def could_come(self, ask: PlaceableChoice) -> bool:
        """Whether a node that may still come could meet the demand."""
        placement = ask.choice.placement
        if not self.may_come or placement.strategy == "GROUP" or (placement.strategy == "NODE" and not placement.soft):
            return False
        return any(
            empty.meets(placement.labels) and empty.lacks_for_ever(ask.asked) is None
            for empty, _most in self.may_come.values()
        )

    def reconsider(self) -> None:
        """Those whom no node here can ever meet are looked at again: other nodes may come than before."""
        for ask in self.asks.values():
            if not ask.has_places:
                self.refusals.wake(ask)

    def nodes_that_may_come(self, most: int) -> list[Place]:
        """Empty nodes of each type, at most so many, with ids that no node has."""
        nodes = []
        for name, (empty, number) in self.may_come.items():
            for index in range(min(most, number)):
                node = empty.emptied()
                node.node_id = f"may come: {name} {index}".encode()
                nodes.append(node)
        return nodes

    def staying(self) -> list[Place]:
        """The nodes on which something can be placed."""
        return [node for node in self.nodes.values() if not node.leaving]

    def sends_away(self, place: Place) -> None:
        """A node is to leave: it gets no more work."""
        place.leaving = True
        self.withdraw(place)

    def keeps(self, place: Place) -> None:
        """A node that was to leave stays."""
        place.leaving, place.alive = False, True
        self._announce(place)
        self.freed_any = True

    def withdraw(self, place: Place) -> None:
        """No ask may use this place any more; those who only hope for it are looked at again."""
        place.alive = False
        for order in list(place.orders):
            if order.placement.strategy == "NODE":
                self.reopen(order.asks)
            elif order.remove(place):
                for ask in order.asks:
                    if not ask.has_places:
                        self.refusals.wake(ask)
        self.refusals.gone(place)

    def add_bundle(self, group_id: bytes, place: Place) -> None:
        self.bundles.setdefault(group_id, {})[place.bundle] = place
        commons = self.commons.setdefault(group_id, {})
        if place.node_id not in commons:
            commons[place.node_id] = place.empty_commons(self.nodes[place.node_id].order)
        commons[place.node_id].join(place)
        commons[place.node_id].kind = -1

    def asks_of_group(self, group_id: bytes) -> list[PlaceableChoice]:
        return [ask for ask in self.asks.values() if ask.choice.placement.group_id == group_id]

    def close_bundles(self, group_id: bytes, node_id: bytes) -> None:
        """The bundles of a group on a node end; each goes back to the node as soon as nobody can hold any of it."""
        commons = self.commons.get(group_id, {}).pop(node_id, None)
        if commons is None:
            return
        for place in commons.bundles:
            self.bundles[group_id].pop(place.bundle, None)
            self.withdraw(place)
        self.withdraw(commons)
        commons.closing = True
        self._give_bundles(commons)

    def _give_bundles(self, commons: Place) -> None:
        """Who has named no bundle may hold some of any."""
        if not commons.closing or not all(hold.is_copy for hold in commons.holds):
            return
        unused = [bundle for bundle in commons.bundles if not bundle.holds]
        commons.bundles = [bundle for bundle in commons.bundles if bundle.holds]
        for bundle in unused:
            if bundle.reserve is not None:
                self.give_all(bundle.reserve)


def _may_be_better(place: Place) -> None:
    """Something came back: the place may belong further forward in its orders."""
    for order in place.orders:
        order.freed[place] = None


def _order_key(choice: Choice, asked: SplitDemand) -> object:
    """Choices with the same key may use the same places in the same order."""
    placement = choice.placement
    if placement.strategy != "DEFAULT":
        return choice  # it looks at few places, or has turns of its own
    return placement, tuple(name for name, _ in asked.devices), tuple(name for name, _ in asked.pooled)
