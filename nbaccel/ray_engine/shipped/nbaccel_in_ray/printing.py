"""Marks the lines of a worker's stdout and stderr with the task that printed them, whenever the task changes.

```
  print ─► Stream ─► ":task_name:train task=<id>" + the line ─► the worker's log file ─► Ray's log monitor ─► driver
```
Ray's log monitor splits a worker's lines at each line that names a task, and sends the name to the driver with each
batch; lines that name tasks are not shown. Here the task's id follows the name, so that the driver finds the cell. Ray
itself names a task when it begins: the id is added to this line too, so that output of a library past Python has an
owner as well.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ray

from nbaccel_in_ray import internals
from nbaccel_in_ray.internals import MARK

ID_MARK = " task="
MOST_HELD = 65_536  # characters of a line that has not ended
_NOBODY = "f" * 48  # Ray's id of no task

if TYPE_CHECKING:
    from nbaccel_in_ray.collector_link import Note
    from nbaccel_in_ray.reporting import Reporter


class ReportedOutput:
    """Replaces sys.stdout or sys.stderr; everything except writing goes to the original stream.

    `reporter` has the notes of the tasks that run here, `core` (Ray's) knows which of them the thread runs.
    """

    def __init__(self, stream: Any, reporter: Reporter, core: Any) -> None:
        self._stream = stream
        self._reporter = reporter
        self._core = core
        self._named = ""  # the id that was named last
        self._whole = True  # what was written last has ended its line
        self.unfinished: dict[str, str] = {}  # the beginnings of lines, by the task that has not ended them
        self._looked_up = (b"", "")
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write whole lines, after the name of the task if it is another one than before.

        Tasks that run at the same time are never mixed in a line, and Ray's log monitor never sees a part of one.
        """
        with self._lock:
            if text.startswith(MARK):
                self._rays_mark(text)
            elif text:
                speaker = self._speaker()
                lines, end, rest = (self.unfinished.pop(speaker, "") + text).rpartition("\n")
                if len(rest) > MOST_HELD:
                    lines, end, rest = lines + end, rest, ""
                if rest:
                    self.unfinished[speaker] = rest
                    self._reporter.lines_begun = True
                if end:
                    self._pass_on(lines + end, speaker)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        """Show unfinished lines, such as a bar, unless several tasks print."""
        with self._lock:
            if self.unfinished and not self._reporter.several_run():
                for speaker in list(self.unfinished):
                    self._pass_on(self.unfinished.pop(speaker), speaker)

    def _pass_on(self, text: str, speaker: str) -> None:
        if speaker and speaker != self._named:
            text = f"{self._end_of_line()}{MARK}{self._name()}{ID_MARK}{speaker}\n{text}"
            self._named = speaker
        self._put(text)

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._whole = text.endswith("\n")

    def _end_of_line(self) -> str:
        """A newline if the last line is unfinished, otherwise ""."""
        return "" if self._whole else "\n"

    def _rays_mark(self, text: str) -> None:
        """Add the task's id to Ray's line that names a task."""
        self._named = task_id = _known(self._core.get_current_task_id())
        named = f"{text.rstrip()}{ID_MARK}{task_id}\n" if task_id else text
        self._put(f"{self._end_of_line()}{named}")

    def name_now(self) -> None:
        """Name the task before it prints, so that output past Python has an owner."""
        task_id = _known(self._core.get_current_task_id())
        with self._lock:
            if task_id:
                self._pass_on("", task_id)

    def ended(self, task_id: str) -> None:
        """Show the unfinished line of a task that has ended, as a line."""
        if not self.unfinished:
            return
        with self._lock:
            rest = self.unfinished.pop(task_id, "")
            if rest:
                self._pass_on(f"{rest}\n", task_id)

    def _speaker(self) -> str:
        """The id of the printing task. It is looked up once for each task, because one print makes several writes."""
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
        """The name of the running task, as Ray writes it."""
        name = self._core.get_current_task_name() or ""
        return " ".join(name.replace("()", "").split())

    def after_fork(self) -> None:
        """Replace the lock, which another thread of the parent may have held."""
        self._lock = threading.RLock()


streams: list[ReportedOutput] = []


def install(reporter: Reporter) -> None:
    """Name the tasks in this process's lines from now on; `reporter` knows the running tasks."""
    if streams or not internals.is_worker():
        return
    sys.stdout = ReportedOutput(sys.stdout, reporter, internals.core())
    sys.stderr = ReportedOutput(sys.stderr, reporter, internals.core())
    streams.extend([sys.stdout, sys.stderr])
    for stream in streams:
        os.register_at_fork(after_in_child=stream.after_fork)
        stream.name_now()


def id_of(note: Note) -> str:
    """The id of the task that the user knows: for an attempt, that of its supervisor."""
    return note.get("stands_for") or str(note["task_id"].hex())


def _known(task_id: ray.TaskID) -> str:
    """The id as text; "" if no task runs, as in a thread that a task has started."""
    found = str(task_id.hex())
    return "" if found == _NOBODY else found


# ---- output of a worker as the local engine has it: text bars for tqdm.notebook, and loggers as those of the driver
#
# The local engine has the same in worker/text_bars.py and logging_config.py.


LEVELS = "NBACCEL_LOG_LEVELS"  # the variable: JSON, the levels at init() by the names of loggers
_NAME = "tqdm.notebook"


def use() -> None:
    """In a worker."""
    if not internals.is_worker():
        return
    sys.meta_path.insert(0, _TextBars())
    levels = json.loads(os.environ.get(LEVELS, "{}"))
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    if levels and logging.lastResort is not None:
        logging.lastResort.setLevel(logging.NOTSET)
        logging.lastResort.setFormatter(logging.Formatter(logging.BASIC_FORMAT))


class _TextBars(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name == _NAME else None

    def exec_module(self, module: ModuleType) -> None:
        std = importlib.import_module("tqdm.std")

        def construct(made: Any, *args: Any, display: bool = True, **kwargs: Any) -> None:
            std.tqdm.__init__(made, *args, **kwargs)  # only the widget knows `display`

        def trange(*args: Any, **kwargs: Any) -> Any:
            return bar(range(*args), **kwargs)

        bar = type("tqdm_notebook", (std.tqdm,), {"__module__": _NAME, "__init__": construct})
        vars(module).update(tqdm=bar, tqdm_notebook=bar, trange=trange, tnrange=trange)
