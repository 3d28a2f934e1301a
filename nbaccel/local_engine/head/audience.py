"""Drivers and watchers, for components that have something to tell them."""

from __future__ import annotations

from typing import Any, Protocol

from nbaccel.local_engine import wire


class Audience(Protocol):
    """Shows notices, alerts and changes to drivers and to watchers of snapshots."""

    def notice(self, job_number: int, message: wire.NoticeMessage) -> None:
        """Show a notice to the driver of a job."""

    def alert(self, kind: str, message: str, **where: Any) -> None:
        """Show an alert to all watchers."""

    def changed(self) -> None:
        """The state differs from the last snapshot."""
