"""Which nodes are asked for and which idle ones go: what the cluster lacks, when that is decided, and how it reads.

```
  request ──► against all nodes, as if they were empty ──┐
  groups  ──► against what is free, and nodes to come ───┼──► GrowthPlan: what to ask for, what must stay
  demands ──► against nodes to come ─────────────────────┘
```
A request is a floor for the cluster: what is here counts, whoever uses it. A waiting task fits no node that is here,
because the dispatcher has just tried, so only nodes that are on their way count for it. Nodes that are alike are one
`Lot`, and equal demands are one `EqualDemands`: the work grows with the number of kinds, not of nodes or tasks.

```
  line waits, group waits, node emptied, request ──► stirred ──► a decision, at most one in DECISION_GAP_S
                                                                  │
         NodeAdded, NodeFailed ◄── the caller ◄── RequestNode ◄───┤
         NodeRemoved, NodeKept ◄── the caller ◄── ReleaseNode ◄───┘
```
Without node types none of this runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import msgspec

from nbaccel.scheduling import events as ev
from nbaccel.scheduling.commands import Command, ReleaseNode, RequestNode
from nbaccel.scheduling.events import NodeTypeSpec
from nbaccel.scheduling.groups import BundleSearch, GroupRecord, GroupTable, undo
from nbaccel.scheduling.ledger import Hold, LedgerDevice, Place, SplitDemand
from nbaccel.scheduling.moves import IllegalEvent
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.reasons import amount_of, demand_text, listed
from nbaccel.scheduling.tasks import TaskTable
from nbaccel.scheduling.terms import Choice, Placement
from nbaccel.scheduling.timers import Timers


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


DECISION_GAP_S = 0.01
MOST_FAILURES = 3  # in a row, of one type: then no more nodes of it are asked for until somebody requests resources
MOST_PAUSE_S = 60.0
REMEMBERED = 9  # arrivals of a type, for how long one usually takes


class Launch(msgspec.Struct):
    """A node that was asked for and is not here yet."""

    number: int
    node_type: str
    since: float


class TypeRecord(msgspec.Struct):
    """What the scheduler knows of one node type."""

    spec: ev.NodeTypeSpec
    empty: Place
    here: dict[Place, None] = {}
    failures: int = 0  # in a row
    why: str = ""  # of the last failure
    failed_at: float = 0.0
    try_at: float = 0.0  # not before
    took: list[float] = []  # how long the last ones took that have come

    @property
    def usual_s(self) -> float | None:
        """The median of the last arrivals; None before the first."""
        return sorted(self.took)[len(self.took) // 2] if self.took else None

    @property
    def given_up(self) -> bool:
        return self.failures >= MOST_FAILURES


class GrowthForecast(msgspec.Struct):
    """What a request would bring: nodes by their type, and the parts for which none comes."""

    asks: dict[str, int]
    infeasible: list[Choice]  # no node and no type can meet them
    short: list[tuple[Choice, int]]  # no more nodes may come for so many of these


class Growth:
    """Owns the node types, the launches and the request."""

    def __init__(
        self, out: list[Command], timers: Timers, cluster: PlacementBook, tasks: TaskTable, groups: GroupTable
    ):
        self._out = out
        self._timers = timers
        self._cluster = cluster
        self._tasks = tasks
        self._groups = groups
        self.types: dict[str, TypeRecord] = {}
        self.launches: dict[int, Launch] = {}
        self.infeasible: list[Choice] = []  # parts of the request that no node and no type can meet
        self._request: list[tuple[Choice, int]] = []
        self._numbers = count(1)
        self._decided_at = -1.0
        self._due: float | None = None
        self._needed: dict[Place, str] = {}  # idle nodes that stay, and for what: "request", "group" or "min"

    # --- what happens ---------------------------------------------------------------------------------------------

    def types_given(self, event: ev.NodeTypesGiven, now: float) -> None:
        for spec in event.types:
            empty = Place.of(ev.NodeSpec(b"", spec.name, spec.totals, spec.devices, spec.labels), 1 << 30)
            self.types[spec.name] = TypeRecord(spec, empty)
        self._types_changed()

    def requested(self, event: ev.ResourcesRequested, now: float) -> None:
        """A new request also gives the types another chance that were given up."""
        self._request = _choices(event.bundles)
        self.infeasible = []
        for record in self.types.values():
            record.failures, record.try_at = 0, 0.0
        self._types_changed()

    def came(self, place: Place, launch: int, now: float) -> None:
        """A node that was asked for is here. Its idle time begins."""
        asked = self.launches.pop(launch, None)
        record = self.types.get(place.node_type)
        if record is not None:
            if asked is not None:
                record.took = [*record.took, now - asked.since][-REMEMBERED:]
            record.here[place] = None
            record.failures, record.try_at = 0, 0.0
            place.idle_since = now
            self._cluster.stirred = True

    def failed(self, event: ev.NodeFailed, now: float) -> None:
        launch = self.launches.pop(event.launch, None)
        if launch is None:
            raise IllegalEvent("NodeFailed", f"launch {event.launch}", "unknown", (), "Nothing was asked for so.")
        record = self.types[launch.node_type]
        record.failures += 1
        record.why, record.failed_at = event.why, now
        record.try_at = now + min(2.0 ** (record.failures - 1), MOST_PAUSE_S)
        self._types_changed()

    def left(self, place: Place) -> None:
        record = self.types.get(place.node_type)
        if record is not None:
            record.here.pop(place, None)
            self._needed.pop(place, None)
            self._cluster.emptied.pop(place, None)
            self._cluster.stirred = True

    def kept(self, event: ev.NodeKept, now: float) -> None:
        """It is asked to leave again after another idle time."""
        place = self._cluster.nodes.get(event.node_id)
        if place is None or not place.leaving:
            raise IllegalEvent("NodeKept", f"node {event.node_id.hex()}", "not leaving", (), "It was not told to go.")
        place.kept_by, place.idle_since = event.why, now
        place.version += 1
        self._cluster.keeps(place)
        self._cluster.stirred = True

    def _types_changed(self) -> None:
        """Other nodes may come than before: whoever waits is looked at again."""
        self._cluster.may_come = {
            name: (record.empty, record.spec.max) for name, record in self.types.items() if not record.given_up
        }
        self._cluster.reconsider()
        self._groups.nodes_changed()
        self._cluster.freed_any = self._cluster.stirred = True

    # --- deciding -------------------------------------------------------------------------------------------------

    def after(self, now: float) -> None:
        """Look at what an event has changed; a decision follows at once, or soon after the last one."""
        cluster = self._cluster
        if cluster.emptied:
            for place in cluster.emptied:
                place.idle_since, place.kept_by = now, ""
                place.version += 1
            cluster.emptied.clear()
            cluster.stirred = True
        if cluster.stirred:
            cluster.stirred = False
            self._decide_at(max(now, self._decided_at + DECISION_GAP_S))

    def _decide_at(self, when: float) -> None:
        if self._due is None or when < self._due:
            self._due = when
            self._timers.at(when, self._decide, None)

    def _decide(self, _: None, now: float) -> None:
        if self._due is None or now < self._due:
            return  # it was decided earlier
        self._due, self._decided_at = None, now
        plan = self._plan(now)
        for name, number in plan.asks.items():
            for _each in range(number):
                launch = Launch(next(self._numbers), name, now)
                self.launches[launch.number] = launch
                self._out.append(RequestNode(name, launch.number))
        self.infeasible = [choice for choice, _ in self._request if self._is_among(choice, plan.infeasible)]
        self._release(plan, now)
        for record in self.types.values():
            if now < record.try_at and not record.given_up:
                self._decide_at(record.try_at)

    def _is_among(self, choice: Choice, infeasible: list[EqualDemands]) -> bool:
        wanted = wanted_of(choice, 1, self._cluster.device_resources)
        return any(each.asked == wanted.asked and each.labels == wanted.labels for each in infeasible)

    def _plan(self, now: float, more: Sequence[tuple[Choice, int]] = ()) -> GrowthPlan:
        arriving: dict[str, int] = {}
        for launch in self.launches.values():
            arriving[launch.node_type] = arriving.get(launch.node_type, 0) + 1
        stocks = [
            Stock(
                record.spec,
                record.empty,
                len(record.here),
                arriving.get(name, 0),
                not record.given_up and record.try_at <= now,
            )
            for name, record in self.types.items()
        ]
        asked = [*self._request, *more]
        request = [wanted_of(choice, number, self._cluster.device_resources) for choice, number in asked]
        return Planner(self._cluster, stocks).plan(request, self._groups.pending(), list(self._demands()), now)

    def _demands(self) -> Iterator[EqualDemands]:
        """The lines of waiting tasks: of each the first choice that a node could meet, here or to come."""
        cluster = self._cluster
        for shape in self._tasks.shapes.values():
            if not shape.size:
                continue
            request = next((each for each in shape.requests if each.has_places or cluster.could_come(each)), None)
            if request is not None and cluster.could_come(request):
                yield EqualDemands(request.asked, request.choice.placement.labels, shape.size, request.has_places)

    # --- letting go -----------------------------------------------------------------------------------------------

    def _release(self, plan: GrowthPlan, now: float) -> None:
        """Of each type, the nodes that have been idle for longest, as far as none of them is needed."""
        self._needed = dict.fromkeys(plan.spoken_for, "group")
        for name, record in self.types.items():
            needed = plan.needed.get(name, 0)
            surplus = max(len(record.here) - max(record.spec.min, needed), 0)
            idle = [place for place in record.here if is_idle(place) and place not in plan.spoken_for]
            idle.sort(key=lambda place: place.idle_since)
            self._needed |= dict.fromkeys(idle[surplus:], "request" if needed else "min")
            for place in idle[:surplus]:
                if place.idle_since + record.spec.idle_s <= now:
                    self._cluster.sends_away(place)
                    self._out.append(ReleaseNode(place.node_id, f"nobody has used it for {record.spec.idle_s:g} s"))
                else:
                    self._decide_at(place.idle_since + record.spec.idle_s)
                    break

    # --- questions ------------------------------------------------------------------------------------------------

    def forecast(self, bundles: ev.RequestedBundles, now: float) -> GrowthForecast:
        """What a request for this would bring, beside all that is asked for already. Nothing is asked for."""
        more = _choices(bundles)
        without, plan = self._plan(now), self._plan(now, more)
        asks = {name: number - without.asks.get(name, 0) for name, number in plan.asks.items()}
        return GrowthForecast(
            {name: number for name, number in asks.items() if number > 0},
            [choice for choice, _number in more if self._is_among(choice, plan.infeasible)],
            [(choice, left) for choice, _number in more if (left := self._left_of(choice, plan))],
        )

    def _left_of(self, choice: Choice, plan: GrowthPlan) -> int:
        wanted = wanted_of(choice, 1, self._cluster.device_resources)
        return sum(left for each, left in plan.short if each.asked == wanted.asked and each.labels == wanted.labels)

    def leaves_at(self, place: Place) -> float | None:
        """When an idle node of a type may leave, if nothing needs it; None for one that is used or has no type."""
        record = self.types.get(place.node_type)
        return place.idle_since + record.spec.idle_s if record is not None and is_idle(place) else None

    def needed_for(self, place: Place) -> str:
        """What an idle node stays for by the last decision: a "request", a "group", its type's "min", or ""."""
        return self._needed.get(place, "") if is_idle(place) else ""


