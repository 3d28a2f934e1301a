"""What `serve.status()` gives, under Ray Serve's names, and its text. States are texts: `status == "RUNNING"`."""

from __future__ import annotations

import html
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = [
    "ApplicationStatus",
    "ApplicationStatusOverview",
    "DeploymentStatus",
    "DeploymentStatusOverview",
    "ProxyStatus",
    "ServeStatus",
]


class ApplicationStatus(StrEnum):
    """The state of an application: the worst of its deployments' states."""

    NOT_STARTED = "NOT_STARTED"
    DEPLOYING = "DEPLOYING"
    DEPLOY_FAILED = "DEPLOY_FAILED"
    RUNNING = "RUNNING"
    UNHEALTHY = "UNHEALTHY"
    DELETING = "DELETING"


class DeploymentStatus(StrEnum):
    """The state of a deployment."""

    UPDATING = "UPDATING"
    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"
    DEPLOY_FAILED = "DEPLOY_FAILED"
    UPSCALING = "UPSCALING"
    DOWNSCALING = "DOWNSCALING"


class ProxyStatus(StrEnum):
    """The state of the door, the process that speaks HTTP."""

    STARTING = "STARTING"
    HEALTHY = "HEALTHY"


@dataclass
class DeploymentStatusOverview:
    """A deployment. `message` has what it waits for, or why it failed; `replicas` has a row for each."""

    status: DeploymentStatus
    status_trigger: str
    replica_states: dict[str, int]
    message: str
    replicas: list[dict[str, Any]] = field(default_factory=list)
    last_error: dict[str, Any] = field(default_factory=dict)
    wanted: int = 1


@dataclass
class ApplicationStatusOverview:
    """An application. `counts` has its requests by HTTP: totals, and the last minute's rate and times."""

    status: ApplicationStatus
    message: str
    last_deployed_time_s: float
    deployments: dict[str, DeploymentStatusOverview]
    route_prefix: str | None = "/"
    counts: dict[str, Any] = field(default_factory=dict)
    queued: int = 0
    asks_token: bool = False


@dataclass(repr=False)
class ServeStatus:
    """All that is served, and the door's address."""

    proxies: dict[str, ProxyStatus] = field(default_factory=dict)
    applications: dict[str, ApplicationStatusOverview] = field(default_factory=dict)
    url: str = ""

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def status_of(facts: dict[str, Any], node: str) -> ServeStatus:
    """From what the door answers."""
    return ServeStatus(
        {node: ProxyStatus.HEALTHY}, {name: _application(app) for name, app in facts["apps"].items()}, facts["url"]
    )


def _application(app: dict[str, Any]) -> ApplicationStatusOverview:
    deployments = {name: _deployment(each) for name, each in app["deployments"].items()}
    status = ApplicationStatus(app["status"])
    if status is ApplicationStatus.RUNNING and any(each.status == "UNHEALTHY" for each in deployments.values()):
        status = ApplicationStatus.UNHEALTHY
    return ApplicationStatusOverview(
        status,
        app["message"],
        app["last_deployed_time_s"],
        deployments,
        app["route_prefix"],
        app["counts"],
        app["queued"],
        app["asks_token"],
    )


def _deployment(facts: dict[str, Any]) -> DeploymentStatusOverview:
    return DeploymentStatusOverview(
        DeploymentStatus(facts["status"]),
        "CONFIG_UPDATE_STARTED" if facts["status"] == "UPDATING" else "CONFIG_UPDATE_COMPLETED",
        facts["states"],
        facts["message"],
        facts["replicas"],
        facts["last_error"],
        facts["wanted"],
    )


_MOST_REPLICAS = 8  # that a line names


def text(status: ServeStatus, only: str | None = None) -> str:
    """All applications, or only one, some lines each."""
    names = [name for name in status.applications if only in (None, name)]
    if not names:
        return f"nbaccel.serve: nothing is served{f' as {only}' if only else ''}."
    return "\n".join(line for name in names for line in _lines(name, status.applications[name], status.url))


def as_html(status: ServeStatus, only: str | None = None) -> str:
    """The same lines; a saved notebook keeps them."""
    return f'<pre style="white-space: pre-wrap; margin: 0">{html.escape(text(status, only))}</pre>'


def _lines(name: str, app: ApplicationStatusOverview, url: str) -> list[str]:
    where = f"{url}{app.route_prefix}" if app.route_prefix is not None else "no HTTP"
    lines = [f"{name}  {app.status.value}  {where}"]
    if app.message:
        lines.append(f"  {app.message}")
    if app.route_prefix is not None and app.status == "RUNNING":
        token = " -H 'Authorization: Bearer …'" if app.asks_token else ""
        lines.append(f"  curl -s {where}{token}")
    width = max((len(each) for each in app.deployments), default=0)
    for each, deployment in app.deployments.items():
        lines += _deployment_lines(each.ljust(width), deployment)
    if app.counts:
        lines.append(f"  {_requests(app)}")
    return lines


def _deployment_lines(name: str, deployment: DeploymentStatusOverview) -> list[str]:
    serving = [row for row in deployment.replicas if row["state"] == "RUNNING"]
    places = [_place(row) for row in serving[:_MOST_REPLICAS]]
    if len(serving) > _MOST_REPLICAS:
        places.append(f"and {len(serving) - _MOST_REPLICAS} more")
    replicas = "1 replica" if len(serving) == 1 else f"{len(serving)} replicas"
    of = f" of {deployment.wanted}" if deployment.wanted != len(serving) else ""
    lines = [f"  {name}  {replicas}{of}  {' · '.join(places)}".rstrip()]
    if deployment.message:
        lines.append(f"    {deployment.message}")
    error = deployment.last_error
    if error:
        at = time.strftime("%H:%M:%S", time.localtime(error["time"]))
        words = error["message"].partition("\n")[0][:200]
        lines.append(f"    last error  {at}  {error['type']}: {words}")
    return lines


def _place(row: dict[str, Any]) -> str:
    devices = [f"{name} {','.join(ids)}" for name, ids in row["device_ids"].items() if ids]
    marks = [*(["blocked"] if row["blocked"] else []), *([row["fallback"]] if row["fallback"] else [])]
    return (" ".join(devices) or "CPU") + (f" ({', '.join(marks)})" if marks else "")


def _requests(app: ApplicationStatusOverview) -> str:
    counts = app.counts
    parts = [f"{counts['requests']} requests", f"{counts['per_s']:.3g}/s"]
    for name in ("p50_s", "p95_s"):
        if counts[name] is not None:
            parts.append(f"{name[:3]} ≤ {1000 * counts[name]:.3g} ms")
    return "  ".join([*parts, f"queue {app.queued}", f"{counts['failed']} failed"])
