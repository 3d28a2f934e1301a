"""What the process of one task has printed, as an open view reads it, and why the task failed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from nbaccel.local_engine.head.records import entry_of
from nbaccel.local_engine.head.refusal import Refusal, id_of
from nbaccel.views.history.answers import PrintedText, TaskLogAnswer
from nbaccel.views.history.task_log import fitted, printed, shares
from nbaccel.views.observer_lines import ReadTaskLog
from nbaccel.views.question import Row

MOST_TRACEBACK_BYTES = 2_000_000  # of all tasks together


class Tracebacks:
    """The tracebacks of the newest failures: a fixed amount of memory."""

    def __init__(self, most_bytes: int = MOST_TRACEBACK_BYTES) -> None:
        self._most_bytes = most_bytes
        self._texts: dict[bytes, bytes] = {}
        self._size_bytes = 0

    def keep(self, task_id: bytes, traceback: str) -> None:
        """Keep this traceback, and let go of the oldest ones if there are too many."""
        text = traceback.encode("utf-8", "backslashreplace")
        self._size_bytes += len(text) - len(self._texts.pop(task_id, b""))
        self._texts[task_id] = text
        while self._size_bytes > self._most_bytes:
            self._size_bytes -= len(self._texts.pop(next(iter(self._texts))))

    def of(self, task_id: bytes) -> str:
        """The traceback of a task, "" if none is kept."""
        return self._texts.get(task_id, b"").decode()


class TaskLogs:
    """Answers for one head.

    `directory` has the files of the log process. It is None if tasks print elsewhere, as `note` says.
    """

    def __init__(
        self,
        directory: str | None,
        record_of: Callable[[bytes], Any],
        tracebacks: Tracebacks,
        pid_of: Callable[[bytes], int | None],
        note: str = "",
    ) -> None:
        self._directory = os.path.join(directory, "logs") if directory is not None else None
        self._record_of = record_of
        self._tracebacks = tracebacks
        self._pid_of = pid_of
        self._note = note

    def answers(self) -> list[Row[Any]]:
        """The row of a table of questions."""
        return [ReadTaskLog.answered_by(lambda peer, asked: self.answer(asked))]

    def answer(self, asked: ReadTaskLog) -> TaskLogAnswer:
        """What a task has printed since the asked offsets. Raises Refusal."""
        record = self._record_of(id_of(asked.task_id, "a task")[:24])
        if record is None:
            raise Refusal(
                "ValueError", f"The head does not know task {asked.task_id}: it ended long ago or never existed."
            )
        entry = entry_of(record.task)
        answer = TaskLogAnswer(0.0, bool(record.over), note=self._note)
        answer.pid = self._pid_of(entry.worker_id) if entry.worker_id else None
        if record.over and entry.failed:
            answer.failure = self._tracebacks.of(record.task.task_id) or entry.note
        since = max(asked.out_since, 0), max(asked.err_since, 0)
        return fitted(answer, lambda most: self._read(entry.worker_id, since, most), is_first=not any(since))

    def _read(self, worker_id: bytes, since: tuple[int, int], most: int) -> tuple[PrintedText, PrintedText]:
        if self._directory is None or not worker_id:
            return PrintedText(), PrintedText()
        paths = [os.path.join(self._directory, f"worker-{worker_id.hex()[:16]}.{end}") for end in ("out", "err")]
        sizes = [_size(path) for path in paths]
        counts = shares(max(sizes[0] - since[0], 0), max(sizes[1] - since[1], 0), most)
        out, err = (_part(*given) for given in zip(paths, sizes, since, counts, strict=True))
        return out, err


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0  # it has printed nothing


def _part(path: str, size: int, since: int, count: int) -> PrintedText:
    """The last bytes of a file, of those after `since`."""
    if not count:
        return PrintedText("", since)
    with open(path, "rb") as file:
        file.seek(size - count)
        return printed(file.read(count), size - count, since)
