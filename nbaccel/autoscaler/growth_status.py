"""What a cluster has, is about to get, and is asked for, as plain records."""

from __future__ import annotations

import sys

import msgspec

from nbaccel.autoscaler.sdk import started_for
from nbaccel.views.snapshot import ArrivalRow, NodeRow, NodeTypeRow, RequestRow


class GrowthStatus(msgspec.Struct, frozen=True):
    """The nodes of a cluster, and those that may come.

    nodes       the nodes that are here
    arriving    nodes that were asked for
    node_types  the types of nodes that can be asked for, with failures and their reason
    requests    the request of request_resources(), and what notebooks hold
    infeasible  requested bundles that no node and no type can meet
    """

    nodes: list[NodeRow]
    arriving: list[ArrivalRow]
    node_types: list[NodeTypeRow]
    requests: list[RequestRow]
    infeasible: list[dict[str, float]]

    @property
    def failed(self) -> list[NodeTypeRow]:
        """The types whose last node did not come; `why` says why not."""
        return [row for row in self.node_types if row.failures]


def status() -> GrowthStatus:
    """What the cluster has, is about to get, and is asked for. Raises RuntimeError before init().

    >>> [row.node_type for row in nbaccel.autoscaler.status().arriving]
    ['gpu', 'gpu']
    """
    engine = started_for("status()")
    snapshot = engine.snapshot()
    return GrowthStatus(
        [node for node in engine.state(NodeRow, sys.maxsize) if node.alive],
        snapshot.arrivals,
        snapshot.node_types,
        snapshot.requests,
        snapshot.infeasible_requests,
    )
