"""A head of a Ray cluster that grows: `nbaccel start --head --engine=ray --node-types machines.toml`."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbaccel.handles.node_types import SLURM, SSH, machine_types
from nbaccel.machines import node_records, ray_head
from nbaccel.machines.ray_head import HeadPlan
from nbaccel.machines.sources import autoscaling_config
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
    config = autoscaling_config.autoscaling_config(
        types, cluster=secrets.token_hex(4), address=address, token_file=ray_head.token_file_of(plan.token_file)
    )
    return replace(
        plan,
        port=port,
        node_type=autoscaling_config.HEAD_TYPE,
        autoscaling_config=_written(config, address),
        instance_id=autoscaling_config.HEAD_ID,
        variables={**plan.variables, **autoscaling_config.VARIABLES},
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
