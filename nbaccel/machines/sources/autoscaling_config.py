"""The file that Ray's autoscaler reads, from the node types of a machines.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbaccel.handles.node_types import DEFAULT_IDLE_S, DEFAULT_MOST, SLURM
from nbaccel.machines.sources.machines import node_labels, node_resources

HEAD_TYPE, HEAD_ID = "head", "nbaccel-head"
# Slurm's queue may take days, and Ray takes a machine for lost after an hour. One request for each machine, so that a
# refusal counts for that one.
VARIABLES = {
    "RAY_AUTOSCALER_RECONCILE_ALLOCATE_STATUS_TIMEOUT_S": str(30 * 24 * 3600),
    "AUTOSCALER_MAX_LAUNCH_BATCH": "1",
}
_PROVIDER = "nbaccel.machines.sources.provider.MachinesProvider"
_EMPTY_LISTS = (
    "initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands",
    "head_start_ray_commands", "worker_start_ray_commands", "cluster_synced_files", "rsync_exclude", "rsync_filter",
)  # fmt: skip


def autoscaling_config(
    types: Mapping[str, Mapping[str, Any]], *, cluster: str, address: str, token_file: str
) -> dict[str, Any]:
    """The configuration; `types` as `machine_types` returns them. Raises ValueError for a name that the head has."""
    if HEAD_TYPE in types:
        raise ValueError(f"A node type cannot be called {HEAD_TYPE!r}: that is the type of the head's own node.")
    counted = {name: {**options, **_bounds(options)} for name, options in types.items()}
    relaxed = os.environ.get("RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL") == "minor"
    return {
        "cluster_name": cluster,
        "max_workers": sum(options["max"] for options in counted.values()),
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": DEFAULT_IDLE_S / 60,
        "head_node_type": HEAD_TYPE,
        "provider": {
            "type": "external",
            "module": _PROVIDER,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
            "foreground_node_launch": True,
            "nbaccel": {
                "address": address,
                "token_file": token_file,
                "folder": str(Path.home() / ".cache" / "nbaccel" / "slurm"),
                "head_id": HEAD_ID,
                "head_type": HEAD_TYPE,
                "python_parts": 2 if relaxed else 3,
                "types": counted,
            },
        },
        "available_node_types": {
            HEAD_TYPE: {"resources": {}, "node_config": {}, "max_workers": 0},
            **{name: _ray_type(options) for name, options in counted.items()},
        },
        **{key: [] for key in _EMPTY_LISTS},
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "file_mounts_sync_continuously": False,
    }


def _bounds(options: Mapping[str, Any]) -> dict[str, Any]:
    idle_s = options.get("idle_s")
    most = DEFAULT_MOST if options["from"] == SLURM else len(options["ssh"]["hosts"])
    return {
        "min": options.get("min") or 0,
        "max": options.get("max") or most,
        "idle_s": DEFAULT_IDLE_S if idle_s is None else idle_s,
    }


def _ray_type(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "resources": {name: int(amount) for name, amount in node_resources(options).items()},
        "labels": node_labels(options),
        "node_config": {},
        "min_workers": options["min"],
        "max_workers": options["max"],
        "idle_timeout_s": options["idle_s"],
        "priority": options.get("priority") or 0,
    }
