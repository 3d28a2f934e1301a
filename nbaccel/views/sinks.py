"""Shows an engine's news to the user: lines that workers print, and sentences about work that waits.

```
  local engine: its news connection ─┐
                                     ├─► installed ── the terminal's way, or the notebook's: every line to its cell
  Ray engine: Ray's thread for logs ─┘
```
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from nbaccel.views.start_steps import Later, StartSteps

if TYPE_CHECKING:
    from nbaccel.views.experiment_snapshot import ExperimentSnapshot
    from nbaccel.views.run_snapshot import RunSnapshot
    from nbaccel.views.seen_trials import SeenTrials
    from nbaccel.views.served_snapshot import ServedSnapshot
    from nbaccel.views.snapshot import Runtime

RUN_LINE_EVERY_S = 1.0
_CYAN, _RESET = "\x1b[36m", "\x1b[0m"
_CLEARED = "\r\x1b[K"  # the cursor's line


class Line(Struct, frozen=True):
    """One printed line, or a bar."""

    text: str
    is_bar: bool = False  # it redraws itself, as tqdm does: `text` is its last state
    ended: bool = True


def _line(text: str, *, ended: bool) -> Line:
    """Make a Line. Carriage returns make it a bar, except one at the end of an ended line (Windows)."""
    is_bar = "\r" in (text.removesuffix("\r") if ended else text)
    return Line(last_frame(text) if is_bar else text, is_bar, ended)


def last_frame(line: str) -> str:
    """The last text of a line that redraws itself; any other line unchanged."""
    return line.rstrip("\r").rpartition("\r")[2]


class Printed(Struct, frozen=True):
    """Whole lines of one stream of a worker; the last may be a bar that has not ended."""

    name: str
    pid: int
    stream: int  # 1 stdout, 2 stderr
    text: bytes
    parent: bytes = b""  # of the cell's messages
    ip: str = ""  # the address of the worker's machine, if it is another machine
    bare: bool = False  # without a prefix, because the program asked for structured logs

    @property
    def prefix(self) -> str:
        """Ray's prefix: "(train pid=51830)", "(train pid=51830, ip=10.0.0.2)"."""
        if self.bare:
            return ""
        name = f"{self.name} " if self.name else ""
        return f"({name}pid={self.pid}{f', ip={self.ip}' if self.ip else ''})"

    def lines(self) -> list[Line]:
        """The lines without line ends."""
        texts = self.text.decode("utf-8", "replace").split("\n")
        ended = [_line(text, ended=True) for text in texts[:-1]]
        return [*ended, _line(texts[-1], ended=False)] if texts[-1] else ended


class Notice(Struct, frozen=True):
    """A sentence for the user. A notice about waiting work comes again as its reason changes, and empty in the end."""

    kind: str
    message: str
    parent: bytes = b""
    task_id: bytes = b""  # names the line that is changed in place


