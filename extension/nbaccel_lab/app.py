"""The extension as a Jupyter server sees it."""

from __future__ import annotations

from jupyter_server.extension.application import ExtensionApp


class NbaccelLab(ExtensionApp):
    """Heads of nbaccel, and the devices of this machine."""

    name = "nbaccel_lab"
    extension_url = "/nbaccel/"
    load_other_extensions = True
