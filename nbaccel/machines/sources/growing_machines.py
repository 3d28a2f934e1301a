"""The machines of a growing cluster: what Ray's autoscaler asks for is begun, looked after and explained.

A thread looks at the sources, so that what is known is answered at once: a `squeue` that hangs makes the picture old,
which is said, and stops nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nbaccel import ray_preflight
from nbaccel.machines.sources.machines import (
    FarMachine,
    MachineSource,
    MachineState,
    SourceError,
    node_labels,
    node_resources,
)

LOOK_EVERY_S = 2.0
_LONGEST_PAUSE_S = 600.0
_JOINS_WITHIN_S = 30.0  # Ray starts in 10 s on a quiet machine; after it, the view says that the node has not joined


@dataclass(slots=True)
class Trouble:
    """Failures in a row: of one type's machines, or of a source that cannot be looked at."""

    failures: int = 0
    why: str = ""
    try_at: float = 0.0

    def add(self, why: str, now: float) -> None:
        self.failures += 1
        self.why = why
        self.try_at = now + min(_LONGEST_PAUSE_S, 4.0**self.failures)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A machine that was asked for and whose node has not joined."""

    machine: FarMachine
    since: float


class GrowingMachines:
    """All machines of one cluster, by id. Its methods are called by several threads."""

    def __init__(
        self,
        sources: Mapping[str, MachineSource],
        source_of: Mapping[str, str],
        joined: Callable[[], set[str] | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`source_of` names each type's source; `joined` returns the ids of the nodes that Ray has, or None."""
        self._sources = sources
        self._source_of = source_of
        self._joined = joined
        self._clock = clock
        self._lock = threading.Lock()
        self._machines: dict[str, FarMachine] = {}
        self._since: dict[str, float] = {}
        self._runs_since: dict[str, float] = {}
        self._here: set[str] = set()  # of them, those whose node has joined
        self._asked_to_end: set[str] = set()
        self._troubles = {name: Trouble() for name in source_of}
        self._deaf: dict[str, Trouble] = {name: Trouble() for name in sources}

    def begin(self, node_type: str) -> None:
        """Ask for a machine. Raises SourceError if it is refused, or if the last ones of its type have failed."""
        trouble = self._troubles[node_type]
        wait_s = trouble.try_at - self._clock()
        if trouble.failures and wait_s > 0:
            raise SourceError(f"{trouble.why} (tried {_times(trouble.failures)}; next try in {wait_s:.0f} s)")
        try:
            machine = self._sources[self._source_of[node_type]].begin(node_type)
        except SourceError as error:
            with self._lock:
                trouble.add(str(error), self._clock())
            raise
        with self._lock:
            self._machines[machine.id] = machine
            self._since[machine.id] = self._clock()

    def end(self, id: str) -> None:
        """End a machine. Raises SourceError; then it is still there."""
        with self._lock:
            machine = self._machines.get(id)
            self._asked_to_end.add(id)
        if machine is None:
            return
        try:
            self._sources[self._source_of[machine.node_type]].end(id)
        except SourceError:
            with self._lock:
                self._asked_to_end.discard(id)
            raise
        with self._lock:
            self._drop(id)

    def close(self) -> None:
        for source in self._sources.values():
            source.close()

    # ---- what is known

    def all(self) -> dict[str, FarMachine]:
        """The machines that were asked for and have not ended."""
        with self._lock:
            return dict(self._machines)

    def arrivals(self) -> list[Arrival]:
        """Those that have not joined, with the reason as it is known now."""
        with self._lock:
            waiting = [machine for id, machine in self._machines.items() if id not in self._here]
            return [Arrival(self._explained(machine), self._since[machine.id]) for machine in waiting]

    def troubles(self) -> dict[str, Trouble]:
        """The failures in a row of each type."""
        with self._lock:
            return {name: replace(trouble) for name, trouble in self._troubles.items()}

    def _explained(self, machine: FarMachine) -> FarMachine:
        deaf = self._deaf[self._source_of[machine.node_type]]
        said = machine.said
        runs_s = self._clock() - self._runs_since.get(machine.id, self._clock())
        if runs_s > _JOINS_WITHIN_S:
            said = f"{said}, and has not joined for {runs_s:.0f} s"
        return replace(machine, said=f"{said} (not seen since: {deaf.why})" if deaf.failures else said)

    # ---- looking

    def look(self) -> None:
        """Ask all sources how their machines are."""
        here = self._joined()
        for name, source in self._sources.items():
            with self._lock:
                known = {id for id, machine in self._machines.items() if self._source_of[machine.node_type] == name}
            try:
                found = source.look()
            except SourceError as error:
                with self._lock:
                    self._deaf[name].add(str(error), self._clock())
                continue
            with self._lock:
                self._deaf[name] = Trouble()
                self._seen(found, known, here)

    def _seen(self, found: list[FarMachine], known: set[str], here: set[str] | None) -> None:
        """What was `known` before the look and is not found has ended; what was begun meanwhile may not be listed."""
        now = self._clock()
        by_id = {machine.id: machine for machine in found}
        for id in known - by_id.keys():
            self._has_ended(replace(self._machines[id], said="it is gone, and its source does not say why"), now)
        for machine in found:
            if machine.id in self._asked_to_end:
                continue
            if machine.state is MachineState.ENDED:
                self._has_ended(machine, now)
                continue
            if machine.id not in self._machines:  # of this cluster, begun before its autoscaler was started again
                self._since[machine.id] = now
            self._machines[machine.id] = machine
            if machine.state is MachineState.STARTING:
                self._runs_since.setdefault(machine.id, now)
        if here is not None:
            self._have_joined(here)

    def _have_joined(self, here: set[str]) -> None:
        for id in here & self._machines.keys() - self._here:
            self._here.add(id)
            self._troubles[self._machines[id].node_type] = Trouble()

    def _has_ended(self, machine: FarMachine, now: float) -> None:
        """A machine that ended by itself; before its node had joined, that is a failure of its type."""
        if machine.id in self._machines and machine.id not in self._here and machine.id not in self._asked_to_end:
            self._troubles[machine.node_type].add(machine.said, now)
        self._drop(machine.id)

    def _drop(self, id: str) -> None:
        self._machines.pop(id, None)
        self._since.pop(id, None)
        self._runs_since.pop(id, None)
        self._here.discard(id)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


