"""What a request would bring before it is made, and how a node that is kept for its objects is let go."""

from __future__ import annotations

from nbaccel.autoscaler.held_resources import bundles_of
from nbaccel.autoscaler.sdk import started_for
from nbaccel.views.expected_growth import ExpectedGrowth


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
