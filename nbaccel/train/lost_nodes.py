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
from nbaccel.train.gang import Gang
from nbaccel.train.ranks import Seat
from nbaccel.views.snapshot import NodeRow, Snapshot

_LOOK_EVERY_S = 0.5
_PATIENCE_S = 90.0  # after this nobody waits for the cluster's word
_AFTER_KILL_S = 20.0  # nor after this if the run has ended the worker: then only its node's fate is open


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


def when_decided(gang: Gang, rank: int, told: Callable[[], None], still: Callable[[], bool]) -> None:
    """Call `told` once the cluster knows why a worker cannot be reached, in a thread of its own.

    still  whether anybody waits for it
    """

    def wait() -> None:
        began = time.monotonic()
        while still() and not _is_decided(gang, rank, time.monotonic() - began):
            time.sleep(_LOOK_EVERY_S)
        told()

    threading.Thread(target=wait, name="nbaccel-train-node", daemon=True).start()


def _is_decided(gang: Gang, rank: int, waited_s: float) -> bool:
    was_ended = rank in gang.ended
    if waited_s > (_AFTER_KILL_S if was_ended else _PATIENCE_S):
        return True
    try:
        seen = nbaccel.snapshot()
    except exceptions.RayError:
        return True  # the cluster has ended
    return is_known(seen, gang.seats[rank].facts.node_id, "" if was_ended else gang.actor_id(rank))


def is_known(seen: Snapshot, node_id: str, actor_id: str) -> bool:
    """Whether the cluster knows that this node is lost or this actor dead."""
    lost = any(node.node_id == node_id and not node.alive for node in seen.nodes)
    return lost or any(row.actor_id == actor_id and row.state == "DEAD" for row in seen.actors)
