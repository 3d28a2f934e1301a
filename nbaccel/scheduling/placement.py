"""Chooses the place for work: Ray's hybrid order, made deterministic, at a cost that does not grow with the nodes.

A `PlaceableChoice` is one choice together with the places that could ever meet it. Each of these places is either in
the choice's heap (it may fit; the best is on top) or among those who were refused at the place (it cannot fit before
something comes back there, see `refusals`). Heap entries are corrected when they reach the top, or when a place
that had sunk gives back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from nbaccel.quantities import DEVICE_RESOURCES
from nbaccel.scheduling.events import NodeSpec
from nbaccel.scheduling.ledger import NO_DEVICES, Hold, LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.refusals import Refusals
from nbaccel.scheduling.terms import Choice

if TYPE_CHECKING:
    from nbaccel.scheduling.tasks import Shape

# Below this share in use, nodes are filled in their order; above it, the least used one is next.
SPREAD_THRESHOLD = 0.5
MAX_ASKS = 1024  # beyond this, choices that nobody waits for are forgotten

Entry = tuple[int, float, int, Place]  # penalty, score, order, place


class PlaceableChoice(msgspec.Struct, eq=False):
    """One choice with its split demand and the places that could ever meet it."""

    choice: Choice
    asked: SplitDemand
    needs: dict[str, int]  # of each resource, devices first
    places: dict[Place, None] = {}
    heap: list[Entry] = []
    entries: dict[Place, Entry] = {}  # the valid one of each place in the heap
    turns: dict[Place, int] = {}  # SPREAD: who came when
    shapes: dict[Shape, None] = {}
    refusals: int = 0  # so many places are refused to it

    @property
    def is_waited_for(self) -> bool:
        """Whether a task waits that may take this choice."""
        return any(shape.size for shape in self.shapes)


class PlacementBook:
    """All places, all placeable choices, and the shapes that may be able to start now."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, Place] = {}
        self.bundles: dict[bytes, dict[int, Place]] = {}  # group -> bundle index -> place
        self.commons: dict[bytes, dict[bytes, Place]] = {}  # group -> node -> all its bundles there, as one place
        self.asks: dict[Choice, PlaceableChoice] = {}
        self.woken: dict[Shape, None] = {}
        self.freed_any = False  # something came back since pending groups were last tried
        self.groups_wait = False  # a placement group waits for room: nobody holds on to more than it runs
        self.may_come: dict[str, tuple[Place, int]] = {}  # node type -> an empty node, how many there may ever be
        self.stirred = False  # work waits, or a node that was asked for has become empty
        self.emptied: dict[Place, None] = {}  # such nodes
        self.device_resources = DEVICE_RESOURCES
        self.cpus = 0  # of all nodes
        self.refusals = Refusals(self._offer_and_wake)
        self._most_asks = MAX_ASKS
        self._order = count()
        self._turn = count(1)

    # --- asks -----------------------------------------------------------------------------------------------------

    def ask_for(self, choice: Choice) -> PlaceableChoice:
        ask = self.asks.get(choice)
        if ask is None:
            if len(self.asks) >= self._most_asks:
                self._forget_unused()
                self._most_asks = max(MAX_ASKS, 2 * len(self.asks))
            asked = SplitDemand.of(choice, self.device_resources)
            ask = self.asks[choice] = PlaceableChoice(choice, asked, asked.needs())
            self._open(ask)
        return ask

    def _open(self, ask: PlaceableChoice) -> None:
        for place in self.eligible(ask.choice):
            if place.lacks_for_ever(ask.asked) is None:
                ask.places[place] = None
        for place in ask.places:
            self._offer(ask, place)

    def _close(self, ask: PlaceableChoice) -> None:
        for place in ask.places:
            self.refusals.remove(ask, place)
            place.demoted.pop(ask, None)
        ask.places, ask.heap, ask.entries = {}, [], {}

    def reopen(self, asks: Iterable[PlaceableChoice]) -> None:
        """Looks at all places again, after the set of places or what they have in total changed."""
        for ask in list(asks):
            self._close(ask)
            ask.asked = SplitDemand.of(ask.choice, self.device_resources)
            ask.needs = ask.asked.needs()
            self._open(ask)
            self._wake(ask)

    def _forget_unused(self) -> None:
        for choice, ask in list(self.asks.items()):
            if not ask.shapes:
                self._close(ask)
                del self.asks[choice]

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

    # --- order of places ------------------------------------------------------------------------------------------

    def _entry(self, ask: PlaceableChoice, place: Place) -> Entry:
        if len(ask.places) == 1:
            return (0, 0.0, place.order, place)
        placement = ask.choice.placement
        if placement.strategy == "SPREAD":
            return (self._penalty(ask, place), float(ask.turns.get(place, 0)), place.order, place)
        used = place.utilisation(ask.asked)
        return (self._penalty(ask, place), used if used >= SPREAD_THRESHOLD else 0.0, place.order, place)

    def _penalty(self, ask: PlaceableChoice, place: Place) -> int:
        placement = ask.choice.placement
        misses = bool(placement.soft_labels) and not place.meets(placement.soft_labels)
        wasteful = not ask.asked.devices and place.has_accelerators and placement.strategy == "DEFAULT"
        return 2 * misses + wasteful

    def _offer(self, ask: PlaceableChoice, place: Place) -> None:
        entry = self._entry(ask, place)
        ask.entries[place] = entry
        heappush(ask.heap, entry)
        if entry[1]:
            place.demoted[ask] = None

    def _offer_and_wake(self, ask: PlaceableChoice, place: Place) -> None:
        self._offer(ask, place)
        self._wake(ask)

    def _wake(self, ask: PlaceableChoice) -> None:
        for shape in ask.shapes:
            if shape.size:
                self.woken[shape] = None

    def someone_may_start(self) -> bool:
        """Whether a line is to be looked at again."""
        return bool(self.woken) or self.refusals.someone_waits()

    # --- taking and giving back -----------------------------------------------------------------------------------

    def take(self, ask: PlaceableChoice, owner: Any, now: float) -> Hold | None:
        """A hold on the best place that fits; None when there is none now, and the ask then waits to be woken."""
        heap, entries = ask.heap, ask.entries
        while heap:
            entry = heap[0]
            place = entry[3]
            if entries.get(place) is not entry:
                heappop(heap)
                continue
            if len(ask.places) > 1 and self._sank(ask, entry):
                continue
            got = place.take(ask.asked, owner, now)
            if isinstance(got, Hold):
                if ask.choice.placement.strategy == "SPREAD":
                    ask.turns[place] = next(self._turn)
                return got
            heappop(heap)
            del entries[place]
            place.demoted.pop(ask, None)
            self.refusals.add(ask, place)
        return None

    def take_lasting(
        self, ask: PlaceableChoice, lasting: tuple[tuple[str, int], ...], owner: Any, now: float
    ) -> Hold | None:
        """A hold on what an actor keeps once it is placed, where all that it asks could be met some day.

        An actor that holds no CPU asks for one to be placed, which says which nodes will do: on a busy node it starts
        all the same, as in Ray.
        """
        asked = msgspec.structs.replace(ask.asked, pooled=lasting)
        for entry in sorted(self._entry(ask, place) for place in ask.places):
            got = entry[3].take(asked, owner, now)
            if isinstance(got, Hold):
                return got
        return None

    def _sank(self, ask: PlaceableChoice, entry: Entry) -> bool:
        """Whether the top entry no longer belongs there; it has then been moved to where it does."""
        place = entry[3]
        fresh = self._entry(ask, place)
        if fresh[:3] <= entry[:3]:
            return False
        heapreplace(ask.heap, fresh)
        ask.entries[place] = fresh
        place.demoted[ask] = None
        return True

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
        if hold.place.demoted:
            self._promote(hold.place)

    def lend_cpu(self, hold: Hold) -> None:
        """Give the CPU of a blocked worker to others."""
        amount = dict(hold.pooled).get("CPU", 0)
        if amount and not hold.lent:
            hold.lent = amount
            hold.place.free["CPU"] += amount
            self._freed(hold.place, "CPU")
            if hold.in_commons is not None:
                self.lend_cpu(hold.in_commons)

    def reclaim_cpu(self, hold: Hold) -> None:
        """It takes it back at once: free CPU may go below zero, and nothing starts before it is above again."""
        hold.place.free["CPU"] = hold.place.free.get("CPU", 0) - hold.lent
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
        self._freed(place, device.spec.resource)
        if device.base is None and place.group_id is None:
            for commons in self.commons.values():
                if place.node_id in commons:
                    self._freed(commons[place.node_id], device.spec.resource)

    def _promote(self, place: Place) -> None:
        used: dict[tuple[str, ...], float] = {}  # by the names of what is asked: most asks have them in common
        for ask in list(place.demoted):
            old = ask.entries.get(place)
            if old is None:
                del place.demoted[ask]
                continue
            if ask.choice.placement.strategy == "SPREAD":
                continue  # its score is the place's turn
            names = tuple(ask.needs)
            if names not in used:
                share = place.utilisation(ask.asked)
                used[names] = share if share >= SPREAD_THRESHOLD else 0.0
            if used[names] < old[1]:
                fresh = ask.entries[place] = (old[0], used[names], old[2], place)
                heappush(ask.heap, fresh)
                if not fresh[1]:
                    del place.demoted[ask]

    # --- nodes and bundles ----------------------------------------------------------------------------------------

    def add_node(self, spec: NodeSpec) -> Place:
        place = self.nodes[spec.node_id] = Place.of(spec, -1 if spec.is_head else next(self._order))
        self.cpus += place.totals.get("CPU", 0)
        news = set(place.devices) - self.device_resources
        if news:
            self.device_resources = self.device_resources | news
            self.reopen(self.asks.values())
        else:
            self._announce(place)
        self.freed_any = True
        return place

    def _announce(self, place: Place) -> None:
        for ask in list(self.asks.values()):
            placement = ask.choice.placement
            if placement.strategy == "GROUP":
                continue
            if placement.strategy == "NODE":
                self.reopen([ask])
            elif place.meets(placement.labels) and place.lacks_for_ever(ask.asked) is None:
                ask.places[place] = None
                self._offer(ask, place)
                self._wake(ask)

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
            if not ask.places:
                self._wake(ask)

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
        for ask in list(self.asks.values()):
            if place not in ask.places:
                continue
            if ask.choice.placement.strategy == "NODE":
                self.reopen([ask])
                continue
            del ask.places[place]
            ask.entries.pop(place, None)
            ask.turns.pop(place, None)
            self._wake(ask)
        self.refusals.clear(place)
        place.demoted = {}

    def add_bundle(self, group_id: bytes, place: Place) -> None:
        self.bundles.setdefault(group_id, {})[place.bundle] = place
        commons = self.commons.setdefault(group_id, {})
        if place.node_id not in commons:
            commons[place.node_id] = place.empty_commons(self.nodes[place.node_id].order)
        commons[place.node_id].join(place)

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
