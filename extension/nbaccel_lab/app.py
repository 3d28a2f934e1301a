"""The extension as a Jupyter server sees it."""

from __future__ import annotations

import asyncio
from typing import Any

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool

from nbaccel_lab import api, metrics, page, served, stream
from nbaccel_lab.kernels import Kernels
from nbaccel_lab.watching import Watching

API = r"nbaccel/api/v1"


class NbaccelLab(ExtensionApp):
    """Heads of nbaccel, and the devices of this machine."""

    name = "nbaccel_lab"
    extension_url = "/nbaccel/"
    load_other_extensions = True
    assistants_may_cancel = Bool(False, config=True, help="Whether the tools of jupyter_server_mcp may cancel tasks.")
    watching: Watching

    def initialize_settings(self) -> None:
        server: Any = self.serverapp
        self.watching = Watching(Kernels(server.kernel_manager, server.session_manager))
        self.settings["nbaccel_watching"] = self.watching
        self.settings["nbaccel_doors"] = served.Doors(self.watching)
        self.settings["nbaccel_turns"] = stream.Turns()
        self.settings["nbaccel_reading"] = asyncio.Lock()

    def initialize_handlers(self) -> None:
        self.handlers.extend(
            [
                *((f"{API}/{name}", handler) for name, handler in api.HANDLERS.items()),
                (f"{API}/watch", stream.WatchHandler),
                (r"nbaccel/metrics", metrics.MetricsHandler),
                (r"nbaccel/serve/[^/]+(?:/.*)?", served.ServedHandler),
                (r"nbaccel/?", page.PageHandler),
                (r"nbaccel/static/([a-z]+\.(?:js|css))", page.FileHandler),
            ]
        )

    async def stop_extension(self) -> None:
        await self.watching.close()
