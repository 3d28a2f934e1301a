"""Those who look on, for components that have something to tell them."""

from __future__ import annotations

from typing import Any, Protocol

from nbaccel.local_engine import wire


class Audience(Protocol):
    """Drivers' notebooks, and whoever watches pictures."""

    def notice(self, job_number: int, message: wire.NoticeMessage) -> None:
        """Show this to the driver of a job."""

    def alert(self, kind: str, message: str, **where: Any) -> None:
        """Show this to all who watch."""

    def changed(self) -> None:
        """Something is different from the last picture."""
