"""The page at `{base_url}nbaccel/`: the cockpit of every runtime, for browsers without JupyterLab and Notebook 7.

The cockpit's own modules draw it: in a checkout those of nbaccel beside this folder, else the copies in the wheel.
"""

from __future__ import annotations

import asyncio
import gzip
from functools import cache
from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from tornado.escape import xhtml_escape
from tornado.web import HTTPError, authenticated

from nbaccel_lab.handler import RESOURCE

HERE = Path(__file__).parent
OURS = HERE / "static"
RENDERER = HERE / "renderer"  # a wheel has it
CHECKOUT = HERE.parents[1] / "nbaccel" / "notebook" / "static"
FILES = {
    "page.js": OURS,
    "page.css": OURS,
    "cockpit.js": None,
    "runs.js": None,
    "past.js": None,
    "stored.js": None,
}  # None: the renderer's
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
POLICY = (
    "default-src 'none'; script-src 'self' blob:; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>nbaccel</title>
<link rel="stylesheet" href="{base}nbaccel/static/page.css">
</head>
<body data-base="{base}" data-xsrf="{xsrf}">
<header><h1>nbaccel</h1><p id="state" role="status">Connecting to the Jupyter server …</p></header>
<main>
<section id="machine" aria-label="This machine"></section>
<div id="banners"></div>
<div id="runtimes"></div>
<details id="stored"><summary>All runs and experiments</summary><div></div></details>
</main>
<script type="module" src="{base}nbaccel/static/page.js"></script>
</body>
</html>
"""


class _Handler(JupyterHandler):
    auth_resource = RESOURCE
    _track_activity = False

    @property
    def content_security_policy(self) -> str:
        return POLICY


class PageHandler(_Handler):
    @authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self) -> None:
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")  # it has this user's XSRF token
        self.finish(PAGE.format(base=xhtml_escape(self.base_url), xsrf=xhtml_escape(self.xsrf_token.decode())))


class FileHandler(_Handler):
    @authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, name: str) -> None:
        if name not in FILES:
            raise HTTPError(404)
        try:
            data = await asyncio.to_thread(content, name)
        except OSError:
            raise HTTPError(404, "The cockpit's modules were not installed with nbaccel-lab.") from None
        self.set_header("Content-Type", TYPES[Path(name).suffix])
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-cache")
        self.finish(data)

    def write_error(self, status_code: int, **given: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(self._reason)


@cache
def content(name: str) -> bytes:
    """A file of the page. Raises OSError."""
    folder = FILES[name] or CHECKOUT
    if folder.exists():
        return (folder / name).read_bytes()
    return gzip.decompress((RENDERER / f"{name}.gz").read_bytes())
