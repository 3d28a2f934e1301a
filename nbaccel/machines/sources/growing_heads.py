"""A head of a Ray cluster that grows: `nbaccel start --head --engine=ray --node-types machines.toml`."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbaccel.handles.node_types import DEFAULT_IDLE_S, DEFAULT_MOST, SLURM, SSH, machine_types
from nbaccel.machines import node_records, ray_head
from nbaccel.machines.ray_head import HeadPlan
from nbaccel.machines.sources.machines import node_labels, node_resources
from nbaccel.machines.sources.programs import SourceRefusal

_PROGRAMS = {SLURM: ("sbatch", "squeue", "scancel"), SSH: ("ssh",)}


def growing(plan: HeadPlan, node_types: str) -> HeadPlan:
    """The plan of a head whose cluster grows by the types of a machines.toml.

    Raises ValueError or TypeError for a mistake in the file, SourceRefusal if a program of a source is missing.
    """
    types = machine_types(node_types)
    _check_programs(types)
    port = ray_head.chosen_port(plan.port)
    address = ray_head.address_at(port)
    config = autoscaling_config(
        types, cluster=secrets.token_hex(4), address=address, token_file=ray_head.token_file_of(plan.token_file)
    )
    return replace(
        plan,
        port=port,
        node_type=HEAD_TYPE,
        autoscaling_config=_written(config, address),
        instance_id=HEAD_ID,
        variables={**plan.variables, **VARIABLES},
    )


def _check_programs(types: Mapping[str, Mapping[str, Any]]) -> None:
    for source in {options["from"] for options in types.values()}:
        missing = [program for program in _PROGRAMS[source] if shutil.which(program) is None]
        if missing:
            raise SourceRefusal(
                f"from = {source!r} needs {', '.join(missing)} on the PATH of this machine. Start the head where "
                f"{missing[0]} is: {'a login node of the cluster' if source == SLURM else 'install an SSH client'}."
            )


def _written(config: Mapping[str, Any], address: str) -> Path:
    """The file, which Ray reads again and again; it goes with the head's record."""
    path = node_records.autoscaling_file(address)
    path.write_text(json.dumps(config, indent=1))
    return path


# ---- the file that Ray's autoscaler reads, from the node types of a machines.toml


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
