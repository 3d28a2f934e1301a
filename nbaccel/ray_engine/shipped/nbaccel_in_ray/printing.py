"""Whose lines these are: a worker's stdout and stderr name the task at the start of a line, where it is another one.

```
  print ─► Stream ─► ":task_name:train task=<id>" + the line ─► the worker's log file ─► Ray's log monitor ─► driver
```
Ray's log monitor cuts a worker's lines wherever a line names a task, and tells the driver that name with each batch;
lines that name tasks are not shown. Behind the name stands the task's id here, so that the driver finds the cell. Ray
names a task itself when it begins: the id is added to that in passing, so that what a library prints past Python has
an owner too.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import ray
from ray._private.ray_constants import LOG_PREFIX_TASK_NAME as MARK

ID_MARK = " task="
MOST_HELD = 65_536  # characters of a line that has not ended
_NOBODY = "f" * 48  # Ray's id of no task

if TYPE_CHECKING:
    from nbaccel_in_ray.reporting import Reporter

if TYPE_CHECKING:
    from nbaccel_in_ray.reporting import Note


class ReportedOutput:
    """Stands where sys.stdout or sys.stderr stood; what is not about writing goes to that.

    `reporter` has the notes of the tasks that run here, `core` (Ray's) knows which of them the thread runs.
    """

    def __init__(self, stream: Any, reporter: Reporter, core: Any) -> None:
        self._stream = stream
        self._reporter = reporter
        self._core = core
        self._named = ""  # the id that was named last
        self._whole = True  # what was written last has ended its line
        self._held: dict[str, str] = {}  # the beginnings of lines, by the task that has not ended them
        self._looked_up = (b"", "")
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write what ends lines, with the name of the task in front where it is another one than before.

        Tasks that run at the same time are never mixed in a line, and Ray's log monitor never sees a part of one.
        """
        with self._lock:
            if text.startswith(MARK):
                self._rays_mark(text)
            elif text:
                speaker = self._speaker()
                lines, end, rest = (self._held.pop(speaker, "") + text).rpartition("\n")
                if len(rest) > MOST_HELD:
                    lines, end, rest = lines + end, rest, ""
                if rest:
                    self._held[speaker] = rest
                if end:
                    self._pass_on(lines + end, speaker)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        """Show what has not ended its line, such as a bar; but not while several tasks print."""
        with self._lock:
            if self._held and not self._reporter.several_run():
                for speaker in list(self._held):
                    self._pass_on(self._held.pop(speaker), speaker)

    def _pass_on(self, text: str, speaker: str) -> None:
        if speaker and speaker != self._named:
            text = f"{self._end_of_line()}{MARK}{self._name()}{ID_MARK}{speaker}\n{text}"
            self._named = speaker
        self._put(text)

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._whole = text.endswith("\n")

    def _end_of_line(self) -> str:
        """What another has begun and not ended."""
        return "" if self._whole else "\n"

    def _rays_mark(self, text: str) -> None:
        """Ray says which task begins."""
        self._named = task_id = _known(self._core.get_current_task_id())
        named = f"{text.rstrip()}{ID_MARK}{task_id}\n" if task_id else text
        self._put(f"{self._end_of_line()}{named}")

    def name_now(self) -> None:
        """Before anything was printed: who prints past Python is known from here on."""
        task_id = _known(self._core.get_current_task_id())
        with self._lock:
            if task_id:
                self._pass_on("", task_id)

    def ended(self, note: Note) -> None:
        """Nothing more comes from this task: what it has not ended with a newline is shown as a line."""
        if not self._held:
            return
        with self._lock:
            rest = self._held.pop(id_of(note), "")
            if rest:
                self._pass_on(f"{rest}\n", id_of(note))

    def _speaker(self) -> str:
        """The id of the task that prints; looked up once for each, since a print is several writes."""
        task_id = self._core.get_current_task_id()
        current = task_id.binary()
        if current == self._looked_up[0]:
            return self._looked_up[1]
        note = self._reporter.speaking()
        if note is None or note["task_id"] != task_id:
            return id_of(note) if note is not None else _known(task_id)
        self._looked_up = (current, id_of(note))
        return self._looked_up[1]

    def _name(self) -> str:
        """As Ray names tasks."""
        name = self._core.get_current_task_name() or ""
        return " ".join(name.replace("()", "").split())

    def after_fork(self) -> None:
        """Another thread of the parent may have been writing."""
        self._lock = threading.RLock()


streams: list[ReportedOutput] = []


def install(reporter: Reporter) -> None:
    """From now on this process's lines name their tasks; `reporter` knows which run here."""
    worker = ray._private.worker.global_worker
    if streams or worker.mode != ray.WORKER_MODE:
        return
    sys.stdout = ReportedOutput(sys.stdout, reporter, worker.core_worker)
    sys.stderr = ReportedOutput(sys.stderr, reporter, worker.core_worker)
    streams.extend([sys.stdout, sys.stderr])
    for stream in streams:
        os.register_at_fork(after_in_child=stream.after_fork)
        stream.name_now()


def id_of(note: Note) -> str:
    """The task that the user knows: an attempt stands for its supervisor."""
    return note.get("stands_for") or str(note["task_id"].hex())


def _known(task_id: ray.TaskID) -> str:
    """The id in words; "" where no task runs, as in a thread that a task has started."""
    found = str(task_id.hex())
    return "" if found == _NOBODY else found
