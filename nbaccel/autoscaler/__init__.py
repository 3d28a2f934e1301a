"""Asking a cluster to grow: Ray's `nbaccel.autoscaler.sdk`, and nbaccel's own `held`, `status` and what would come."""

from __future__ import annotations

import sys
import uuid
from types import TracebackType

import msgspec

from nbaccel import engine as engines
from nbaccel.autoscaler.sdk import check_count, checked_bundles, notify_fixed, started_for
from nbaccel.elsewhere import submodules_by_attribute
from nbaccel.views.explanations import ExpectedGrowth
from nbaccel.views.snapshot import ArrivalRow, NodeRow, NodeTypeRow, RequestRow

__getattr__ = submodules_by_attribute(__name__, "sdk")
__all__ = ["ExpectedGrowth", "GrowthStatus", "HeldResources", "expected_growth", "held", "move_objects", "status"]


# ---- room that one notebook or script asks for while a block runs.


def held(
    *, num_cpus: int | None = None, num_gpus: int | None = None, bundles: list[dict[str, float]] | None = None
) -> HeldResources:
    """Have the cluster keep room for these while a `with` block runs: so many CPUs, GPUs, and each of the bundles.

    What all notebooks hold is added up, and added to the request of `sdk.request_resources`, which it does not change.
    It is withdrawn at the end of the block, also when its cell is stopped, and when its process ends.

    >>> with nbaccel.autoscaler.held(num_gpus=2):
    ...     nbaccel.get([nbaccel.put(part) for part in (1, 2)])

    Raises RuntimeError before init(), ValueError for nothing or for quantities that nothing can have.
    """
    asked = bundles_of(num_cpus, num_gpus, bundles)
    if not asked:
        raise ValueError("held() got nothing to ask for: give it num_gpus=2, num_cpus=8 or bundles=[{'GPU': 1}].")
    return HeldResources(started_for("held()"), asked)


def bundles_of(
    num_cpus: int | None = None, num_gpus: int | None = None, bundles: list[dict[str, float]] | None = None
) -> list[dict[str, float]]:
    """One bundle for each CPU and each GPU, and the bundles. Raises TypeError, ValueError."""
    counted: list[dict[str, float]] = []
    for option, name, number in (("num_cpus", "CPU", num_cpus), ("num_gpus", "GPU", num_gpus)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
            raise ValueError(f"{option} is a whole number from 0 up, but got {number!r}.")
        check_count(option, number or 0)
        counted += [{name: 1.0}] * (number or 0)
    return counted + checked_bundles(bundles or [])


class HeldResources:
    """Room that is asked for between the beginning and the end of a `with` block."""

    def __init__(self, engine: engines.Engine, bundles: list[dict[str, float]]) -> None:
        self._engine = engine
        self._bundles = bundles
        self._id = uuid.uuid4().hex

    def __enter__(self) -> HeldResources:
        if not self._engine.hold_resources(self._id, self._bundles):
            notify_fixed(self._engine, "held()")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if engines.started() is self._engine:  # a cluster that was shut down holds nothing any more
            self._engine.hold_resources(self._id, [])


# ---- what a cluster has, is about to get, and is asked for, as plain records


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

    >>> nbaccel.autoscaler.status().arriving
    []
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


# ---- what a request would bring before it is made, and how a node that is kept for its objects is let go


def expected_growth(
    *, num_cpus: int | None = None, num_gpus: int | None = None, bundles: list[dict[str, float]] | None = None
) -> ExpectedGrowth | None:
    """The nodes that `held()` with these arguments would bring. Nothing is asked for.

    None if the cluster cannot grow, and on Ray, whose autoscaler decides only when it is asked.

    >>> nbaccel.autoscaler.expected_growth(num_gpus=2).nodes
    {'gpu': 2}

    Raises RuntimeError before init(), ValueError for quantities that nothing can have.
    """
    return started_for("expected_growth()").expected_growth(bundles_of(num_cpus, num_gpus, bundles))


def move_objects(node: str) -> tuple[int, int]:
    """Copy the objects that lie only on this node to the head's node, so that it can leave.

    `node` is a name of `status().nodes`. Returns the number of objects and their bytes.

    Raises RuntimeError before init(), ValueError for a node that is not here, NotImplementedError on Ray.
    """
    return started_for("move_objects()").move_objects(node)
