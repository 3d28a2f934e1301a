"""What programs ask the cluster to have room for: one request of Ray's kind, and what each notebook holds besides.

As in Ray there is one request in a cluster: the last call of any driver replaces it, and it outlives its driver. What
`held` asks for belongs to a process: it is added to the request and withdrawn with its block or its process.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import msgspec

from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.quantities import UNIT, to_units
from nbaccel.scheduling.events import RequestedBundles, ResourcesRequested
from nbaccel.scheduling.growth import GrowthForecast
from nbaccel.scheduling.terms import Choice
from nbaccel.views.expected_growth import ExpectedGrowth
from nbaccel.views.question import Row
from nbaccel.views.snapshot import RequestRow


class Asked(msgspec.Struct):
    """One request, and who made it."""

    bundles: list[dict[str, float]]
    labels: list[dict[str, str]]
    by: str
    job: int
    since: float


class ResourceRequests:
    """The request of this head and what is held. `may_grow` tells whether the head has node types."""

    def __init__(
        self,
        tell: Tell,
        name_of: Callable[[int], str],
        may_grow: Callable[[], bool],
        forecast: Callable[[RequestedBundles], GrowthForecast],
    ) -> None:
        self._tell = tell
        self._name_of = name_of  # a job's name, by its number
        self._may_grow = may_grow
        self._forecast = forecast
        self._request: Asked | None = None
        self._held: dict[tuple[int, str], Asked] = {}  # client, the id of its block

    def answers(self) -> list[Row[Peer]]:
        return [
            asks.RequestResources.answered_by(self._requested),
            asks.HoldResources.answered_by(self._hold),
            asks.ForecastGrowth.answered_by(self._foresee),
        ]

    def _foresee(self, peer: Peer, asked: asks.ForecastGrowth) -> ExpectedGrowth | None:
        if not self._may_grow():
            return None
        found = self._forecast(_counted([self._asked(peer, asked.bundles, [])]))
        return ExpectedGrowth(
            found.asks,
            [_as_bundle(choice) for choice in found.infeasible],
            [_as_bundle(choice) for choice, number in found.short for _each in range(number)],
        )

    def _requested(self, peer: Peer, asked: asks.RequestResources) -> bool:
        if not self._may_grow():
            return False
        self._request = self._asked(peer, asked.bundles, asked.labels) if asked.bundles else None
        self._say()
        return True

    def _hold(self, peer: Peer, asked: asks.HoldResources) -> bool:
        if not self._may_grow():
            return False
        self._held.pop((peer.client_id, asked.id), None)
        if asked.bundles:
            self._held[peer.client_id, asked.id] = self._asked(peer, asked.bundles, [])
        self._say()
        return True

    def client_gone(self, client_id: int) -> None:
        """What this process held is withdrawn; its request stays."""
        mine = [key for key in self._held if key[0] == client_id]
        for key in mine:
            del self._held[key]
        if mine:
            self._say()

    def _asked(self, peer: Peer, bundles: list[dict[str, float]], labels: list[dict[str, str]]) -> Asked:
        return Asked(bundles, labels, self._name_of(peer.job), peer.job, time.time())

    def _say(self) -> None:
        """Tell the scheduler the sum."""
        self._tell(ResourcesRequested(_counted([*([self._request] if self._request else []), *self._held.values()])))

    def rows(self) -> list[RequestRow]:
        """What is asked for now: the request first, then what is held."""
        rows = [_row(self._request, "request")] if self._request else []
        return rows + [_row(asked, "held") for asked in self._held.values()]


def _counted(requests: list[Asked]) -> RequestedBundles:
    """All bundles; equal ones are counted."""
    counts: Counter[tuple[tuple[tuple[str, int], ...], tuple[tuple[str, str], ...]]] = Counter()
    for asked in requests:
        labels = asked.labels or [{}] * len(asked.bundles)
        for bundle, selector in zip(asked.bundles, labels, strict=True):
            demand = tuple(sorted((name, to_units(amount)) for name, amount in bundle.items() if amount))
            counts[demand, tuple(sorted(selector.items()))] += 1
    return [(demand, labels, number) for (demand, labels), number in counts.items()]


def _as_bundle(choice: Choice) -> dict[str, float]:
    return {name: amount / UNIT for name, amount in choice.demand}


def _row(asked: Asked, kind: str) -> RequestRow:
    totals: dict[str, float] = {}
    for bundle in asked.bundles:
        for name, amount in bundle.items():
            totals[name] = totals.get(name, 0.0) + amount
    return RequestRow(kind, totals, len(asked.bundles), asked.by, asked.job, asked.since)
