"""What `ps` shows of a worker: the function that it runs, or that it is idle."""

from __future__ import annotations

import setproctitle

IDLE = "IDLE"


class ProcessTitle:
    """The title of this process. It is set only where it changes: to set it around each short task costs too much."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, title: str) -> None:
        if title != self._shown:
            setproctitle.setproctitle(f"nbaccel::{title}")
            self._shown = title
