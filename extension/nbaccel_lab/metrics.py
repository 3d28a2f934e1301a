"""What Prometheus reads: devices, runtimes and tasks, in its text format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado.web import authenticated

from nbaccel_lab.connection import HeadRefused, HeadUnavailable
from nbaccel_lab.handler import RESOURCE, NbaccelHandler
from nbaccel_lab.runtimes import RuntimeRecord

Sample = tuple[dict[str, str], float]
Family = tuple[str, str, Iterable[Sample]]  # (name, what it says, samples)
_OF_DEVICES = {
    "utilisation_percent": ("nbaccel_device_utilisation_ratio", "Load of a device, of 1.", 0.01),
    "memory_used_bytes": ("nbaccel_device_memory_used_bytes", "Memory of a device that is in use.", 1.0),
    "memory_total_bytes": ("nbaccel_device_memory_bytes", "Memory of a device.", 1.0),
    "temperature_celsius": ("nbaccel_device_temperature_celsius", "Temperature of a device.", 1.0),
    "power_watts": ("nbaccel_device_power_watts", "Power that a device draws.", 1.0),
}


class MetricsHandler(NbaccelHandler):
    @authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        try:
            machine = await self.watching.sampler.machine()
        except TimeoutError:
            machine = {}  # a vendor's library hangs: the runtimes are told all the same
        await self.watching.look()
        records = self.watching.records()
        snapshots = await asyncio.gather(*(self._snapshot(record) for record in records))
        families = [*of_machine(machine), *of_runtimes(list(zip(records, snapshots, strict=True)))]
        self.finish(text(families), set_content_type="text/plain; version=0.0.4; charset=utf-8")

    async def _snapshot(self, record: RuntimeRecord) -> dict[str, Any] | None:
        try:
            return await self.watching.snapshot(record)
        except (HeadUnavailable, HeadRefused):
            return None  # nbaccel_runtime_up says so


def of_machine(machine: dict[str, Any]) -> Iterator[Family]:
    """What the sampler knows of devices; a value that is unknown has no sample."""
    for field, (name, says, factor) in _OF_DEVICES.items():
        rows = [(_device(row), row.get(field)) for row in machine.get("devices", [])]
        yield name, says, [(labels, value * factor) for labels, value in rows if value is not None]


def _device(row: dict[str, Any]) -> dict[str, str]:
    return {"device": str(row["id"]), "uuid": row["uuid"], "name": row["name"], "vendor": row["vendor"]}


def of_runtimes(known: list[tuple[RuntimeRecord, dict[str, Any] | None]]) -> Iterator[Family]:
    """What the runtimes say of themselves; one that does not answer has the value 0 for `up` and no other."""
    up = [({"runtime": record.id, "title": record.title}, float(said is not None)) for record, said in known]
    yield "nbaccel_runtime_up", "Whether a runtime answers.", up
    answering = [(record.id, said) for record, said in known if said is not None]
    tasks = [
        ({"runtime": id, "state": state}, float(number))
        for id, said in answering
        for state, number in said.get("counts", {}).items()
    ]
    yield "nbaccel_tasks", "Tasks of a runtime in a state.", tasks
    held = [
        ({"runtime": id, "resource": row["resource"], "device": str(row["id"])}, 1.0 - row.get("free", 1.0))
        for id, said in answering
        for row in said.get("devices", [])
    ]
    yield "nbaccel_device_held_ratio", "Part of a device that work of a runtime holds, of 1.", held
    alerts = [({"runtime": id}, float(len(said.get("alerts", [])))) for id, said in answering]
    yield "nbaccel_alerts", "Alerts of a runtime.", alerts


def text(families: Iterable[Family]) -> str:
    """The families in Prometheus' text format; one without samples is left out."""
    lines = []
    for name, says, samples in families:
        written = [f"{name}{_labels(labels)} {value:.10g}" for labels, value in samples]
        if written:
            lines += [f"# HELP {name} {says}", f"# TYPE {name} gauge", *written]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    """The format escapes a backslash, a quote and a newline, as JSON does; other characters stand as they are."""
    return "{" + ",".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels.items()) + "}"
