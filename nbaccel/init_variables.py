"""What environment variables say where a call of `init()` says nothing."""

from __future__ import annotations

import os
from typing import Any

_OF_ONES_OWN = {"engine", "num_cpus", "num_gpus", "resources", "node_types", "simulate"}


def joined_with(address: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of init() with those of the environment: NBACCEL_ADDRESS, NBACCEL_NODE_TYPES, and Ray's own.

    NBACCEL_ADDRESS counts for a program that gives no address and asks for no engine, resources or node types of its
    own; NBACCEL_NODE_TYPES for one that starts a local head.
    """
    address = address or (None if _OF_ONES_OWN & given.keys() else os.environ.get("NBACCEL_ADDRESS") or None)
    types = os.environ.get("NBACCEL_NODE_TYPES")
    starts_a_head = address in (None, "local") and given.get("engine") in (None, "local")
    ours = {"node_types": types} if types and starts_a_head else {}
    return {**_rays_own(), **ours, **given, "address": address}


def _rays_own() -> dict[str, Any]:
    """The keywords that Ray's variables set."""
    hides = os.environ.get("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "").lower() in ("1", "true")
    return {"hide_unassigned": True} if hides else {}
