"""The records of `serve.status()`, under Ray Serve's names. States are texts: `status == "RUNNING"`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nbaccel.serve import cards


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
        return cards.text(self)

    def _repr_html_(self) -> str:
        return cards.as_html(self)


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
