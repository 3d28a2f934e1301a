"""Chooses the place for work: Ray's hybrid order, made deterministic.

A `PlaceableChoice` is one choice with the places that could ever meet it, the best one first. Once none of them has
room for it, it is *exhausted*: it looks at no place before something comes back there, and is then offered that place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.quantities import DEVICE_RESOURCES
from nbaccel.scheduling.events import NodeSpec
from nbaccel.scheduling.ledger import NO_DEVICES, Hold, LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.terms import Choice, Pairs

if TYPE_CHECKING:
    from nbaccel.scheduling.tasks import Shape

MAX_REQUESTS = 1024  # beyond this, choices that nobody waits for are forgotten
# Below this share in use, nodes are filled in their order; above it, the least used one is next.
SPREAD_THRESHOLD = 0.5

Entry = tuple[int, float, int, int, Place]  # penalty, score, order, the version of the place then, the place


class PlaceableChoice(msgspec.Struct, eq=False):
    """One choice with its split demand and the places that it may use."""

    choice: Choice
    asked: SplitDemand
    needs: dict[str, int]  # of each resource, devices first: with less than this nobody who asks it can start
    lasting: Pairs | None = None  # of actors that start where there is room for what they keep; see `take_lasting`
    shapes: dict[Shape, None] = {}
    places: dict[Place, Entry] = {}  # those that could meet it if nobody held anything, sorted as they were last
    turns: dict[Place, int] = {}  # SPREAD: who was used when
    exhausted: bool = False  # no place has room for it, but for those on offer, perhaps
    offers: dict[Place, None] = {}  # of an exhausted one: places that got something back since it was tried there

    @staticmethod
    def of(choice: Choice, lasting: Pairs | None, device_resources: frozenset[str]) -> PlaceableChoice:
        """The choice, before it knows any place. It needs of an actor that keeps less than it asks what it keeps."""
        asked = SplitDemand.of(choice, device_resources)
        needs = asked.needs()
        if lasting is not None:
            needs = {**needs, **dict.fromkeys(dict(asked.pooled), 0), **dict(lasting)}
        return PlaceableChoice(choice, asked, needs, lasting)

    @property
    def is_waited_for(self) -> bool:
        """Whether a task waits that may take this choice."""
        return any(shape.size for shape in self.shapes)

    @property
    def has_places(self) -> bool:
        """Whether any place could ever meet it."""
        return bool(self.places)

    def add(self, place: Place) -> bool:
        """One more place. Returns whether it could meet the demand if nobody held anything there."""
        could = place.meets(self.choice.placement.labels) and place.lacks_for_ever(self.asked) is None
        if could:
            self.places[place] = (0, 0.0, 0, -1, place)  # `in_order` finds its entry
        return could

    def remove(self, place: Place) -> bool:
        """The place may not be used any more. Returns whether it was the last one."""
        known = self.places.pop(place, None)
        self.offers.pop(place, None)
        self.turns.pop(place, None)
        return known is not None and not self.places

    def entry_of(self, place: Place) -> Entry:
        """Where the place belongs now."""
        placement = self.choice.placement
        if placement.strategy == "SPREAD":
            score = float(self.turns.get(place, 0))
        else:
            share = place.utilisation(self.asked)
            score = share if share >= SPREAD_THRESHOLD else 0.0
        misses = bool(placement.soft_labels) and not place.meets(placement.soft_labels)
        wasteful = not self.asked.devices and place.has_accelerators and placement.strategy == "DEFAULT"
        return (2 * misses + wasteful, score, place.order, place.version, place)

    def in_order(self) -> list[Place]:
        """The places that it may use, the best one first."""
        places = self.places
        if len(places) > 1:
            changed = [place for place, entry in places.items() if entry[3] != place.version]
            for place in changed:
                places[place] = self.entry_of(place)
            if changed:
                self.places = places = {entry[4]: entry for entry in sorted(places.values())}
        return list(places)

    def lacks(self, left: dict[str, int]) -> list[str]:
        """The resources of which less than it needs is left."""
        return [name for name, need in self.needs.items() if need > left.get(name, 0)]


class PlacementBook:
    """All places, all placeable choices, and the shapes that may be able to start now."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, Place] = {}
        self.bundles: dict[bytes, dict[int, Place]] = {}  # group -> bundle index -> place
        self.commons: dict[bytes, dict[bytes, Place]] = {}  # group -> node -> all its bundles there, as one place
        self.requests: dict[tuple[Choice, Pairs | None], PlaceableChoice] = {}
        self.woken: dict[Shape, None] = {}
        self.freed_any = False  # something came back since pending groups were last tried
        self.groups_wait = False  # a placement group waits for room: nobody holds on to more than it runs
        self.may_come: dict[str, tuple[Place, int]] = {}  # node type -> an empty node, how many there may ever be
        self.stirred = False  # work waits, or a node that was asked for has become empty
        self.emptied: dict[Place, None] = {}  # such nodes
        self.device_resources = DEVICE_RESOURCES
        self.cpus = 0  # of all nodes
        self.exhausted: dict[PlaceableChoice, None] = {}
        self.freed: dict[Place, None] = {}  # something came back there, and no exhausted choice was offered it yet
        self._most_requests = MAX_REQUESTS
        self._order = count()
        self._turn = count(1)

    # --- asks -----------------------------------------------------------------------------------------------------

    def asks_for(self, choices: tuple[Choice, ...], lasting: Pairs | None) -> tuple[PlaceableChoice, ...]:
        """The asks of a line, whose actors keep so much of its first choice."""
        return tuple(self.ask_for(choice, None if index else lasting) for index, choice in enumerate(choices))

    def ask_for(self, choice: Choice, lasting: Pairs | None = None) -> PlaceableChoice:
        request = self.requests.get((choice, lasting))
        if request is None:
            if len(self.requests) >= self._most_requests:
                self._forget_unused()
                self._most_requests = max(MAX_REQUESTS, 2 * len(self.requests))
            request = self.requests[choice, lasting] = PlaceableChoice.of(choice, lasting, self.device_resources)
            self._find_places(request)
        return request

    def _find_places(self, request: PlaceableChoice) -> None:
        for place in self._of_strategy(request.choice):
            request.add(place)

    def _no_longer_blocked(self, request: PlaceableChoice) -> None:
        """The choice looks at all of its places again."""
        request.exhausted, request.offers = False, {}
        self.exhausted.pop(request, None)

    def reopen(self, requests: Iterable[PlaceableChoice]) -> None:
        """Look at all places again, after the set of places changed."""
        for request in list(requests):
            self._no_longer_blocked(request)
            fresh = PlaceableChoice.of(request.choice, request.lasting, self.device_resources)
            request.asked, request.needs, request.places = fresh.asked, fresh.needs, {}
            self._find_places(request)
            self.wake(request)

    def reopen_all(self) -> None:
        """Look at everything again, after what places have in total changed."""
        self.reopen(self.requests.values())

    def _forget_unused(self) -> None:
        for key, request in list(self.requests.items()):
            if not request.shapes:
                self._no_longer_blocked(request)
                del self.requests[key]

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

    # --- who looks again ------------------------------------------------------------------------------------------

    def wake(self, request: PlaceableChoice) -> None:
        """Its lines are to be tried."""
        for shape in request.shapes:
            if shape.size:
                self.woken[shape] = None

    def offer_freed(self) -> None:
        """Offer the places to which something came back to those who found no room and may fit there now."""
        freed, self.freed = self.freed, {}
        for place in freed:
            left = place.amounts_left()
            for request in self.exhausted:
                if place in request.places and place not in request.offers and not request.lacks(left):
                    request.offers[place] = None
                    self.wake(request)

    def someone_may_start(self) -> bool:
        """Whether a line is to be looked at again."""
        self.offer_freed()
        return bool(self.woken)

    def others_wait_for(self, shape: Shape, place: Place, names: set[str]) -> bool:
        """Whether another line waits for some of these resources there, and for nothing else."""
        left: dict[str, int] = {}
        for request in self.exhausted:
            if place in request.places and any(other.size and other is not shape for other in request.shapes):
                left = left or place.amounts_left()
                lacks = request.lacks(left)
                if lacks and names.issuperset(lacks):
                    return True
        return False

    # --- taking and giving back -----------------------------------------------------------------------------------

    def take(self, request: PlaceableChoice, owner: Any, now: float) -> Hold | None:
        """A hold on the best place that fits; None when there is none now, and the request then waits to be woken."""
        for place in sorted(request.offers, key=request.entry_of) if request.exhausted else request.in_order():
            got = place.take(request.asked, owner, now)
            if isinstance(got, Hold):
                if request.choice.placement.strategy == "SPREAD":
                    request.turns[place] = next(self._turn)
                return got
            request.offers.pop(place, None)
        request.exhausted = True
        self.exhausted[request] = None
        return None

    def take_lasting(self, request: PlaceableChoice, lasting: Pairs, owner: Any, now: float) -> Hold | None:
        """A hold on what an actor keeps once it is placed, where all that it asks could be met some day.

        An actor that holds no CPU asks for one to be placed, which says which nodes will do: on a busy node it starts
        all the same, as in Ray.
        """
        asked = msgspec.structs.replace(request.asked, pooled=lasting)
        for place in request.in_order():
            got = place.take(asked, owner, now)
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
        if pooled:
            self._freed(place)
        hold.place.version += 1
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
            self._freed(hold.place)
        if hold.lent:  # a blocked constructor cannot return, but its thread may still wait
            back = hold.lent - min(hold.lent, kept.get("CPU", 0))
            hold.place.free["CPU"] -= back
            hold.lent -= back
        hold.place.version += 1
        if hold.in_commons is not None:
            self.shrink(hold.in_commons, lasting)

    def give_devices(self, hold: Hold) -> None:
        parts, hold.parts, hold.devices = hold.parts, [], NO_DEVICES
        for device, amount in parts:
            device.used -= amount
            del device.holds[hold]
        for device, _ in parts:
            self.device_freed(hold.place, device)
        hold.place.version += 1
        if hold.in_commons is not None:
            self.give_devices(hold.in_commons)

    def give_all(self, hold: Hold) -> None:
        self.give_pooled(hold)
        if hold.parts:
            self.give_devices(hold)
        hold.place.holds.pop(hold, None)
        if hold.place.node_type and not hold.place.holds:
            self.emptied[hold.place] = None
        if hold.in_commons is not None:
            hold.in_commons.place.holds.pop(hold.in_commons, None)
        commons = hold.place.commons or hold.place
        if commons.closing:
            self._give_bundles(commons)

    def lend_cpu(self, hold: Hold) -> None:
        """Give the CPU of a blocked worker to others."""
        amount = dict(hold.pooled).get("CPU", 0)
        if amount and not hold.lent:
            hold.lent = amount
            hold.place.free["CPU"] += amount
            self._freed(hold.place)
            hold.place.version += 1
            if hold.in_commons is not None:
                self.lend_cpu(hold.in_commons)

    def reclaim_cpu(self, hold: Hold) -> None:
        """It takes it back at once: free CPU may go below zero, and nothing starts before it is above again."""
        hold.place.free["CPU"] = hold.place.free.get("CPU", 0) - hold.lent
        hold.place.version += 1
        hold.lent = 0
        if hold.in_commons is not None:
            self.reclaim_cpu(hold.in_commons)

    def _freed(self, place: Place) -> None:
        self.freed_any = True
        if self.exhausted and place.commons is None:  # what a bundle gets back, its commons get back next
            self.freed[place] = None
            for bundle in place.bundles:
                self.freed[bundle] = None

    def device_freed(self, place: Place, device: LedgerDevice) -> None:
        """Some of a device came back, or others leave us more of it."""
        place.version += 1
        self._freed(place)
        if device.base is None and place.group_id is None:
            for commons in self.commons.values():
                if place.node_id in commons:
                    self._freed(commons[place.node_id])

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
        for request in list(self.requests.values()):
            strategy = request.choice.placement.strategy
            if strategy == "NODE":
                self.reopen([request])
            elif strategy != "GROUP" and request.add(place):
                self.wake(request)
        self._freed(place)

    def remove_node(self, node_id: bytes) -> Place:
        place = self.nodes.pop(node_id)
        self.cpus -= place.totals.get("CPU", 0)
        self.withdraw(place)
        return place

    def could_come(self, request: PlaceableChoice) -> bool:
        """Whether a node that may still come could meet the demand."""
        placement = request.choice.placement
        if not self.may_come or placement.strategy == "GROUP" or (placement.strategy == "NODE" and not placement.soft):
            return False
        return any(
            empty.meets(placement.labels) and empty.lacks_for_ever(request.asked) is None
            for empty, _most in self.may_come.values()
        )

    def reconsider(self) -> None:
        """Those whom no node here can ever meet are looked at again: other nodes may come than before."""
        for request in self.requests.values():
            if not request.has_places:
                self.wake(request)

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
        """No request may use this place any more; those who only hope for it are looked at again."""
        place.alive = False
        for request in list(self.requests.values()):
            if request.choice.placement.strategy == "NODE":
                self.reopen([request])
            elif request.remove(place):
                self.wake(request)
        self.freed.pop(place, None)

    def add_bundle(self, group_id: bytes, place: Place) -> None:
        self.bundles.setdefault(group_id, {})[place.bundle] = place
        commons = self.commons.setdefault(group_id, {})
        if place.node_id not in commons:
            commons[place.node_id] = place.empty_commons(self.nodes[place.node_id].order)
        commons[place.node_id].join(place)

    def asks_of_group(self, group_id: bytes) -> list[PlaceableChoice]:
        return [request for request in self.requests.values() if request.choice.placement.group_id == group_id]

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
