"""The scheduler's part that asks for nodes and lets idle ones go; `growing` decides what the cluster lacks.

```
  line waits, group waits, node emptied, request ──► stirred ──► a decision, at most one in DECISION_GAP_S
                                                                  │
         NodeAdded, NodeFailed ◄── the caller ◄── AskNode ◄───────┤
         NodeRemoved, NodeKept ◄── the caller ◄── ReleaseNode ◄───┘
```
Without node types none of this runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from nbaccel.scheduling import events as ev
from nbaccel.scheduling.commands import AskNode, Command, ReleaseNode
from nbaccel.scheduling.groups import GroupTable
from nbaccel.scheduling.growing import EqualDemands, GrowthPlan, Planner, Stock, wanted_of
from nbaccel.scheduling.ledger import Place
from nbaccel.scheduling.moves import IllegalEvent
from nbaccel.scheduling.placement import PlacementBook
from nbaccel.scheduling.tasks import TaskTable
from nbaccel.scheduling.terms import Choice, Placement
from nbaccel.scheduling.timers import Timers

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
                self._out.append(AskNode(name, launch.number))
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
            ask = next((each for each in shape.asks if each.has_places or cluster.could_come(each)), None)
            if ask is not None and cluster.could_come(ask):
                yield EqualDemands(ask.asked, ask.choice.placement.labels, shape.size, ask.has_places)

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
