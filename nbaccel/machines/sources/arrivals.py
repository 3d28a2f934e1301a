"""What the provider tells every driver of the cluster: the types of machines, and those that have not joined."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nbaccel import ray_tokens
from nbaccel.machines.sources.growing_machines import Arrival, GrowingMachines, Trouble
from nbaccel.machines.sources.machines import node_labels, node_resources

KEY, NAMESPACE = b"nbaccel:machines", b"nbaccel"  # in Ray's own table of keys


def told(
    machines: GrowingMachines, types: Mapping[str, Mapping[str, Any]], now: float, clock: float
) -> dict[str, list[dict[str, Any]]]:
    """The rows, with the names that views use; `now` is the machines' own time, `clock` the Unix seconds then."""
    arriving = machines.arrivals()
    count = machines.all()
    troubles = machines.troubles()
    return {
        "node_types": [
            _type_row(name, options, troubles[name], clock - now)
            | {
                "arriving": sum(one.machine.node_type == name for one in arriving),
                "here": sum(machine.node_type == name for machine in count.values())
                - sum(one.machine.node_type == name for one in arriving),
            }
            for name, options in types.items()
        ],
        "arrivals": [_arrival_row(one, types, clock - now) for one in arriving],
    }


def _type_row(name: str, options: Mapping[str, Any], trouble: Trouble, offset_s: float) -> dict[str, Any]:
    return {
        "name": name,
        "source": options["from"],
        "resources": node_resources(options),
        "labels": node_labels(options),
        "min": options["min"],
        "max": options["max"],
        "idle_s": options["idle_s"],
        "failures": trouble.failures,
        "why": trouble.why,
        "next_try_at": round(trouble.try_at + offset_s) if trouble.failures else None,
    }


def _arrival_row(one: Arrival, types: Mapping[str, Mapping[str, Any]], offset_s: float) -> dict[str, Any]:
    machine = one.machine
    return {
        "id": machine.id,
        "node_type": machine.node_type,
        "source": types[machine.node_type]["from"],
        "state": machine.said,
        "since": round(one.since + offset_s),
    }


def token_of(file: str) -> str:
    """The cluster's token, which a machine of ssh's gets through its connection."""
    return ray_tokens.read_token(file) if file else os.environ.get("RAY_AUTH_TOKEN", "")
