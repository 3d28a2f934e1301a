"""Checked node types and the settings of a cluster, as the sources get them."""

from __future__ import annotations

from typing import Any

from nbaccel.machines.sources.machines import NodeSettings

SETTINGS = NodeSettings("c1", "10.0.0.5:6379", "2.60.0", "3.11.7", 3, "/home/me/.ray/auth_token")


def slurm_type(*directives: str, **options: Any) -> dict[str, Any]:
    return {"from": "slurm", "slurm": {"directives": directives, "python": None}, **options}


def ssh_type(*hosts: str, **options: Any) -> dict[str, Any]:
    return {"from": "ssh", "ssh": {"hosts": hosts, "python": None, "config": None}, **options}
