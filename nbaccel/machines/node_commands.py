"""The Ray part of `nbaccel start` and `nbaccel status`: heads and nodes of Ray clusters on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import click

from nbaccel import ray_preflight, ray_tokens
from nbaccel.handles.options import init_options
from nbaccel.machines import ray_head, ray_node
from nbaccel.machines.node_records import NodeRecord
from nbaccel.machines.sources import growing_heads

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
        ray_node.become_node(address, given.pop("token_file", None), given, click.echo, wait)
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
        plan = growing_heads.growing(plan, types)
    with ray_node.ended_by_signals():
        record = ray_head.start_head(plan, with_us=block)
        for line in ray_head.announcement(record):
            click.echo(line)
        if block:
            ray_node.stay(record, click.echo, wait)


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
            ray_tokens.show_token_of(record.token_file)
        else:
            os.environ["RAY_AUTH_MODE"] = "token"
        return ray_preflight.cluster_size(record.address) or "the cluster does not answer."
    except (ImportError, ValueError, OSError) as error:
        return str(error)


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    for name in names:
        if name in given:
            raise click.UsageError(f"--{name.replace('_', '-')} {why}")
