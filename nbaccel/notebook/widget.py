"""The live cockpit as a widget: one model for each kernel, shown under as many cells as the person likes.

The newest picture is a trait, so a page that comes late, or again, has it at once. What pages say arrives on whatever
thread the kernel uses for it (subshells have their own), so that nothing is done there but to queue a message to the
head.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.notebook import card, views
from nbaccel.notebook.publishing import Publisher
from nbaccel.snapshot import Snapshot

LOG_LINES = 200
_ESM = Path(__file__).parent / "static" / "cockpit.js"
_logger = logging.getLogger(__name__)


class Cockpit(anywidget.AnyWidget):
    """The widget. `snapshot` is what is drawn, as JSON; `details` is whether new views open with their tabs."""

    _esm = _ESM.read_text()
    snapshot = traitlets.Unicode("").tag(sync=True)
    details = traitlets.Bool(False).tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self._publisher = Publisher(self._set_snapshot, views.keep)
        self._reader = ThreadPoolExecutor(1, "nbaccel-cockpit")  # logs are asked of the head, which takes a moment
        self._static: Snapshot | None = None
        self.on_msg(self._heard)
        _keep_subshell(self.comm)

    def follow(self, engine: engines.Engine, now: Snapshot, *, details: bool) -> None:
        """Show this engine's pictures from now on; the next view that is displayed opens with its tabs, or without."""
        self._static = now
        self.details = details
        self._publisher.follow(engine, now)

    def _set_snapshot(self, json: str) -> None:
        self.snapshot = json

    def _repr_mimebundle_(self, **given: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
        """The widget, and beside it the card as text and HTML for whoever cannot run one: nbconvert, GitHub, e-mail."""
        bundle, metadata = super()._repr_mimebundle_(**given) or ({}, {})
        return ({**bundle, **card.mimebundle(self._static)} if self._static is not None else bundle), metadata

    # ---- what pages say

    def _heard(self, widget: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        say, id = content.get("say"), str(content.get("id", ""))
        if say == "visible":
            self._publisher.seen(str(content.get("view", "")), int(content.get("rows") or 0))
        elif say == "hidden":
            self._publisher.hidden(str(content.get("view", "")))
        elif say in ("cancel", "kill"):
            self._ordered(say, id)
        elif say == "logs":
            self._reader.submit(self._read_log, id)

    def _ordered(self, say: str, id: str) -> None:
        engine = engines.running()
        words = ""
        if engine is None:
            words = "nbaccel has been shut down: there is nothing left to end."
        else:
            try:
                engine.cancel_by_id(id) if say == "cancel" else engine.kill_by_id(id)
            except (RayError, ValueError, OSError) as error:
                words = str(error)
        self.send({"say": "taken", "id": id, "words": words})

    def _read_log(self, id: str) -> None:
        engine = engines.running()
        try:
            text = engine.logs(id, tail=LOG_LINES) if engine is not None else ""
        except (RayError, ValueError, OSError) as error:
            text = str(error)
        self.send({"say": "log", "id": id, "text": text})


def _keep_subshell(comm: Any) -> None:
    """Let what pages say be heard while a cell runs.

    ipykernel 7.4 sends a page's message to whichever (sub)shell spoke last on the comm, which for pictures is the main
    one, busy with the cell; our handlers may run on any thread, so the page's own choice is right.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, chosen_by_page: chosen_by_page
