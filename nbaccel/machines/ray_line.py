"""What `ray start` is told about this machine: the devices that nbaccel has found, as options and variables."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from nbaccel import accelerators
from nbaccel.light_imports import FOLDER

RAY_START = [sys.executable, "-m", "ray.scripts.scripts", "start"]  # of this environment, whatever the PATH says


def found_here(asked: Mapping[str, Any]) -> accelerators.NodeDevices:
    """The devices that this machine offers. Raises ValueError for quantities that it cannot offer."""
    machine = accelerators.RealMachine()
    detection = accelerators.detect(machine, gpu_vendor=asked.get("gpu_vendor"))
    return accelerators.resolve_resources(
        detection, num_gpus=asked.get("num_gpus"), resources=asked.get("resources"), environ=machine.environ
    )


def offer(node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> list[str]:
    """The options that offer these devices and what is asked for; Ray itself knows fewer families."""
    quantities = {**node.quantities, **(asked.get("resources") or {})}
    gpus = quantities.pop("GPU", 0) if asked.get("num_gpus") is None else asked["num_gpus"]
    quantities.pop("GPU", None)
    options = [f"--num-gpus={gpus:g}"]
    if asked.get("num_cpus") is not None:
        options.append(f"--num-cpus={asked['num_cpus']}")
    if asked.get("object_store_memory") is not None:
        options.append(f"--object-store-memory={asked['object_store_memory']}")
    if quantities:
        options.append(f"--resources={json.dumps(quantities)}")
    labels = {**node.labels, **(asked.get("labels") or {})}
    if labels:
        options.append("--labels=" + ",".join(f"{key}={value}" for key, value in labels.items()))
    return options


def node_environment(
    environ: Mapping[str, str], node: accelerators.NodeDevices, node_type: str | None
) -> dict[str, str]:
    """The variables of the node: its type groups it in views, and stays its number where it is not known."""
    kind = node_type or next(iter(node.labels.values()), "")
    path = os.pathsep.join(filter(None, (str(FOLDER), environ.get("PYTHONPATH"))))  # Ray's processes start faster
    return {**environ, "PYTHONPATH": path, **({"RAY_NODE_TYPE_NAME": kind} if kind else {})}


def told(node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> str:
    """What the node offers, in words: "2 GPU, 4 TPU"."""
    counted = {resource: float(len(found)) for resource, found in node.devices.items() if found}
    if asked.get("num_gpus") is not None:
        counted["GPU"] = asked["num_gpus"]
    return ", ".join(f"{amount:g} {name}" for name, amount in counted.items() if amount) or "no accelerators"