# ---- what the provider tells every driver of the cluster: the types of machines, and those that have not joined


KEY, NAMESPACE = b"nbaccel:machines", b"nbaccel"  # in Ray's own table of keys


def arrivals_told(
    machines: GrowingMachines, types: Mapping[str, Mapping[str, Any]], now: float, clock: float
) -> dict[str, list[dict[str, Any]]]:
    """The rows, with the names that views use; `now` is the machines' own time, `clock` the Unix seconds then."""
    arriving = machines.arrivals()
    count = machines.all()
    troubles = machines.troubles()
    return {
        "node_types": [
            _type_row(name, options, troubles[name], clock - now)
            | {
                "arriving": sum(one.machine.node_type == name for one in arriving),
                "here": sum(machine.node_type == name for machine in count.values())
                - sum(one.machine.node_type == name for one in arriving),
            }
            for name, options in types.items()
        ],
        "arrivals": [_arrival_row(one, types, clock - now) for one in arriving],
    }


def _type_row(name: str, options: Mapping[str, Any], trouble: Trouble, offset_s: float) -> dict[str, Any]:
    return {
        "name": name,
        "source": options["from"],
        "resources": node_resources(options),
        "labels": node_labels(options),
        "min": options["min"],
        "max": options["max"],
        "idle_s": options["idle_s"],
        "failures": trouble.failures,
        "why": trouble.why,
        "next_try_at": round(trouble.try_at + offset_s) if trouble.failures else None,
    }


def _arrival_row(one: Arrival, types: Mapping[str, Mapping[str, Any]], offset_s: float) -> dict[str, Any]:
    machine = one.machine
    return {
        "id": machine.id,
        "node_type": machine.node_type,
        "source": types[machine.node_type]["from"],
        "state": machine.said,
        "since": round(one.since + offset_s),
    }


def token_of(file: str) -> str:
    """The cluster's token, which a machine of ssh's gets through its connection."""
    return ray_preflight.read_token(file) if file else os.environ.get("RAY_AUTH_TOKEN", "")
