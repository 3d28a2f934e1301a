"""What Ray's workers print, shown where nbaccel shows output: every line at the cell that submitted its task.

```
  worker: printing ─► Ray's log monitor ─► Ray's thread in the driver ─► Output ─► sinks (notebook's, terminal's)
                                                                            └────► Ray's own: raylet, autoscaler
```
With each batch of lines Ray hands over the name of their task, behind which stands its id.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ray._private import ray_logging, worker

from nbaccel.ray_engine.reports.lines_without_cell import Key
from nbaccel.ray_engine.reports.raylet_words import shortened
from nbaccel.views import sinks

Batch = dict[str, Any]
Place = Callable[[Key, str, Callable[[bytes], None]], None]

_RAYS_NAME = "ray_print_logs"  # the name of Ray's own handler: Ray removes the handler with this name at its shutdown
_TASK = "nbaccel_task"  # the key of the task's id in a batch
_NAMED = re.compile(r"(?P<name>.*?) ?task=(?P<id>[0-9a-f]{48})", re.DOTALL)


class Output:
    """Stands in the place of Ray's own printing. `place` finds the cell of a task ("": not known), see HeldLines."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._rays: Callable[[Batch], None] | None = None
        self._rays_words: Callable[..., None] | None = None  # Ray's function that prints reports of its node process

    def begin(self) -> None:
        """Take over, unless the program has asked for silence: Ray prints nothing then either."""
        self._rays_words = worker.print_to_stdstream
        worker.print_to_stdstream = self._say_shortly
        dispatcher = ray_logging.global_worker_stdstream_dispatcher
        rays = [handler for name, handler in dispatcher.handlers if name == _RAYS_NAME]
        if rays:
            self._rays = rays[0]
            self._replace(self.show)

    def end(self) -> None:
        """Give it back to Ray, which goes on when the program has started it itself."""
        if self._rays_words is not None:
            worker.print_to_stdstream = self._rays_words
        if self._rays is not None:
            self._replace(lambda batch: self._rays_way(_apart(batch)))

    def _replace(self, handler: Callable[[Batch], None]) -> None:
        ray_logging.global_worker_stdstream_dispatcher.remove_handler(_RAYS_NAME)
        ray_logging.global_worker_stdstream_dispatcher.add_handler(_RAYS_NAME, handler)

    def _say_shortly(self, batch: Batch, **how: Any) -> None:
        """What Ray's node process reports of workers that died; another of Ray's threads."""
        assert self._rays_words is not None
        self._rays_words({**batch, "lines": [shortened(line) for line in batch["lines"]]}, **how)

    def show(self, batch: Batch) -> None:
        """One batch of lines of one process; Ray's thread."""
        batch = _apart(batch)
        bars = [line for line in batch["lines"] if worker.RAY_TQDM_MAGIC in line]
        if not str(batch["pid"]).isdigit() or bars:
            self._rays_way(batch if not bars else {**batch, "lines": bars})
        if not str(batch["pid"]).isdigit() or not worker._worker_logs_enabled:
            return
        merger = ray_logging.stderr_deduplicator if batch["is_err"] else ray_logging.stdout_deduplicator
        for part in merger.deduplicate(batch):
            if not str(part["pid"]).isdigit():  # lines of Ray's own processes, held back until now
                worker.print_worker_logs(part, sys.stderr if part["is_err"] else sys.stdout)
                continue
            lines = [line for line in part["lines"] if worker.RAY_TQDM_MAGIC not in line]
            if lines:
                self._show_lines(part, lines)

    def _show_lines(self, batch: Batch, lines: list[str]) -> None:
        message = sinks.Printed(
            name=batch.get("actor_name") or batch["task_name"],
            pid=int(batch["pid"]),
            stream=2 if batch["is_err"] else 1,
            text=_joined(lines).encode(),
            ip="" if batch["ip"] == batch.get("localhost") else batch["ip"],
            bare=worker._should_ignore_worker_log_prefix(worker.global_worker),
        )

        def show(parent: bytes) -> None:
            worker.hide_tqdm()
            sinks.installed.lines(replace(message, parent=parent))
            worker.restore_tqdm()

        self._place((message.ip, message.pid, message.stream), batch[_TASK], show)

    def _rays_way(self, batch: Batch) -> None:
        assert self._rays is not None
        self._rays(batch)


def _joined(lines: list[str]) -> str:
    """As they were printed: a bar at the end goes on, for all that Ray tells; earlier ones are drawn over."""
    last = lines[-1]
    kept = [line for line in lines if "\r" not in line.removesuffix("\r") or line is last]
    return "\n".join(kept) + ("" if "\r" in last.removesuffix("\r") else "\n")


def _apart(batch: Batch) -> Batch:
    """The task's name as Ray shows it, and beside it the id: Ray may print what its merging has held back."""
    name, task_id = split(batch.get("task_name") or "")
    return {**batch, "task_name": name, _TASK: task_id}


def split(named: str) -> tuple[str, str]:
    """(the task's name as Ray shows it, its id or "")."""
    found = _NAMED.fullmatch(named)
    return (found["name"], found["id"]) if found else (named, "")


def _show_at(message: sinks.Printed, parent: bytes) -> None:
    sinks.installed.lines(replace(message, parent=parent))


_FROM_CLIENT = re.compile(
    r"(?P<colour>\x1b\[\d+m)?\((?P<name>.*?) ?task=(?P<id>[0-9a-f]{48}) pid=(?P<pid>\d+)(?:, ip=(?P<ip>[^)]*))?\)"
    r"(?:\x1b\[0m)? (?P<text>.*)"
)


class ClientOutput:
    """The same through Ray Client, whose server sends lines that have their prefix already."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._stream: Any = None

    def begin(self) -> None:
        from ray.util.client import ray as client

        self._stream = client.worker.log_client
        self._stream.stdstream = self.show

    def end(self) -> None:
        if self._stream is not None:
            del self._stream.stdstream  # the method of the class is used again

    def show(self, level: int, msg: str) -> None:
        """Some lines; Ray Client's thread."""
        for line in msg.splitlines():
            found = _FROM_CLIENT.fullmatch(line)
            if found is None:
                type(self._stream).stdstream(self._stream, level, f"{line}\n")
                continue
            stream = 2 if level == -2 else 1
            text = f"{found['text']}\n".encode()
            ip, pid = found["ip"] or "", int(found["pid"])
            message = sinks.Printed(found["name"], pid, stream, text, b"", ip)
            self._place((ip, pid, stream), found["id"], partial(_show_at, message))
