"""What workers have printed, from their files."""

from __future__ import annotations

import os
from collections.abc import Callable

from nbaccel.local_engine.head.refusal import Refusal, id_of
from nbaccel.views import sinks

_TAIL_BYTES = 1 << 20


class WorkerLogs:
    """Reads the files that the log process writes."""

    def __init__(self, directory: str, worker_of: Callable[[bytes], bytes | None]) -> None:
        self._directory = os.path.join(directory, "logs")
        self._worker_of = worker_of  # the worker that runs or ran a task; None for an unknown task

    def tail(self, task_id: str | None, count: int) -> str:
        """The last lines that a task's worker (or any worker) has printed. Raises Refusal."""
        worker_id = ""
        if task_id:
            worker = self._worker_of(id_of(task_id, "a task"))
            if worker is None:
                raise Refusal(
                    "ValueError", f"The head does not know task {task_id}: it ended long ago or never existed."
                )
            worker_id = worker.hex()
        try:
            names = sorted(name for name in os.listdir(self._directory) if name.startswith(f"worker-{worker_id[:16]}"))
        except FileNotFoundError:
            return ""
        lines: list[str] = []
        for name in names:
            lines += _tail(os.path.join(self._directory, name))
        return "\n".join(lines[-count:] if count > 0 else lines)


def _tail(path: str) -> list[str]:
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        text = file.read().decode("utf-8", "replace").removesuffix("\n")
    return [sinks.last_frame(line) for line in text.split("\n")] if text else []
