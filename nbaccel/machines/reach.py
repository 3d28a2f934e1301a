"""Whether this machine reaches every node of a Ray cluster, and whether the clocks agree; in sentences.

A node that cannot reach another one's ports joins and then waits for ever for its objects. Ray's nodes have no question
about the time; the small HTTP server in which each makes runtime environments dates its answers, as HTTP asks for.
"""

from __future__ import annotations

import email.utils
import http.client
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from nbaccel import ray_preflight

_TIMEOUT_S = 3.0
_LARGE_SKEW_S = 5.0  # an answer's date has whole seconds, and its way takes some time
_MOST_AT_ONCE = 32
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class NodeDoors:
    """Where a node listens: what each port is for, and the port. `dated` is the port of an HTTP server, or 0."""

    host: str
    ports: dict[str, int]
    is_head: bool = False
    dated: int = 0


def told(nodes: Sequence[NodeDoors] | None, clock: Callable[[], float] = time.time) -> Iterator[str]:
    """The sentences; `nodes` None: the cluster does not tell them."""
    if not nodes:
        yield "The cluster does not tell its nodes, so their ports and the head's clock were not tried."
        return
    yield from _ports_told(nodes)
    head = next((node for node in nodes if node.is_head), None)
    skew = clock_skew(head.host, head.dated, clock) if head is not None and head.dated > 0 else None
    if skew is None:
        yield "The head's clock is not known: no server there tells the time to this machine."
    elif abs(skew) > _LARGE_SKEW_S:
        way = "ahead of" if skew > 0 else "behind"
        yield (
            f"The head's clock is {abs(skew):.0f} s {way} this machine's: times in views are wrong by as much, and "
            "certificates may be refused. Let both follow a time server: timedatectl set-ntp true"
        )
    else:
        yield "The head's clock and this machine's agree."


def _ports_told(nodes: Sequence[NodeDoors]) -> Iterator[str]:
    tried = [(node.host, port, what) for node in nodes for what, port in node.ports.items() if port > 0]
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        closed = [door for door, why in zip(tried, pool.map(_why_closed, tried), strict=True) if why]
    if not closed:
        yield f"Ports of the nodes: {len(tried)} of {len(tried)} are open to this machine."
        return
    named = ", ".join(f"{host}:{port} ({what})" for host, port, what in closed[:_MOST_NAMED])
    more = f" and {len(closed) - _MOST_NAMED} more" if len(closed) > _MOST_NAMED else ""
    yield (
        f"{len(closed)} of {len(tried)} ports are closed to this machine: {named}{more}. Ray chooses them freely, so a "
        "firewall has to let the machines reach each other on every port, or on those that `ray start "
        "--node-manager-port --object-manager-port` names."
    )


def _why_closed(door: tuple[str, int, str]) -> str:
    try:
        ray_preflight.answers(door[0], door[1])
    except OSError as error:
        return error.strerror or str(error) or "closed"
    return ""


def clock_skew(host: str, port: int, clock: Callable[[], float] = time.time) -> float | None:
    """By how many seconds the clock of an HTTP server there is ahead of `clock`; None where it does not say."""
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        before = clock()
        connection.request("HEAD", "/")
        date = connection.getresponse().getheader("Date")
        middle = (before + clock()) / 2
        there = email.utils.parsedate_to_datetime(date or "").timestamp()
    except (OSError, http.client.HTTPException, ValueError, TypeError):
        return None
    return there + 0.5 - middle  # the date is cut to whole seconds
