"""Starts a cluster from a cell that may run twice: the same request changes nothing, another one is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nbaccel.exceptions import HeadDiedError
from nbaccel.handles.options import init_options
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.views import wording
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import Snapshot
from nbaccel.views.tables import RUNNING


class StartedApi(Protocol):
    """The functions of nbaccel that starting needs: those of `nbaccel.api`, or of a test."""

    def is_initialized(self) -> bool: ...
    @property
    def init(self) -> Callable[..., object]: ...
    def shutdown(self) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def start_head(self, **options: Any) -> SessionRecord: ...


class Starter:
    """Remembers what this notebook's cluster was started with."""

    def __init__(self, cluster: StartedApi, find_heads: Callable[[], Sequence[SessionRecord]]) -> None:
        self._cluster = cluster
        self._find_heads = find_heads
        self._asked: dict[str, Any] | None = None
        self._session = ""

    def start(self, asked: dict[str, Any], *, shared: bool = False, restart: bool = False) -> list[str]:
        """Starts the requested cluster unless it runs already; returns sentences for the user.

        Raises TypingMistake, with the difference, if another cluster runs.
        """
        init_options(**asked)  # wrong options raise an error before anything is compared or ended
        said: list[str] = []
        if self._cluster.is_initialized() and (restart or self._why_lost()):
            said.append(self.stop())
        if self._cluster.is_initialized():
            self._compare(asked | ({"shared": True} if shared else {}))
            return said
        if shared:
            said += self._join_shared(asked)
        else:
            self._cluster.init(**asked)
        self._asked = asked | ({"shared": True} if shared else {})
        snapshot = self._cluster.snapshot()
        self._session = snapshot.runtime.session
        return said + _fewer_cpus(asked.get("num_gpus"), snapshot)

    def stop(self) -> str:
        """Ends the cluster, or leaves a shared one; returns a sentence that says which."""
        self._asked = None
        if not self._cluster.is_initialized():
            return "nbaccel was not running here."
        if why := self._why_lost():
            self._cluster.shutdown()
            return why
        runtime = self._cluster.snapshot().runtime
        shared = runtime.shared
        self._cluster.shutdown()
        if shared and runtime.engine == "ray":
            return (
                "Left the Ray cluster; it runs on. It is ended where it was started: `nbaccel stop` on the machine of "
                "`nbaccel start --head`, `kubectl delete raycluster NAME` on Kubernetes."
            )
        return "Left the shared cluster; it runs on. End it with: nbaccel stop" if shared else "nbaccel has shut down."

    def _why_lost(self) -> str:
        """A sentence if the cluster of this notebook has gone by itself, such as by the death of its head."""
        try:
            self._cluster.snapshot()
        except HeadDiedError as error:
            return f"The old cluster has gone. {str(error).partition(' What had not been fetched')[0]}"
        return ""

    def _compare(self, asked: dict[str, Any]) -> None:
        snapshot = self._cluster.snapshot()
        started = self._asked if snapshot.runtime.session == self._session else None
        if not asked or asked == started:
            return
        busy = sum(number for state, number in snapshot.counts.items() if state in RUNNING)
        price = f", which ends {wording.count(busy, 'running task')}" if busy else ""
        if started is None:
            raise TypingMistake(
                "A cluster that %accel_init did not start runs already: nbaccel.init() started it, or the first call, "
                "such as f.remote() or %accel_probe. Use it as it is (%accel_status), or give --restart to start with "
                f"{_words(asked)}{price}."
            )
        raise TypingMistake(f"{_difference(started, asked)} To restart with the new options, add --restart{price}.")

    def _join_shared(self, asked: dict[str, Any]) -> list[str]:
        running = [record for record in self._find_heads() if record.shared]
        if running:
            self._cluster.init(address=running[0].socket)
            ignored = f" Its own options apply, not {_words(asked)}." if asked else ""
            return [f"Joined the shared cluster of pid {running[0].pid}.{ignored}"]
        record = self._cluster.start_head(**asked)
        self._cluster.init(address=record.socket)
        return [f"Started a shared cluster, pid {record.pid}; other notebooks join it with %accel_init shared=true."]


def _difference(started: dict[str, Any], asked: dict[str, Any]) -> str:
    changed = [name for name in {**started, **asked} if started.get(name) != asked.get(name)]
    parts = [f"{name} was {_value(started, name)} and is now {_value(asked, name)}" for name in changed]
    return f"nbaccel runs already with other options: {'; '.join(parts)}."


def _value(options: dict[str, Any], name: str) -> str:
    return str(options[name]) if name in options else "not given"


def _words(options: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())


def _fewer_cpus(gpus: float | None, snapshot: Snapshot) -> list[str]:
    """A sentence where tasks that hold a CPU each, as tasks do by default, cannot use all GPUs at the same time."""
    cpus = sum(node.totals.get("CPU", 0) for node in snapshot.nodes)
    if not gpus or cpus >= gpus:
        return []
    return [
        f"There are {gpus:g} GPUs and {wording.count(int(cpus), 'CPU')}. A task holds one CPU unless it says "
        f"otherwise: use @remote(num_gpus=1, num_cpus=0), or start with num_cpus={gpus:g}."
    ]
