"""The devices' room of a head: two H100 that count as real, a prober that never runs, and a scheduler that listens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nbaccel import accelerators
from nbaccel.accelerators import Device, DeviceKind
from nbaccel.accelerators.metrics import DeviceReading
from nbaccel.leases import Leases, default_directory
from nbaccel.local_engine.head.boot import Config
from nbaccel.local_engine.head.devices.node_devices import head_spec, offered_of
from nbaccel.local_engine.head.wiring import DeviceWiring
from nbaccel.local_engine.side_processes import prober
from tests.local_engine.head.seams import Clock, MadeHelpers

GIB = 1 << 30


class Onlookers:
    """What they were told."""

    def __init__(self) -> None:
        self.alerts: list[tuple[str, str]] = []
        self.notices: list[tuple[int, str]] = []
        self.changes = 0

    def notice(self, job_number: int, message: Any) -> None:
        self.notices.append((job_number, message.message))

    def alert(self, kind: str, message: str, **where: Any) -> None:
        self.alerts.append((kind, message))

    def changed(self) -> None:
        self.changes += 1


class Place:
    """The room, and another head on the same machine."""

    def __init__(self, **options: object) -> None:
        self.clock, self.helpers, self.onlookers = Clock(), MadeHelpers(), Onlookers()
        self.events: list[Any] = []
        self.notes: list[str] = []
        self.refused: list[str] = []
        self.warned: list[str] = []
        self.is_known = False
        self.measured: list[tuple[str, list[Device], list[Any]]] = []
        self.room = DeviceWiring(
            self.clock,
            self.helpers,
            Config("s", "/nowhere", 1 << 20, {"num_cpus": 2, **options}),
            self.events.append,
            self.onlookers,
            self.notes.append,
            known=self._known,
            refuse=self.refused.append,
            warn=lambda kind, words: self.warned.append(words),
            is_stopping=lambda: False,
            measured=lambda node_id, devices, metrics: self.measured.append((node_id, list(devices), list(metrics))),
        )
        self.nodes = self.room.nodes

    def _known(self) -> None:
        self.is_known = True

    def have_two_real(self) -> list[Device]:
        """The node has two devices that exist; what the scheduler was told of it is forgotten."""
        machine, options = accelerators.RealMachine(), {"num_cpus": 2}
        self.nodes.detection = accelerators.detect(machine, simulate="nvidia:2xH100")
        offered = offered_of(self.nodes.detection, options, machine.environ)
        offered.devices = {
            name: [msgspec.structs.replace(device, kind=DeviceKind.REAL) for device in devices]
            for name, devices in offered.devices.items()
        }
        self.nodes.add(head_spec(self.nodes, offered, options, 1 << 20), offered)
        self.events.clear()
        return self.nodes.real()

    def taken(self) -> list[Any]:
        """What the scheduler was told since the last look."""
        events, self.events[:] = list(self.events), []
        return events

    def asked(self) -> list[Any]:
        """What the prober was asked since the last look."""
        helper = self.helpers.by_name["prober"]
        said, helper.said = helper.said, []
        return [prober.decode_order(body) for body in said]

    def answer(self, report: Any) -> None:
        self.helpers.by_name["prober"].report(report)

    def prober_dies(self) -> None:
        died = self.helpers.by_name["prober"].on_restart
        assert died is not None
        died()


def metrics(used_bytes: int | None = 0, *, lost: str | None = None, pids: tuple[int, ...] = ()) -> dict[str, object]:
    """What the prober says of one device."""
    processes = [(pid, GIB) for pid in pids]
    return DeviceReading(memory_used_bytes=used_bytes, lost=lost, processes=processes).to_dict()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.setenv("NBACCEL_LEASE_DIR", str(tmp_path / "leases"))
    made = Place()
    yield made
    made.room.device_leases.release_all()


@pytest.fixture
def other_head(place: Place) -> Iterator[Leases]:
    """A notebook with a head of its own on this machine."""
    leases = Leases(default_directory(), "notebook b.ipynb")
    yield leases
    leases.release_all()
