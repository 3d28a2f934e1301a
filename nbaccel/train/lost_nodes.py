"""Which node of a gang was lost, when the worker of a rank has died or cannot be reached.

Ray finds out within a quarter of a minute, as a rule, that a node is gone. Until then a call to an actor there fails as
out of reach, and a gang that started again at once might be placed on the same node.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import nbaccel
from nbaccel import exceptions
from nbaccel.train.ranks import Seat
from nbaccel.views.snapshot import NodeRow

_LOOK_EVERY_S = 0.5
_PATIENCE_S = 90.0  # after this nobody waits for the cluster's word


def instead_of(error: BaseException, seat: Seat, nodes: Sequence[NodeRow]) -> BaseException:
    """The error of a rank whose worker has died: one that names its node, if that was lost or is out of reach."""
    node = next((each for each in nodes if each.node_id == seat.facts.node_id), None)
    if node is None or (node.alive and not isinstance(error, exceptions.ActorUnavailableError)):
        return error
    what = "cannot be reached" if node.alive else f"was lost{_why(node)}"
    found = exceptions.NodeDiedError(f"its node {node.name} ({node.node_id[:8]}) {what}")
    found.__cause__ = error.with_traceback(None)
    return found


def _why(node: NodeRow) -> str:
    why = node.why.partition("\n")[0]
    return f": {why}" if why not in ("", "it was lost") else ""


def when_decided(seat: Seat, actor_id: str, told: Callable[[], None], still: Callable[[], bool]) -> None:
    """Call `told` once the cluster knows whether a worker that cannot be reached has died, in a thread of its own.

    still  whether anybody is interested
    """

    def wait() -> None:
        end = time.monotonic() + _PATIENCE_S
        while still() and time.monotonic() < end and not _is_decided(seat, actor_id):
            time.sleep(_LOOK_EVERY_S)
        told()

    threading.Thread(target=wait, name="nbaccel-train-node", daemon=True).start()


def _is_decided(seat: Seat, actor_id: str) -> bool:
    try:
        seen = nbaccel.snapshot()
    except exceptions.RayError:
        return True  # the cluster has ended
    lost = any(node.node_id == seat.facts.node_id and not node.alive for node in seen.nodes)
    return lost or any(row.actor_id == actor_id and row.state == "DEAD" for row in seen.actors)
