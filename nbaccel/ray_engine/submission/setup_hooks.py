"""worker_process_setup_hook of a task or an actor: Ray itself takes hooks of a whole job only."""

from __future__ import annotations

import importlib

from nbaccel.ray_engine.border.rays import Environment

VARIABLE = "NBACCEL_SETUP_HOOK"  # as nbaccel_in_ray calls it
MOST_CHARACTERS = 100_000  # of a variable: Linux takes 131,072


def carried(environment: Environment) -> Environment:
    """The environment with its hook in a variable, where nbaccel_in_ray finds it. Raises TypeError, ValueError."""
    hook = environment.get("worker_process_setup_hook")
    if hook is None:
        return environment
    there = importlib.import_module("nbaccel_in_ray.setup_hooks")
    text = there.packed(hook)
    if len(text) > MOST_CHARACTERS:
        name = getattr(hook, "__name__", hook)
        raise ValueError(
            f"worker_process_setup_hook {name} takes {len(text):,} bytes with what it captures, but at most "
            f"{MOST_CHARACTERS:,} can travel: let it read its data, or give it to init(runtime_env=...)."
        )
    made = {name: value for name, value in environment.items() if name != "worker_process_setup_hook"}
    return {**made, "env_vars": {**(made.get("env_vars") or {}), VARIABLE: text}}
