"""The Ray part of `nbaccel start` and `nbaccel status`: heads and nodes of Ray clusters on this machine."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import click

from nbaccel import accelerators, ray_preflight
from nbaccel.handles.options import init_options
from nbaccel.machines import node_records, ray_head, ray_processes
from nbaccel.machines.joining import judge_address
from nbaccel.machines.node_records import NodeRecord

_OF_A_HEAD = ("port", "node_types")
_OFFERED = ("num_cpus", "num_gpus", "resources", "labels", "object_store_memory")


def start(given: dict[str, Any], *, head: bool, engine: str | None, block: bool, wait: Callable[[int], None]) -> None:
    """Start a head of Ray's, or join a Ray cluster as a node until this process is asked to end."""
    address = given.pop("address", None)
    if head and address:
        raise click.UsageError("Say --head or --address, not both.")
    if engine == "local":
        raise click.UsageError("--address joins a Ray cluster as a node; --engine=local has only one node.")
    if not head and not address:
        raise click.UsageError("Say --head to start a Ray cluster, or --address=HOST:6379 to join one.")
    _check_offer({name: given[name] for name in _OFFERED if name in given})
    if address:
        _refuse(given, _OF_A_HEAD, "goes with --head.")
        become_node(address, given.pop("token_file", None), given, click.echo, wait)
        return
    types = given.pop("node_types", None)
    if types:
        _refuse(given, ("node_type",), "names a fixed kind of head; with --node-types the head has a type of its own.")
    plan = ray_head.HeadPlan(
        port=given.pop("port", ray_head.USUAL_PORT),
        token_file=given.pop("token_file", ""),
        node_type=given.pop("node_type", "head"),
        offered=given,
    )
    if types:
        plan = ray_head.growing(plan, types)
    with ended_by_signals():
        record = ray_head.start_head(plan, with_us=block)
        for line in ray_head.announcement(record):
            click.echo(line)
        if block:
            stay(record, click.echo, wait)


def _check_offer(offered: dict[str, Any]) -> None:
    """Refuse what no node can offer before a token, a port or another machine is looked at."""
    try:
        init_options(**offered)
    except TypeError as error:
        raise click.ClickException(str(error)) from None


def state_of(record: NodeRecord) -> str:
    """One line: which node this is, since when, and what its cluster has."""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started_at))
    kind = f", node type {record.node_type}" if record.node_type else ""
    title = record.title[0].upper() + record.title[1:]
    return f"{title}, pid {record.pid}{kind}, since {since}: {_cluster(record)}"


def state_as_dict(record: NodeRecord) -> dict[str, Any]:
    """The same for programs: the cluster's `nodes` and `resources`, None where `why` says why they are not known."""
    found = _size_or_why(record)
    why, size = (found, None) if isinstance(found, str) else ("", found)
    return {
        "session": record.session,
        "address": record.address,
        "pid": record.pid,
        "is_head": record.is_head,
        "node_type": record.node_type,
        "started_at": record.started_at,
        "nodes": size.nodes if size else None,
        "resources": size.quantities if size else None,
        "why": why,
    }


def _cluster(record: NodeRecord) -> str:
    size = _size_or_why(record)
    return size if isinstance(size, str) else f"the cluster has {size}."


def _size_or_why(record: NodeRecord) -> ray_preflight.ClusterSize | str:
    try:
        if record.token_file:
            ray_preflight.show_token_of(record.token_file)
        else:
            os.environ["RAY_AUTH_MODE"] = "token"
        return ray_preflight.cluster_size(record.address) or "the cluster does not answer."
    except (ImportError, ValueError, OSError) as error:
        return str(error)


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if name in given:
            raise click.UsageError(f"--{name.replace('_', '-')} {why}")


# ---- this machine as a node of a Ray cluster: `nbaccel start --address=HOST:6379`
#
# The command checks first whether the cluster would take this machine. Then it stays beside the node's own process:
# whoever ends the command (Ctrl-C, a batch system, ssh) ends the node, and nothing else of this machine.


Say = Callable[[str], None]


def become_node(
    address: str, token_file: str | None, asked: Mapping[str, Any], say: Say, wait: Callable[[int], None]
) -> None:
    """Join as a node, for as long as this process lives; `wait` returns when the process of this id has ended.

    Raises ConnectionError or ValueError if the cluster does not take this machine, and RuntimeError if Ray's processes
    do not start or one of them dies.
    """
    if address.startswith("ray://"):
        raise ValueError(f"{address!r} is Ray Client's address; a node joins at the head's own port: HOST:6379.")
    for sentence in judge_address(address, token_file):
        say(sentence)
    node = ray_processes.devices_here(asked)
    environ = ray_processes.node_environment(os.environ, node, asked.get("node_type"))
    say(f"Joins {address} with {ray_processes.offer_in_words(node, asked)}; Ctrl-C ends this node.")
    with ended_by_signals():
        record = ray_processes.start(ray_start_line(address, node, asked), environ, address=address, with_us=True)
        say(_joined(address))
        stay(record, say, wait)


def ray_start_line(address: str, node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> list[str]:
    """The command that joins with what nbaccel has found here."""
    own = ["--block", "--disable-usage-stats", f"--address={address}", "--dashboard-agent-listen-port=0"]
    return [*ray_processes.RAY_START, *own, *ray_processes.ray_start_options(node, asked)]


def stay(record: NodeRecord, say: Say, wait: Callable[[int], None]) -> None:
    """Return when the node has ended or this process is asked to end. Raises RuntimeError if the node broke."""
    try:
        wait(record.pid)
    except KeyboardInterrupt:
        say("Ends the node.")
        if not node_records.end(record):
            node_records.end(record, force=True)
        return
    broke, said = ray_processes.ended_badly(record), ray_processes.last_words(record)
    node_records.end(record)
    if broke:
        raise RuntimeError(f"A process of {record.title} died, and the node with it. Its last words:\n{said}")
    say("The node has ended.")


class ended_by_signals:
    """Inside of it SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    _NUMBERS = (signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, _interrupt) for number in self._NUMBERS}

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _joined(address: str) -> str:
    size = ray_preflight.cluster_size(address)
    has = f" The cluster now has {size}." if size else ""
    return f"Joined {address} as {socket.gethostname()}.{has}"
