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
    yield from _of_applications(answering)
    alerts = [({"runtime": id}, float(len(said.get("alerts", [])))) for id, said in answering]
    yield "nbaccel_alerts", "Alerts of a runtime.", alerts


_OF_APPLICATIONS = {
    "under_way": ("nbaccel_serve_requests_under_way", "Requests that the door has sent to replicas."),
    "queued": ("nbaccel_serve_requests_queued", "Requests that wait at the door."),
    "p50_s": ("nbaccel_serve_p50_seconds", "Half of the last minute's requests took at most so long."),
    "p95_s": ("nbaccel_serve_p95_seconds", "95 of 100 of the last minute's requests took at most so long."),
}


def _of_applications(answering: list[tuple[str, dict[str, Any]]]) -> Iterator[Family]:
    """What is served, from the records that programs publish."""
    served = [
        ({"runtime": id, "application": str(row["record"].get("name"))}, row["record"])
        for id, said in answering
        for row in said.get("published", [])
        if row.get("kind") == "application"
    ]
    requests = [
        ({**labels, "status": status}, float(number))
        for labels, record in served
        for status, number in record.get("statuses", {}).items()
    ]
    yield "nbaccel_serve_requests_total", "Answered requests by HTTP.", requests
    replicas = [
        ({**labels, "deployment": each["name"]}, float(_serving(each)))
        for labels, record in served
        for each in record.get("deployments", [])
    ]
    yield "nbaccel_serve_replicas", "Replicas that serve.", replicas
    for field, (name, says) in _OF_APPLICATIONS.items():
        yield name, says, [(labels, float(record[field])) for labels, record in served if record.get(field) is not None]


def _serving(deployment: dict[str, Any]) -> int:
    rows = deployment.get("replicas", [])
    return sum(row["state"] == "RUNNING" for row in rows) + deployment.get("more", 0)  # type: ignore[no-any-return]


def text(families: Iterable[Family]) -> str:
    """The families in Prometheus' text format; one without samples is left out."""
    lines = []
    for name, says, samples in families:
        written = [f"{name}{_labels(labels)} {value:.10g}" for labels, value in samples]
        if written:
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# HELP {name} {says}", f"# TYPE {name} {kind}", *written]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    """The format escapes a backslash, a quote and a newline, as JSON does; other characters stand as they are."""
    return "{" + ",".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in labels.items()) + "}"
