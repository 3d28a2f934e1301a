"""What a request for room would bring, before anybody makes it."""

from __future__ import annotations

import msgspec


class ExpectedGrowth(msgspec.Struct, frozen=True):
    """The nodes that a request would bring, and the bundles for which none comes.

    nodes       how many nodes of which type would be asked for; empty if what is here or on its way suffices
    infeasible  requested bundles that no node and no type of node can meet
    short       requested bundles for which no more nodes may come now: every type that fits is at its `max`, or its
                last node did not come
    """

    nodes: dict[str, int] = {}
    infeasible: list[dict[str, float]] = []
    short: list[dict[str, float]] = []
