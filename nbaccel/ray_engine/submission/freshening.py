"""After a re-run cell or an edited module: exports functions again, and makes Ray start new workers.

Ray exports a function once for good. Its workers keep the modules that they have imported; those that are wanted by
another runtime environment are other processes, so each edit of a local module gives one more variable to the
environment of all that comes after it.
"""

from __future__ import annotations

from nbaccel import engine as engines
from nbaccel import freshness, surroundings
from nbaccel.handles.remote import ActorClass, RemoteFunction
from nbaccel.ray_engine.border.rays import Environment
from nbaccel.views import sinks

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
