"""The room for nodes put together: virtual nodes, those that come by themselves, and what programs ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.devices.node_devices import Nodes
from nbaccel.local_engine.head.node_source import NodeSource
from nbaccel.local_engine.head.objects.tables import ObjectContext
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.resource_requests import ResourceRequests
from nbaccel.local_engine.head.snapshot_builder import Growing
from nbaccel.local_engine.head.virtual_nodes import HeadVirtualNodes
from nbaccel.scheduling.scheduler import Scheduler
from nbaccel.views.question import Row


class Autoscaling:
    """Everything that one head has for nodes other than its own. `types` are the node types that it was given."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        nodes: Nodes,
        context: ObjectContext,
        tell: Tell,
        types: Mapping[str, dict[str, Any]],
        *,
        name_of_job: Callable[[int], str],
    ) -> None:
        self.virtual_nodes = HeadVirtualNodes(nodes, context, tell)
        self.source = NodeSource(timers, scheduler, self.virtual_nodes, context, tell, types)
        self.requests = ResourceRequests(
            tell,
            name_of_job,
            may_grow=lambda: bool(types),
            forecast=lambda bundles: scheduler.growth_forecast(bundles, timers.now()),
        )

    def answers(self) -> list[Row[Peer]]:
        """What may be asked of nodes, and for room."""
        return [*self.virtual_nodes.answers(), *self.requests.answers()]

    def shown(self) -> Growing:
        """Where snapshots get their rows from."""
        source = self.source
        return Growing(source.type_rows, source.arrival_rows, self.requests.rows, source.kept_objects)