class Sinks:
    """Shows news in a terminal; a notebook installs its own class."""

    def __init__(self) -> None:
        self._said: set[tuple[str, bytes]] = set()  # (kind, task that names the line)
        self._runs: dict[str, tuple[str, float]] = {}  # by id: its state, and when a line was printed
        self._bar_is_open = False  # the terminal's cursor is at the end of a bar

    def lines(self, message: Printed) -> None:
        """Print whole lines, each with Ray's prefix."""
        stream = sys.stdout if message.stream == 1 else sys.stderr
        prefix = message.prefix
        if prefix:
            prefix = f"{_CYAN}{prefix}{_RESET} " if _is_terminal(stream) else f"{prefix} "
        self._write(stream, "".join(self._drawn(prefix, line, stream) for line in message.lines()))

    def _drawn(self, prefix: str, line: Line, stream: Any) -> str:
        """The text of a line. A bar that goes on is redrawn in place in a terminal, and left out of a file."""
        if line.is_bar and not line.ended:
            if not _is_a_tty(stream):
                return ""
            self._bar_is_open = True
            return f"\r{prefix}{line.text}"
        was_open, self._bar_is_open = self._bar_is_open, False
        if was_open and not line.text:
            return "\n"
        start = "\r" if was_open and line.is_bar else "\n" if was_open else ""
        return f"{start}{prefix}{line.text}\n"

    def notice(self, message: Notice) -> None:
        """Print a notice. One about waiting work comes again with each change, to replace its line; a terminal
        cannot replace it, so it is printed once.
        """
        line = (message.kind, message.task_id)
        if not message.message:
            self._said = {said for said in self._said if said[1] != message.task_id}
            return
        if message.task_id and line in self._said:
            return
        if message.task_id:
            self._said.add(line)
        self._write(sys.stderr, f"nbaccel: {message.message}\n")

    def started_again(self, runtime: Runtime) -> None:
        """A call has started a cluster by itself, after one was shut down. A script knows its own order: no line."""

    def run(self, snapshot: RunSnapshot) -> None:
        """Print a line for each change of a run's state, and in a terminal at most one a second for its reports."""
        from nbaccel.views import run_snapshot  # with msgspec, which not every process needs

        self._say_of(snapshot, lambda: run_snapshot.one_line(snapshot, time.time()))

    def experiment(self, snapshot: ExperimentSnapshot, seen: SeenTrials | None = None) -> None:
        """Print a line for each change of an experiment's state, and in a terminal at most one a second."""
        from nbaccel.views import experiment_snapshot  # as above

        self._say_of(snapshot, lambda: experiment_snapshot.one_line(snapshot, time.time()))

    def application(self, snapshot: ServedSnapshot, *, under_this_cell: bool = False) -> None:
        """A script has the notice of its `serve.run`, and asks `serve.status()`: no line."""

    def _say_of(self, snapshot: RunSnapshot | ExperimentSnapshot, line: Callable[[], str]) -> None:
        state, said_at = self._runs.get(snapshot.id, ("", 0.0))
        now = time.monotonic()
        if snapshot.state != state or (_is_a_tty(sys.stderr) and now >= said_at + RUN_LINE_EVERY_S):
            self._runs[snapshot.id] = (snapshot.state, now)
            self._write(sys.stderr, f"nbaccel: {line()}\n")
        if not snapshot.is_under_way:
            self._runs.pop(snapshot.id, None)

    def starting(self, what: str, planned: Sequence[str], later: Later | None = None) -> StartSteps:
        """The steps of a slow start: one line that a terminal redraws and clears in the end; a file gets nothing."""
        return StartSteps(what, planned, self._say_start, later=later)

    def _say_start(self, shown: StartSteps) -> None:
        if _is_a_tty(sys.stderr):
            self._write(sys.stderr, _CLEARED if shown.is_over else f"{_CLEARED}nbaccel: {shown.line()}")

    def place(self, file: str, line: str) -> str:
        """Where a line of code is, in words: "train.py line 31"; a notebook names the cell."""
        return f"{os.path.basename(file)} line {line}"

    def show_run(self, snapshot: RunSnapshot, text: str) -> None:
        """Show a run on the last line of a cell: here as text, since a terminal cannot draw the card."""
        self._write(sys.stdout, f"{text}\n")

    def shows_end_of(self, path: str) -> bool:
        """Whether the running cell has the card of the run or experiment in this folder, which has ended."""
        return False

    def pictures(self, id: str, drawn: str) -> None:
        """Show the page's pictures of an experiment that has ended."""

    def pictures_of(self, path: str) -> str:
        """The page's pictures of the experiment in this folder: a terminal has none."""
        return ""

    def bar(self, total: int, description: str) -> Any:
        """A progress bar over `total` tasks, drawn by tqdm. Raises ImportError, with what to install, without tqdm."""
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError("A progress bar needs tqdm: pip install tqdm, or nbaccel[lab].") from None
        return tqdm(total=total, desc=description or None, unit="task")

    def _write(self, stream: Any, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # the stream is closed, or there is none (pythonw)


def _is_terminal(stream: Any) -> bool:
    """Whether to colour prefixes."""
    wanted = os.environ.get("RAY_COLOR_PREFIX")
    return wanted == "1" if wanted is not None else _is_a_tty(stream)


def _is_a_tty(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


installed: Any = Sinks()


def install(new: Any) -> None:
    """Use another object that shows lines and notices."""
    global installed
    installed = new