def _choices(bundles: ev.RequestedBundles) -> list[tuple[Choice, int]]:
    return [(Choice(demand, Placement(labels=labels)), number) for demand, labels, number in bundles]


def is_idle(place: Place) -> bool:
    """Whether nobody holds any of the node."""
    return not place.holds and not place.leaving


class Hope(msgspec.Struct, frozen=True):
    """What may still come for a demand.

    `word`: "coming" (a node is on its way), "addable" (one can be asked for), "full" (as many as there may be are
    here), "failed" (given up), "none" (no type has it), or "" where no node can be added at all.
    """

    word: str = ""
    text: str = ""  # a sentence part

    @property
    def is_open(self) -> bool:
        return self.word in ("coming", "addable")


NO_HOPE = Hope()


def hope(growth: Growth, device_resources: frozenset[str], choice: Choice, now: float | None) -> Hope:
    """What the node types mean for this demand, by the type that says most."""
    placement = choice.placement
    if not growth.types or placement.strategy == "GROUP" or (placement.strategy == "NODE" and not placement.soft):
        return NO_HOPE
    asked = SplitDemand.of(choice, device_resources)
    fitting = [record for record in growth.types.values() if can_meet(record.empty, asked, placement.labels)]
    if not fitting:
        return Hope("none", f"no type of node that can be added has it ({_types(growth)})")
    said = [_of_type(growth, record, now) for record in fitting]
    return min(said, key=lambda each: _ORDER.index(each.word))


