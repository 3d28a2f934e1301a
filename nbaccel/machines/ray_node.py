"""This machine as a node of a Ray cluster: `nbaccel start --address=HOST:6379`.

The command checks first whether the cluster would take this machine, then becomes `ray start --block`: whoever ends the
process (Ctrl-C, a batch system, ssh) ends the node, and nothing else of this machine. `ray stop` finds processes by
name and would end those of others as well.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from nbaccel import accelerators
from nbaccel.machines.joining import judge_address

_RAY = [sys.executable, "-m", "ray.scripts.scripts"]  # of this environment, whatever the PATH says


def become_node(address: str, token_file: str | None, asked: Mapping[str, Any], say: Callable[[str], None]) -> None:
    """Join as a node, for as long as this process lives. Raises ConnectionError or ValueError if it cannot."""
    if address.startswith("ray://"):
        raise ValueError(f"{address!r} is Ray Client's address; a node joins at the head's own port: HOST:6379.")
    for sentence in judge_address(address, token_file):
        say(sentence)
    machine = accelerators.RealMachine()
    detection = accelerators.detect(machine, gpu_vendor=asked.get("gpu_vendor"))
    node = accelerators.resolve_resources(
        detection, num_gpus=asked.get("num_gpus"), resources=asked.get("resources"), environ=machine.environ
    )
    line = ray_start_line(address, node, asked)
    say(f"Joins {address} with {_told(node)}; Ctrl-C ends this node.")
    sys.stdout.flush()
    os.execve(line[0], line, node_environment(os.environ, node, asked.get("node_type")))


def ray_start_line(address: str, node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> list[str]:
    """The command that offers what nbaccel has found here; Ray itself knows fewer families."""
    quantities = {**node.quantities, **(asked.get("resources") or {})}
    gpus = quantities.pop("GPU", 0) if asked.get("num_gpus") is None else asked["num_gpus"]
    quantities.pop("GPU", None)
    line = [*_RAY, "start", "--block", "--disable-usage-stats", f"--address={address}", f"--num-gpus={gpus:g}"]
    if asked.get("num_cpus") is not None:
        line.append(f"--num-cpus={asked['num_cpus']}")
    if asked.get("object_store_memory") is not None:
        line.append(f"--object-store-memory={asked['object_store_memory']}")
    if quantities:
        line.append(f"--resources={json.dumps(quantities)}")
    labels = {**node.labels, **(asked.get("labels") or {})}
    if labels:
        line.append("--labels=" + ",".join(f"{key}={value}" for key, value in labels.items()))
    return line


def node_environment(
    environ: Mapping[str, str], node: accelerators.NodeDevices, node_type: str | None
) -> dict[str, str]:
    """The variables of the node: its type groups it in views, and stays its number where it is not known."""
    kind = node_type or next(iter(node.labels.values()), "")
    return {**environ, **({"RAY_NODE_TYPE_NAME": kind} if kind else {})}


def _told(node: accelerators.NodeDevices) -> str:
    devices = [f"{len(found)} {resource}" for resource, found in node.devices.items() if found]
    return ", ".join(devices) or "no accelerators"
