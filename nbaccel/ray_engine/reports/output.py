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
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from nbaccel.ray_engine.session import internals
from nbaccel.views import sinks

ray_logging, worker = internals.ray_logging, internals.worker

# ---- lines whose cell is not known yet: output of tasks that other tasks have submitted, as only their reports tell
#
# The lines wait until the reports name the submitter of their task, and all later lines of the same stream of the same
# process wait behind them. Tasks send reports only on request. After `PATIENCE_S` the lines are shown like output
# without a cell.


PATIENCE_S = 6.0  # includes the collector's start; processes check every two seconds whether reports are wanted
LOOK_EVERY_S = 0.2
MOST_UNKNOWN = 1_000

Key = tuple[str, int, int]  # node, pid, stream


class WaitingLines(NamedTuple):
    """Lines that wait: of which task, since when, and how they are shown at a cell's parent."""

    task_id: str
    since: float
    show: Callable[[bytes], None]


class LinesWithoutCell:
    """`cell_of` gives the parent of a task's cell, None while it is not known; `ask` takes in what tasks report."""

    def __init__(
        self,
        cell_of: Callable[[str], bytes | None],
        ask: Callable[[], object],
        nowhere: Callable[[], bytes],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cell_of = cell_of
        self._ask = ask
        self._nowhere = nowhere
        self._clock = clock
        self._lock = threading.Lock()
        self._queues: dict[Key, deque[WaitingLines]] = {}
        self._unknown: dict[str, None] = {}  # tasks whose report did not come in time
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def show(self, key: Key, task_id: str, show: Callable[[bytes], None]) -> None:
        """Show at once where the cell is known and nothing of this stream waits; else in turn."""
        with self._lock:
            parent = self._cell(task_id)
            waits = key in self._queues or parent is None
            if waits:
                self._queues.setdefault(key, deque()).append(WaitingLines(task_id, self._clock(), show))
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="nbaccel-held-lines", daemon=True)
                    self._thread.start()
        if not waits:
            show(parent or b"")

    def _cell(self, task_id: str) -> bytes | None:
        """Where a task's lines go; None: that may still become known."""
        if not task_id or task_id in self._unknown:
            return self._nowhere()
        parent = self._cell_of(task_id)
        return self._nowhere() if parent is None and self._ending.is_set() else parent

    def _run(self) -> None:
        while True:
            ended = self._ending.wait(LOOK_EVERY_S)
            if not ended:
                self._ask()
            self.look(everything=ended)
            with self._lock:
                if not self._queues:
                    self._thread = None
                    return

    def look(self, *, everything: bool = False) -> None:
        """Show what is known by now, in the order of each stream; what has waited for too long goes nowhere."""
        for key in list(self._queues):
            while (first := self._queues[key][0]) and (parent := self._settled(first, everything)) is not None:
                first.show(parent)  # later lines of its stream wait until this line is shown
                with self._lock:
                    self._queues[key].popleft()
                    if not self._queues[key]:
                        del self._queues[key]
                        break

    def _settled(self, held: WaitingLines, everything: bool) -> bytes | None:
        """Where these lines go by now; None when they wait on."""
        parent = self._cell(held.task_id)
        if parent is None and (everything or self._clock() - held.since >= PATIENCE_S):
            self._give_up(held.task_id)
            parent = self._nowhere()
        return parent

    def _give_up(self, task_id: str) -> None:
        self._unknown[task_id] = None
        if len(self._unknown) > MOST_UNKNOWN:
            del self._unknown[next(iter(self._unknown))]

    def end(self) -> None:
        """Nothing waits any more."""
        self._ending.set()
        thread = self._thread
        if thread is not None:
            thread.join(2.0)


# ----


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
            bare=internals.are_lines_bare(),
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


# ---- shortens the message of Ray's node process when a worker dies: in a notebook its 800 characters hide the rest
#
# Only sentences that are known word for word are shortened; the logs of Ray keep all of it.


_DIED = re.compile(
    r"A worker died or was killed while executing a task by an unexpected system error\. .*?"
    r"Worker IP address: (?P<ip>\S+) .*?Worker PID: (?P<pid>\d+) Worker exit type: (?P<type>\w+) "
    r"Worker exit detail: (?P<detail>.*)",
    re.DOTALL,
)
_CAUSES = re.compile(r" Some common causes include: .*", re.DOTALL)
_RETRIED = re.compile(
    r"(?P<kept>Task .* failed\. There are .* retries remaining, so the task will be retried\.) Error: \s*"
)

_USERS = re.compile(
    r"(?P<kept>Task .* so the task will be retried\. Error: )User exception:\n(?P<traceback>.*)", re.DOTALL
)


def shortened(line: str) -> str:
    """The line, or its informative part."""
    died = _DIED.fullmatch(line)
    if died:
        detail = _CAUSES.sub("", died["detail"]).strip()
        return f"Worker process {died['pid']} on {died['ip']} died while it ran a task ({died['type']}): {detail}"
    users = _USERS.fullmatch(line)
    if users:  # get() shows its traceback after the last attempt
        raised = [each for each in users["traceback"].splitlines() if each[:1].strip()]
        return users["kept"] + (raised[-1] if raised else "")
    retried = _RETRIED.fullmatch(line)
    return retried["kept"] if retried else line
