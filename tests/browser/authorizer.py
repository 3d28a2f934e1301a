"""Who may do what on a Jupyter server of the tests."""

from __future__ import annotations

from typing import Any

from jupyter_server.auth import Authorizer


class LooksOnly(Authorizer):
    """Everybody may run notebooks, and look at what nbaccel shows, but change nothing there."""

    def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
        return resource != "nbaccel" or action == "read"
