"""A progress bar over tasks as a plain output that changes in place: a saved notebook keeps its last state.

A widget of tqdm keeps only the 0 % at its start, and needs a kernel to show even that.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from nbaccel.notebook import parts
from nbaccel.views import wording

STEPS = 200  # the most times a bar is drawn, so that thousands of tasks do not send as many messages


class TaskBar:
    """The bar of one cell. `send` publishes (message type, content) under this cell, from any thread."""

    def __init__(
        self,
        send: Callable[[str, dict[str, Any]], None],
        total: int,
        description: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._total = total
        self._description = wording.plain(description)
        self._clock = clock
        self._began = clock()
        self._done = 0
        self._drawn = -1  # the step that is shown
        self._id = f"nbaccel-bar-{uuid.uuid4().hex}"
        self._draw()

    def update(self, n: float = 1) -> None:
        """Count more tasks as ready."""
        self._done += int(n)
        self._draw()

    def close(self) -> None:
        """Do nothing: every update has drawn the bar."""

    def _draw(self) -> None:
        step = STEPS if self._done >= self._total else self._done * STEPS // self._total
        if step == self._drawn:
            return
        kind = "display_data" if self._drawn < 0 else "update_display_data"
        self._drawn = step
        words = self._words()
        label = f"{self._description}: " if self._description else ""
        html = parts.box([parts.progress(label, self._done, self._total, words)])
        data = {"text/plain": f"{label}{words}", "text/html": html}
        self._send(kind, {"data": data, "metadata": {}, "transient": {"display_id": self._id}})

    def _words(self) -> str:
        percent = 100 * self._done // self._total if self._total else 100
        of = f"{self._done} of {wording.count(self._total, 'task')}"
        return wording.sentence([of, f"{percent} %", wording.age(self._clock() - self._began)])
