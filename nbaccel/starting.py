"""init(): it starts the head's process first, which boots while this one imports what it needs itself."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Unpack

    from nbaccel.api import ClusterContext
    from nbaccel.handles.keywords import InitKeywords


def init(address: str | None = None, **given: Unpack[InitKeywords]) -> ClusterContext:
    """Start a head for this process, or join a running one. Returns a card of the cluster.

    Ray's keywords (num_cpus, num_gpus, resources, labels, object_store_memory in bytes, namespace, runtime_env,
    ignore_reinit_error, …) and nbaccel's own: token_file, engine ("local", "ray" or "debug"), preload (modules that
    every worker has imported), simulate ("nvidia:4xA100"), gpu_vendor, hide_unassigned, on_interrupt, infeasible,
    node_types (types of virtual nodes that come when work needs them), notify and notify_after_s (the address or the
    command that gets a sentence when a run, an experiment or a task of a minute ends).

    Without `address` it joins the cluster that NBACCEL_ADDRESS names, unless it asks for a cluster of its own.

    Raises RuntimeError if it is called twice while the cluster lives, or gets an unknown keyword, ValueError if this
    machine cannot provide what is requested, and ConnectionError if nothing answers at `address`.

    >>> nbaccel.init(num_gpus=2)                  # as many as there are, if none are named
    """
    if not _starts_a_head(address, given.get("engine")):
        return _initialise(address, given)
    launch: Any = importlib.import_module("nbaccel.local_engine.driver.launch")
    with launch.ahead():
        return _initialise(address, given)


def _initialise(address: str | None, given: Any) -> ClusterContext:
    collects = gc.isenabled()
    gc.disable()  # imports leave no garbage, and make the collector look at all of it again and again
    try:
        from nbaccel import api

        return api.initialise(address, given)
    finally:
        if collects:
            gc.enable()


def _starts_a_head(address: str | None, engine: object) -> bool:
    """Whether init() is likely to start a head of its own. A wrong guess costs time and nothing else."""
    engines: Any = sys.modules.get("nbaccel.engine")
    if engines is not None and engines.started() is not None:
        return False
    joins = address is None and os.environ.get("NBACCEL_ADDRESS")
    return address in (None, "local") and engine in (None, "local") and not joins
