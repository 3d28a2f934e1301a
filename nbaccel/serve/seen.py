"""Shows the applications of a driver to all viewers: publishes a snapshot of each, and draws it under its cell.

```
  the thread `nbaccel-serve-seen` ── status? ──► door          each second, while something is served
        └── snapshots_of ──┬── publish("application", …) ──► snapshots of the cluster
                           └── sinks.installed.application ──► the card
```
Each process of the job that has served something does it. One of them publishes the record of an application; the
others try at each look, so that another one does when it has ended.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.serve.exceptions import RayServeException
from nbaccel.views import sinks, wording
from nbaccel.views.served_snapshot import (
    KIND,
    MOST_REPLICAS,
    DeploymentRow,
    LastError,
    ReplicaRow,
    ServedSnapshot,
)

EVERY_S = 1.0
_TRACEBACK = 4000  # characters
_STATES = {
    "DEPLOYING": "deploying", "RUNNING": "serving", "UNHEALTHY": "unhealthy", "DEPLOY_FAILED": "failed",
    "DELETING": "ending",
}  # fmt: skip


class ShownApplications:
    """The applications of a job, as one process shows them."""

    def __init__(
        self, folder: str, ask: Callable[[], dict[str, Any]], asked: Callable[[str], Callable[[str], object]]
    ) -> None:
        """`ask` gives the door's status, without applications if there is no door.

        `asked` gives what takes the requests to an application, such as "stop".
        """
        self._folder = folder
        self._ask = ask
        self._asked = asked
        self._last: dict[str, ServedSnapshot] = {}  # by name
        self._published: dict[str, ServedSnapshot] = {}  # of these, what this process publishes
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nbaccel-serve-seen", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self.look()

    def look(self) -> None:
        """Show what has changed. A door that does not answer has a successor, or the session ends."""
        try:
            status = self._ask()
            with self._lock:
                if not self._over.is_set():
                    self._show(status)
        except (exceptions.RayError, RayServeException, OSError, RuntimeError):
            pass

    def _show(self, status: dict[str, Any]) -> None:
        now = snapshots_of(self._folder, status)
        for name, snapshot in now.items():
            if snapshot != self._last.get(name):
                self._last[name] = snapshot
                sinks.installed.application(snapshot)
            if snapshot != self._published.get(name):
                self._publish(name, snapshot)
        for name in [name for name in self._last if name not in now]:
            self._end(name)

    def _publish(self, name: str, snapshot: ServedSnapshot) -> None:
        try:
            engines.current().publish(KIND, snapshot.id, msgspec.to_builtins(snapshot), self._asked(name))
        except ValueError:  # another process of the job publishes it
            self._published.pop(name, None)
        else:
            self._published[name] = snapshot

    def _end(self, name: str) -> None:
        sinks.installed.application(ended(self._last.pop(name)))
        published = self._published.pop(name, None)
        if published is not None:
            engines.current().publish(KIND, published.id, None)

    def again(self, name: str) -> None:
        """A cell has served this application: it has the card now."""
        self.look()
        with self._lock:
            if name in self._last:
                sinks.installed.application(self._last[name], under_this_cell=True)

    def close(self) -> None:
        """The session ends: what is shown stays as it was, as ended."""
        self._over.set()
        with self._lock:
            for name in list(self._last):
                try:
                    self._end(name)
                except (exceptions.RayError, OSError, RuntimeError):
                    pass  # the head has gone, and its records with it


def ended(last: ServedSnapshot) -> ServedSnapshot:
    """The last that was known, without what has gone."""
    rows = [replace(each, replicas=[], more=0, message="") for each in last.deployments]
    return replace(last, state="ended", ended_at=time.time(), deployments=rows, under_way=0, queued=0, why="")


def snapshots_of(folder: str, status: dict[str, Any]) -> dict[str, ServedSnapshot]:
    """From what the door answers, by name."""
    return {name: _application(folder, name, app, status) for name, app in status["apps"].items()}


def id_of(folder: str, name: str) -> str:
    """Of an application of the door in this folder."""
    return f"served-{hashlib.sha256(f'{folder} {name}'.encode()).hexdigest()[:12]}"


def _application(folder: str, name: str, app: dict[str, Any], door: dict[str, Any]) -> ServedSnapshot:
    counts, prefix = app["counts"], app["route_prefix"]
    rows = [_deployment(each, facts) for each, facts in app["deployments"].items()]
    is_unhealthy = any(facts["status"] == "UNHEALTHY" for facts in app["deployments"].values())
    return ServedSnapshot(
        id_of(folder, name),
        wording.encodable(name),
        "unhealthy" if is_unhealthy and app["status"] == "RUNNING" else _STATES.get(app["status"], "deploying"),
        "" if prefix is None else f"{door['url']}{prefix}",
        "" if prefix is None else _route(name),
        door["socket"],
        prefix or "",
        app["asks_token"],
        wording.encodable(app["message"])[:500],
        app["last_deployed_time_s"],
        None,
        rows,
        counts.get("requests", 0),
        counts.get("statuses", {}),
        counts.get("per_s", 0.0),
        counts.get("p50_s"),
        counts.get("p95_s"),
        counts.get("under_way", 0),
        app["queued"],
        counts.get("failed", 0),
    )


def _route(name: str) -> str:
    """Where nbaccel's server extension has the application, below a JupyterHub (`extension/nbaccel_lab/served.py`)."""
    user = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
    return f"{user}nbaccel/serve/{quote(name, safe='')}/" if user.startswith("/") else ""


def _deployment(name: str, facts: dict[str, Any]) -> DeploymentRow:
    shown = facts["replicas"][:MOST_REPLICAS]
    more = sum(row["state"] == "RUNNING" for row in facts["replicas"][MOST_REPLICAS:])
    batches = sum(row["batches"][0] for row in facts["replicas"])
    items = sum(row["batches"][1] for row in facts["replicas"])
    limit = max((row["batches"][2] for row in facts["replicas"]), default=0)
    return DeploymentRow(
        wording.encodable(name),
        facts["wanted"],
        [_replica(row) for row in shown],
        more,
        facts["max_ongoing_requests"],
        _share(facts["asks"]),
        round(items / batches, 1) if batches else 0.0,
        limit,
        wording.encodable(facts["message"])[:500],
        _error(facts["last_error"]),
    )


def _share(asks: dict[str, float]) -> str:
    """ "½ GPU" is written as 0.5: terminals differ."""
    gpus = asks.get("num_gpus", 0)
    return wording.demand({"GPU": gpus}) if gpus else ""


def _replica(row: dict[str, Any]) -> ReplicaRow:
    return ReplicaRow(
        row["actor_id"],
        row["state"],
        row["pid"],
        {name: ids for name, ids in row["device_ids"].items() if ids},
        row["since"],
        row["ongoing"],
        wording.encodable(row["fallback"]),
        wording.encodable(row["blocked"])[-_TRACEBACK:],
    )


def _error(error: dict[str, Any]) -> LastError | None:
    if not error:
        return None
    words = wording.encodable(error["message"])[:500]
    return LastError(
        error["time"], wording.encodable(error["type"]), words, wording.encodable(error["traceback"])[-_TRACEBACK:]
    )