_ORDER = ("coming", "addable", "full", "failed")


def _of_type(growth: Growth, record: TypeRecord, now: float | None) -> Hope:
    name = record.spec.name
    launches = [launch for launch in growth.launches.values() if launch.node_type == name]
    if launches:
        ago = f" {_seconds(now - min(launch.since for launch in launches))} ago" if now is not None else ""
        nodes = f"a node of the type {name} was" if len(launches) == 1 else f"{len(launches)} {name} nodes were"
        usual = f" (usually {_seconds(record.usual_s)})" if record.usual_s is not None and record.usual_s >= 1 else ""
        return Hope("coming", f"{nodes} asked for{ago}{usual}")
    if record.given_up:
        why = f"the last {record.failures} {name} nodes that were asked for did not come ({record.why})"
        return Hope("failed", f"{why}, so no more are asked for until request_resources() is called")
    if len(record.here) >= record.spec.max:
        return Hope("full", f"{len(record.here)} of at most {record.spec.max} {name} nodes are here")
    if record.failures and now is not None:
        again = f", the next try is in {_seconds(record.try_at - now)}" if record.try_at > now else ""
        return Hope("addable", f"the last {name} node that was asked for did not come ({record.why}){again}")
    return Hope("addable", f"a node of the type {name} can be added")


def _seconds(seconds: float) -> str:
    return f"{max(seconds, 0):.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _types(growth: Growth) -> str:
    return "; ".join(f"{record.spec.name}: {_what(record)}" for record in growth.types.values())


def _what(record: TypeRecord) -> str:
    devices = {name: sum(each.amount for each in each_of) for name, each_of in record.empty.devices.items()}
    cpus = {name: amount for name, amount in record.spec.totals.items() if name == "CPU"}
    return listed([amount_of(*each) for each in devices.items() if each[1]]) or demand_text(cpus.items())
