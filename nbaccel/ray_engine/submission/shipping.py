"""Brings nbaccel_in_ray to Ray's workers.

```
  a Ray of our own           by the job's search path: a runtime environment would cost every worker a second start
  a cluster that we join     by the job's runtime environment
  a Ray the program started  by the runtime environment of each task, since the job's own is settled already
```
"""

from __future__ import annotations

import importlib
import logging
import tempfile

from nbaccel import engine as engines
from nbaccel import freshness, surroundings
from nbaccel.handles.remote import ActorClass, RemoteFunction
from nbaccel.ray_engine import starting
from nbaccel.ray_engine.rays import PACKAGE, Environment
from nbaccel.ray_engine.session import internals
from nbaccel.views import sinks

# ---- after a re-run cell or an edited module: exports functions again, and makes Ray start new workers
#
# Ray exports a function once for good. Its workers keep the modules that they have imported; those that are wanted by
# another runtime environment are other processes, so each edit of a local module gives one more variable to the
# environment of all that comes after it.


EDITION = "NBACCEL_EDITION"  # the variable: how often local modules were edited


class Freshening:
    """Of one driver. `serial` marks its entries in the caches of functions and classes."""

    def __init__(self, serial: int) -> None:
        self._serial = serial
        self._modules = freshness.LocalModules()
        self._changes = surroundings.ChangesSinceInit()
        self._looked_for = b""
        self.edition = 0

    def look(self, thing: RemoteFunction | ActorClass, code: object) -> None:
        """Once for each cell that uses `thing`: if its code or a local module has changed, forget what was exported."""
        cell = engines.cell_source()[1] if engines.cell_source is not None else b""
        cache = thing._cache
        known = cache.get((self._serial, "code"))
        if not cell or (known is not None and known[0] == cell):
            return
        if cell != self._looked_for:
            self._looked_for = cell
            self.edition += self._modules.changed()
            self._show_what_stays(cell)
        digest = freshness.fingerprint(code)
        digest += freshness.fingerprint(thing._fallback) if thing._fallback is not None else b""
        if known is not None and known[1:] != (digest, self.edition):
            mine = [key for key in cache if key == self._serial or (isinstance(key, tuple) and key[0] == self._serial)]
            for key in mine:
                del cache[key]
        cache[(self._serial, "code")] = (cell, digest, self.edition)

    def _show_what_stays(self, cell: bytes) -> None:
        """Name what the notebook has changed and Ray's workers do not see: Ray shows the env_vars that it is given in
        its views and logs, so that no secret may be given to it unasked.
        """
        news = self._changes.news() if self._changes.look() else ""
        if news:
            words = (
                f"Workers on Ray do not see {news}: they have what was there at init(). "
                "Pass it with runtime_env (env_vars, py_modules, working_dir)."
            )
            sinks.installed.notice(sinks.Notice("surroundings", words, cell))

    def environment(self, environment: Environment | None) -> Environment | None:
        """The runtime environment for submissions from now on."""
        if not self.edition:
            return environment
        variables = {**((environment or {}).get("env_vars") or {}), EDITION: str(self.edition)}
        return {**(environment or {}), "env_vars": variables}


# ----


_logger = logging.getLogger(__name__)


class Shipping:
    """The part of the package that a task's own runtime environment has to carry."""

    def __init__(self, freshening: Freshening, *, joined: bool, by_task: bool, one_machine: bool) -> None:
        self._freshening = freshening
        self._one_machine = one_machine
        self._joined = joined
        self._by_task = by_task
        self._uri = ""

    def _uploaded(self) -> str:
        """Where the package lies in Ray's own store; it is put there once."""
        if not self._uri:
            with tempfile.TemporaryDirectory() as scratch:
                made = internals.upload_py_modules({"py_modules": [str(PACKAGE)]}, scratch_dir=scratch, logger=_logger)
            self._uri = made["py_modules"][0]
        return self._uri

    def completed(self, environment: Environment | None) -> Environment | None:
        """The runtime environment of a task: one that brings modules of its own hides those of the job.

        Ray takes folders of this machine for the whole job only; what a task brings is put into Ray's store by us.
        """
        environment = self._freshening.environment(environment)
        if environment is not None and self._one_machine:
            environment = starting.or_error(environment)
        if environment is not None:
            environment = carried_hooks(_with_folders_uploaded(environment))
        own_modules = (environment or {}).get("py_modules")
        if self._by_task or (self._joined and own_modules):
            return {**(environment or {}), "py_modules": [*(own_modules or []), self._uploaded()]}
        return environment

    def keywords(self) -> Environment:
        """For nbaccel's own actors and tasks."""
        environment = self.completed(None)
        return {"runtime_env": environment} if environment else {}


def _with_folders_uploaded(environment: Environment) -> Environment:
    """Where what it names lies in Ray's store; names of places elsewhere stay as they are."""
    folders = [environment.get("working_dir"), *(environment.get("py_modules") or [])]
    if not any(isinstance(each, str) and "://" not in each for each in folders):
        return environment
    with tempfile.TemporaryDirectory() as scratch:
        made = internals.upload_py_modules(dict(environment), scratch_dir=scratch, logger=_logger)
        return dict(internals.upload_working_dir(made, scratch_dir=scratch, logger=_logger))


# ---- worker_process_setup_hook of a task or an actor: Ray itself takes hooks of a whole job only


VARIABLE = "NBACCEL_SETUP_HOOK"  # as nbaccel_in_ray calls it
MOST_CHARACTERS = 100_000  # of a variable: Linux takes 131,072


def carried_hooks(environment: Environment) -> Environment:
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
