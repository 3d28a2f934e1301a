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
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from nbaccel.views import wording

if TYPE_CHECKING:
    from nbaccel.views.experiment_snapshot import ExperimentSnapshot, ExperimentSummary
    from nbaccel.views.run_snapshot import RunSnapshot
    from nbaccel.views.served_snapshot import ServedSnapshot
    from nbaccel.views.snapshot import Runtime


# ---- the steps of a start, as the card and the terminal show them


DRAWN_EVERY_S = 1.0

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls something after so many seconds; returns what calls it off."""


class StartStep(Struct):
    """One step; `state` has a word of `tables.STATE_WORDS`."""

    words: str
    state: str = "waiting"
    began_at: float = 0.0
    took_s: float = 0.0
    found: str = ""


class StartSteps:
    """The steps of one start, as a context: the steps that are planned wait, the one that has begun runs.

    `draw` gets them from any thread, one call at a time, and a last time when the start is over.
    """

    def __init__(
        self,
        what: str,
        planned: Sequence[str],
        draw: Callable[[StartSteps], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        later: Later | None = None,
    ) -> None:
        self.what = wording.plain(what)
        self.steps = [StartStep(wording.plain(words)) for words in planned]
        self.is_over = False
        self.hint = ""  # a sentence for the end, about what was not shown
        self._draw = draw
        self._clock = clock
        self._later = later or _after
        self._began = clock()
        self._call_off: Callable[[], None] | None = None
        self._is_drawn = False
        self._lock = threading.Lock()

    def __enter__(self) -> StartSteps:
        self._call_off = self._later(DRAWN_EVERY_S, self._redraw)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            if self._call_off is not None:
                self._call_off()
            stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
            self._end_step("finished" if kind is None else "cancelled" if stopped else "failed")
            self.is_over = True
            if self._is_drawn:
                self._draw(self)

    @property
    def took_s(self) -> float:
        """How long the start has taken until now."""
        return self._clock() - self._began

    @property
    def failed(self) -> bool:
        """Whether a step was not finished."""
        return any(step.state in ("failed", "cancelled") for step in self.steps)

    def next(self) -> None:
        """The running step is finished, and the next one begins."""
        with self._lock:
            self._end_step("finished")
            step = next(step for step in self.steps if step.state == "waiting")
            step.state, step.began_at = "running", self._clock()
            if self._is_drawn:
                self._draw(self)

    def found(self, words: str) -> None:
        """What the running step has found, or why it takes long."""
        with self._lock:
            step = self._running()
            if step is not None:
                step.found = wording.plain(words)

    def line(self) -> str:
        """All of it in one line, as long as it goes on and after it."""
        if self.is_over:
            end = "did not start:" if self.failed else "started in"
            took = wording.duration(self.took_s)
            return wording.sentence([f"{self.what} {end} {took}", *map(self.step_words, self.steps), self.hint])
        step = self._running()
        return wording.sentence([f"{self.what} starts", self.step_words(step) if step is not None else ""])

    def step_words(self, step: StartStep) -> str:
        """ "import Ray 1.9 s"."""
        if step.state == "waiting":
            return ""
        return f"{step.words} {self.step_took(step)}" + (f" ({step.found})" if step.found else "")

    def step_took(self, step: StartStep) -> str:
        """How long a step took, in whole seconds while it runs: "1.9 s", "4 s"."""
        if step.state == "waiting":
            return ""
        return wording.age(self._clock() - step.began_at) if step.state == "running" else wording.duration(step.took_s)

    def _running(self) -> StartStep | None:
        return next((step for step in self.steps if step.state == "running"), None)

    def _end_step(self, state: str) -> None:
        step = self._running()
        if step is not None:
            step.took_s, step.state = self._clock() - step.began_at, state

    def _redraw(self) -> None:
        with self._lock:
            if self.is_over:
                return
            self._is_drawn = True
            self._draw(self)
            self._call_off = self._later(DRAWN_EVERY_S, self._redraw)


def _after(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer.cancel


# ---- lines and notices


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

    def experiment(self, snapshot: ExperimentSnapshot, seen: ExperimentSummary | None = None) -> None:
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


def notify(kind: str, sentence: str, line: str = "") -> None:
    """Show a sentence once, where the engines' own notices are shown. One about what goes on now is a `line`, which the
    next sentence of this name replaces, and "" takes away.
    """
    installed.notice(Notice(kind, sentence, task_id=line.encode()))


def install(new: Any) -> None:
    """Use another object that shows lines and notices."""
    global installed
    installed = new
