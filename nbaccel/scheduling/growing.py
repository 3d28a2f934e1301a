"""Decides how many nodes of which type a cluster lacks, and how many of each type it must keep.

```
  request ──► against all nodes, as if they were empty ──┐
  groups  ──► against what is free, and nodes to come ───┼──► GrowthPlan: what to ask for, what must stay
  demands ──► against nodes to come ─────────────────────┘
```
A request is a floor for the cluster: what is here counts, whoever uses it. A waiting task fits no node that is here,
because the dispatcher has just tried, so only nodes that are on their way count for it. Nodes that are alike are one
`Lot`, and equal demands are one `EqualDemands`: the work grows with the number of kinds, not of nodes or tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from nbaccel.scheduling.events import NodeTypeSpec
from nbaccel.scheduling.groups import BundleSearch, GroupRecord, undo
from nbaccel.scheduling.ledger import Hold, LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.terms import Choice, Placement


class Stock(msgspec.Struct):
    """One node type: an empty node of it, how many are here and on their way, and whether one may be asked for now."""

    spec: NodeTypeSpec
    empty: Place
    here: int = 0
    arriving: int = 0
    may_ask: bool = True

    @property
    def accelerators(self) -> int:
        return sum(device.amount for devices in self.empty.devices.values() for device in devices)


class EqualDemands(msgspec.Struct):
    """Equal demands. `fits_here`: a node that is here could meet one of them when it is empty."""

    asked: SplitDemand
    labels: tuple[tuple[str, str], ...]
    count: int
    fits_here: bool = False


class Lot(msgspec.Struct):
    """Nodes that are alike: what each of them has left."""

    place: Place
    count: int
    node_type: str = ""
    used: bool = False  # a demand was put there


class GrowthPlan(msgspec.Struct):
    """What the cluster lacks."""

    asks: dict[str, int] = {}  # node type -> how many nodes to ask for
    needed: dict[str, int] = {}  # node type -> how many nodes of it the request needs, here or to come
    spoken_for: set[Place] = set()  # nodes here on which a waiting group counts
    infeasible: list[EqualDemands] = []  # parts of the request that no node and no type can meet
    short: list[tuple[EqualDemands, int]] = []  # parts for which there may be no more nodes now, and how many of each


class Planner:
    """Makes one plan. It changes no book: what it tries on real nodes is undone."""

    def __init__(self, cluster: PlacementBook, stocks: list[Stock]) -> None:
        self._cluster = cluster
        self._stocks = sorted(stocks, key=_preference)
        self._plan = GrowthPlan({}, {}, set(), [], [])

    def plan(
        self, request: list[EqualDemands], groups: list[GroupRecord], demands: list[EqualDemands], now: float
    ) -> GrowthPlan:
        for stock in self._stocks:
            self._ask(stock, max(0, min(stock.spec.min, stock.spec.max) - stock.here - stock.arriving))
        if request:
            self._meet_request(request)
        to_come = self._nodes_to_come()
        if groups:
            to_come = self._meet_groups(groups, to_come, now)
        for wanted in demands:
            self._meet(wanted, to_come)
        return self._plan

    # --- asking ---------------------------------------------------------------------------------------------------

    def _ask(self, stock: Stock, count: int) -> int:
        """Ask for so many more nodes of a type, or as many as there may be. Returns their number."""
        asked = self._plan.asks.get(stock.spec.name, 0)
        count = min(count, stock.spec.max - stock.here - stock.arriving - asked) if stock.may_ask else 0
        if count > 0:
            self._plan.asks[stock.spec.name] = asked + count
        return max(count, 0)

    def _nodes_to_come(self) -> list[Lot]:
        counts = [(stock, stock.arriving + self._plan.asks.get(stock.spec.name, 0)) for stock in self._stocks]
        return [Lot(clone(stock.empty), count, stock.spec.name) for stock, count in counts if count]

    def _types_for(self, wanted: EqualDemands) -> Iterator[Stock]:
        """The types that can meet the demand, the cheapest first.

        A node with accelerators is asked for work that needs none only where nothing else could ever meet it.
        """
        able = [stock for stock in self._stocks if can_meet(stock.empty, wanted.asked, wanted.labels)]
        plain = [stock for stock in able if not stock.accelerators]
        if wanted.asked.devices or (not plain and not wanted.fits_here):
            yield from able
        else:
            yield from plain

    def _meet(self, wanted: EqualDemands, lots: list[Lot]) -> int:
        """Put the demands on nodes of these lots, and ask for more nodes. Returns how many are left over."""
        left = fill(lots, wanted, wanted.count)
        for stock in self._types_for(wanted) if left else ():
            each = _most(stock.empty, wanted, left)
            count = self._ask(stock, -(-left // each))
            if count:
                more = [Lot(clone(stock.empty), count, stock.spec.name)]
                left = fill(more, wanted, left)
                lots += more
            if not left:
                break
        return left

    # --- a request ------------------------------------------------------------------------------------------------

    def _meet_request(self, request: list[EqualDemands]) -> None:
        nodes = (node for node in self._cluster.nodes.values() if not node.node_type and not node.leaving)
        lots = [Lot(node.emptied(), 1) for node in nodes]
        lots += [Lot(clone(stock.empty), stock.here, stock.spec.name) for stock in self._stocks if stock.here]
        lots += self._nodes_to_come()
        for wanted in request:
            left = self._meet(wanted, lots)
            if left and self._could_meet(wanted, lots):
                self._plan.short.append((wanted, left))
            elif left:
                self._plan.infeasible.append(wanted)
        for lot in lots:
            if lot.used and lot.node_type:
                self._plan.needed[lot.node_type] = self._plan.needed.get(lot.node_type, 0) + lot.count

    def _could_meet(self, wanted: EqualDemands, lots: list[Lot]) -> bool:
        empty = [lot.place.emptied() for lot in lots] + [stock.empty for stock in self._stocks]
        return any(can_meet(place, wanted.asked, wanted.labels) for place in empty)

    # --- placement groups -----------------------------------------------------------------------------------------

    def _meet_groups(self, groups: list[GroupRecord], to_come: list[Lot], now: float) -> list[Lot]:
        """Look for room for whole groups among real nodes and nodes to come; ask for nodes, bundle by bundle."""
        loose = [_named(clone(lot.place), lot.node_type, index) for lot in to_come for index in range(lot.count)]
        real = [node for node in self._cluster.nodes.values() if not node.leaving]
        taken: list[Hold] = []
        for group in groups:
            holds = self._search(group, real + loose, now) or self._search_with_more(group, real, loose, now)
            taken += holds or []
        for hold in taken:
            if not hold.place.node_id.startswith(_TO_COME):
                self._plan.spoken_for.add(hold.place)
                undo(hold)
        return [Lot(place, 1, place.node_type, bool(place.holds)) for place in loose]

    def _search(self, group: GroupRecord, nodes: list[Place], now: float) -> list[Hold] | None:
        found = BundleSearch(group, nodes, now, self._cluster.device_resources).run()
        return None if found is None else list(found.values())

    def _search_with_more(
        self, group: GroupRecord, real: list[Place], loose: list[Place], now: float
    ) -> list[Hold] | None:
        before, length = dict(self._plan.asks), len(loose)
        for wanted in self._parts(group):
            stock = next((stock for stock in self._types_for(wanted) if self._ask(stock, 1)), None)
            if stock is None:
                continue
            loose.append(_named(clone(stock.empty), stock.spec.name, len(loose)))
            holds = self._search(group, real + loose, now)
            if holds is not None:
                return holds
        self._plan.asks = before  # nodes that would not help it are not asked for
        del loose[length:]
        return None

    def _parts(self, group: GroupRecord) -> list[EqualDemands]:
        """What has to lie on one node: each bundle, or all of a STRICT_PACK."""
        missing = [index for index in range(len(group.spec.bundles)) if index not in group.places]
        choices = [group.choice(index) for index in missing]
        if group.spec.strategy == "STRICT_PACK":
            choices = [_together(choices)]
        parts = [wanted_of(choice, 1, self._cluster.device_resources) for choice in choices]
        return sorted(parts, key=lambda part: -sum(a for _, a in (*part.asked.devices, *part.asked.pooled)))


_TO_COME = b"to come "


def _named(place: Place, node_type: str, index: int) -> Place:
    """A node to come, with an id of its own and after all real nodes."""
    place.node_id, place.node_type, place.order = _TO_COME + f"{node_type} {index}".encode(), node_type, 1 << 30
    return place


def _preference(stock: Stock) -> tuple[int, int, int]:
    """Fewest accelerators, then fewest CPUs, then the higher priority; the order of the types decides the rest."""
    return (stock.accelerators, stock.empty.totals.get("CPU", 0), -stock.spec.priority)


def _together(choices: list[Choice]) -> Choice:
    demand: dict[str, int] = {}
    for choice in choices:
        for name, amount in choice.demand:
            demand[name] = demand.get(name, 0) + amount
    labels = tuple(dict.fromkeys(pair for choice in choices for pair in choice.placement.labels))
    return Choice(tuple(sorted(demand.items())), Placement(labels=labels))


def wanted_of(choice: Choice, count: int, device_resources: frozenset[str]) -> EqualDemands:
    return EqualDemands(SplitDemand.of(choice, device_resources), choice.placement.labels, count)


def can_meet(empty: Place, asked: SplitDemand, labels: Iterable[tuple[str, str]]) -> bool:
    """Whether an empty node such as this meets the demand."""
    return empty.meets(tuple(labels)) and empty.lacks_for_ever(asked) is None


def clone(place: Place) -> Place:
    """A copy to try something on, without the holds."""
    devices = {
        name: [LedgerDevice(each.spec, each.amount, each.limit, each.used) for each in each_of]
        for name, each_of in place.devices.items()
    }
    return Place(
        place.node_id, place.name, place.order, place.totals, dict(place.free), devices, place.labels,
        node_type=place.node_type,
    )  # fmt: skip


def _most(empty: Place, wanted: EqualDemands, limit: int) -> int:
    """How many of these demands one empty node can hold, at least one, at most `limit`."""
    return max(_put(clone(empty), wanted.asked, limit), 1)


def _put(place: Place, asked: SplitDemand, limit: int) -> int:
    for number in range(limit):
        if isinstance(place.take(asked, None, 0.0), str):
            return number
    return limit


def fill(lots: list[Lot], wanted: EqualDemands, count: int) -> int:
    """Put as many of the demands as fit on nodes of the lots. Returns how many are left; lots are split as needed."""
    for lot in list(lots):
        if not count:
            break
        if not lot.place.meets(wanted.labels):
            continue
        before = clone(lot.place)
        each = _put(lot.place, wanted.asked, count)
        if not each:
            continue
        full, rest = divmod(count, each)
        if full >= lot.count:
            lot.used = True
            count -= each * lot.count
            continue
        untouched = lot.count - full - bool(rest)
        if untouched:
            lots.append(Lot(clone(before), untouched, lot.node_type, lot.used))
        if rest:
            partly = clone(before)
            _put(partly, wanted.asked, rest)
            lots.append(Lot(partly, 1, lot.node_type, True))
        lot.count, lot.used, count = full, True, 0
    return count
