"""The errors of serving, under Ray Serve's names.

RayServeException
├── BackPressureError              a caller's queue is full; 503 by HTTP
├── DeploymentUnavailableError     the deployment failed to deploy, or is gone
├── ReplicaUnavailableError        the replica ended after the request was sent: it may have run
└── RequestCancelledError (also TaskCancelledError)
"""

from __future__ import annotations

from typing import Any

from nbaccel.exceptions import RayTaskError, TaskCancelledError

__all__ = [
    "BackPressureError",
    "DeploymentUnavailableError",
    "RayServeException",
    "RayTaskError",
    "ReplicaUnavailableError",
    "RequestCancelledError",
]


class RayServeException(Exception):
    """The root of all errors of serving itself; what user code raises is a RayTaskError."""

    @property
    def message(self) -> str:
        return str(self)


class BackPressureError(RayServeException):
    """As many requests wait in this caller's queue as `max_queued_requests` allows."""

    def __init__(
        self, num_queued_requests: int, max_queued_requests: int, status_code: int = 503, retry_after_s: Any = None
    ) -> None:
        super().__init__(num_queued_requests, max_queued_requests, status_code, retry_after_s)
        self.status_code = status_code
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        waiting, limit = self.args[:2]
        return (
            f"Request dropped due to backpressure: {waiting} requests wait for a replica, and max_queued_requests is "
            f"{limit}. Ask again later, or raise num_replicas, max_ongoing_requests or max_queued_requests."
        )


class DeploymentUnavailableError(RayServeException):
    """The deployment has no replicas and gets none: it failed to deploy, or it was deleted."""


class ReplicaUnavailableError(RayServeException):
    """The replica ended after the request was sent: it may have run or not. `deaths`: so many replicas had it."""

    def __init__(self, message: str, deaths: int = 1) -> None:
        super().__init__(message, deaths)
        self.deaths = deaths

    def __str__(self) -> str:
        return str(self.args[0])


class RequestCancelledError(RayServeException, TaskCancelledError):
    """The request was cancelled before its answer came."""

    def __init__(self, request_id: str | None = None) -> None:
        Exception.__init__(self, request_id)
        self.task_id = None

    def __str__(self) -> str:
        return f"Request {self.args[0]} was cancelled." if self.args and self.args[0] else "Request was cancelled."

    def __reduce__(self) -> Any:
        return type(self), self.args
