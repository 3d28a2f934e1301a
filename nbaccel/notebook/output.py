"""Puts what a worker prints under the cell that submitted its task, even when another cell runs or that one is done.

```
  news of the engine ── line ──► CellOutput ── under the limit ──► a stream message with that cell's parent
                                      ├────── over the limit ──► one line with a count, changed in place
                                      └────── a bar ─────────► one line, changed in place
```
The messages are built here and not left to `sys.stdout`: where a thread's text goes differs between ipykernel 6.29,
7.0, 7.1 and 7.4; what a front end does with a message's parent is the same. Folding loses nothing: the log has every
line.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nbaccel.notebook import experiment_card, run_card, start_card
from nbaccel.notebook.cell_notes import CellNotes
from nbaccel.notebook.run_cards import RUNS_REMEMBERED, RunCards
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.notebook.task_bar import TaskBar
from nbaccel.views import wording
from nbaccel.views.experiment_snapshot import ExperimentSnapshot
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.seen_trials import SeenTrials
from nbaccel.views.sinks import Line, Notice, Printed
from nbaccel.views.snapshot import Runtime
from nbaccel.views.start_steps import Later, StartSteps

FOLD_UPDATE_S = 0.5
CELLS_REMEMBERED = 200
BAR_EVERY_S = 0.2
BARS_REMEMBERED = 1_000
_NEVER = float("-inf")
_EMPTY = Line("")

Place = tuple[bytes, str, str]  # of a bar: its cell's parent, the prefix, the stream

Send = Callable[[str, dict[str, Any], dict[str, Any]], None]
"""Publishes (message type, content, parent)."""


@dataclass(slots=True)
class _Shown:
    """How much output a cell has shown."""

    tokens: float
    refilled_at: float
    lines: int = 0
    folded: int = 0
    said_folded: int = 0
    fold_id: str = ""
    parent: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Bar:
    """A line of a task that redraws itself."""

    id: str = field(default_factory=lambda: f"nbaccel-bar-{uuid.uuid4().hex}")
    text: str = ""
    drawn_at: float = _NEVER
    is_late: bool = False  # its text has changed since it was drawn


class CellOutput:
    """Routes text to cells and folds floods."""

    def __init__(
        self,
        send: Send,
        limits: NotebookSettings,
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[Callable[[], None]], None] | None = None,
        parent_now: Callable[[], bytes] = bytes,
        cell_of: Callable[[str], str] = lambda file: "",
        place_now: Callable[[], str] = str,
        explained: Callable[[str], str] = str,
    ) -> None:
        self._send = send
        self._limits = limits
        self._clock = clock
        self._later = later or _after_a_moment
        self._explained = explained  # adds what still holds the actors that a sentence names
        self._parent_now = parent_now  # the parent of the running cell
        self._cell_of = cell_of  # the cell of a code's file name
        self._cells: OrderedDict[bytes, _Shown] = OrderedDict()
        self._bars: OrderedDict[Place, _Bar] = OrderedDict()  # bars that have not ended
        self._notes = CellNotes()
        self._lock = threading.Lock()
        self._saying_soon = False
        self._runs: RunCards[RunSnapshot] = RunCards(send, parent_now, run_card.mimebundle, place_now=place_now)
        self._ended: OrderedDict[str, str] = (
            OrderedDict()
        )  # path -> id of what ended last there: its card shows all of it
        self._experiments: RunCards[experiment_card.ShownExperiment] = RunCards(
            send, parent_now, experiment_card.mimebundle, place_now=place_now
        )

    def write(self, parent: bytes, stream: str, text: str) -> None:
        """Shows whole lines of `stream` ("stdout" or "stderr") under the cell of `parent`."""
        with self._lock:
            shown = self._cell(parent)
            lines = text.splitlines(keepends=True)
            allowed = self._allowed(shown, len(lines))
            if allowed:
                self._send("stream", {"name": stream, "text": "".join(lines[:allowed])}, shown.parent)
            shown.lines += allowed
            shown.folded += len(lines) - allowed
            if shown.folded > shown.said_folded:
                self._say_soon()

    def lines(self, message: Printed) -> None:
        """Shows a worker's lines, each with Ray's prefix: "(train pid=51830) text"; a bar in its place."""
        prefix = f"{wording.plain(message.prefix)} " if message.prefix else ""
        stream = "stdout" if message.stream == 1 else "stderr"
        place = (message.parent, prefix, stream)
        lines = message.lines()
        if lines and lines[0] == _EMPTY and self._end_bar(place):
            del lines[0]  # the end of the bar's line
        for is_bar, group in itertools.groupby(lines, key=lambda line: line.is_bar):
            if not is_bar:
                self.write(message.parent, stream, "".join(f"{prefix}{line.text}\n" for line in group))
                continue
            for line in group:
                self._draw(place, f"{prefix}{line.text}", ended=line.ended)

    def _end_bar(self, place: Place) -> bool:
        """Ends the bar of this place; returns whether one was there."""
        with self._lock:
            bar = self._bars.pop(place, None)
            if bar is not None and bar.is_late:
                self._draw_now(place, bar)
            return bar is not None

    def _draw(self, place: Place, text: str, *, ended: bool) -> None:
        """Redraws a bar in its place, a few times a second."""
        with self._lock:
            bar = self._bars.setdefault(place, _Bar())
            bar.text = text
            if ended or self._clock() >= bar.drawn_at + BAR_EVERY_S:
                self._draw_now(place, bar)
            else:
                bar.is_late = True
                self._say_soon()
            if ended:
                del self._bars[place]
            elif len(self._bars) > BARS_REMEMBERED:
                self._bars.popitem(last=False)

    def _draw_now(self, place: Place, bar: _Bar) -> None:
        content = {
            "data": {"text/plain": bar.text},
            "metadata": {},
            "transient": {"display_id": bar.id},
        }
        first = bar.drawn_at == _NEVER
        self._send("display_data" if first else "update_display_data", content, self._cell(place[0]).parent)
        bar.drawn_at, bar.is_late = self._clock(), False

    def bar(self, total: int, description: str) -> TaskBar:
        """A progress bar over `total` tasks, under the running cell."""
        parent = self._parent_now()
        place: dict[str, Any] = json.loads(parent) if parent else {}
        return TaskBar(lambda kind, content: self._send(kind, content, place), total, description)

    def starting(self, what: str, planned: Sequence[str], later: Later | None = None) -> StartSteps:
        """The steps of a slow start, under the running cell."""
        parent = self._parent_now()
        place: dict[str, Any] = json.loads(parent) if parent else {}
        id, drawn = f"nbaccel-start-{uuid.uuid4().hex}", itertools.count()

        def draw(shown: StartSteps) -> None:
            content = {"data": start_card.mimebundle(shown), "metadata": {}, "transient": {"display_id": id}}
            self._send("update_display_data" if next(drawn) else "display_data", content, place)

        return StartSteps(what, planned, draw, clock=self._clock, later=later)

    def run(self, snapshot: RunSnapshot) -> None:
        """Shows a run under the cell that began it, and updates the display as the run goes on."""
        self._runs.run(snapshot)
        if not snapshot.is_under_way:
            self._remember_end(snapshot.path, snapshot.id)

    def experiment(self, snapshot: ExperimentSnapshot, seen: SeenTrials | None = None) -> None:
        """Shows an experiment under the cell that began it, and updates the display; with its trials at its end."""
        self._experiments.run(experiment_card.ShownExperiment(snapshot, seen))
        if seen is not None:
            self._remember_end(snapshot.path, snapshot.id)

    def _remember_end(self, path: str, id: str) -> None:
        self._ended[path] = id
        self._ended.move_to_end(path)
        if len(self._ended) > RUNS_REMEMBERED:
            self._ended.popitem(last=False)

    def shows_end_of(self, path: str) -> bool:
        """Whether the running cell has the card of the run or experiment in this folder, which has ended."""
        id = self._ended.get(path, "")
        return self._runs.is_here(id) or self._experiments.is_here(id)

    def show_run(self, snapshot: RunSnapshot, text: str) -> None:
        """Shows a run under the running cell too, and updates it there; a cell that has the card has it once."""
        if not self._runs.is_here(snapshot.id):
            self._runs.show(snapshot)

    def place(self, file: str, line: str) -> str:
        """Where a line of code is, in words: "cell [7] line 31"."""
        cell = self._cell_of(file)
        return f"cell {cell} line {line}" if cell else f"{os.path.basename(file)} line {line}"

    def notice(self, message: Notice) -> None:
        """Shows one sentence of the engine's under the cell that it is about; a flood of output does not fold it.

        A notice about waiting work names its task: it is a line of the cell's note, and leaves it in the end.
        A notice without a cell goes under the running cell: front ends drop a message without a parent.
        """
        if message.task_id and message.message:
            message = replace(message, message=self._explained(message.message))
        with self._lock:
            cell = message.parent or self._parent_now()
            parent = self._cell(cell).parent
            if message.task_id:
                changed = self._notes.changed(cell, message)
                if changed is not None:
                    self._send(*changed, parent)
            else:
                text = f"nbaccel: {wording.plain(message.message)}\n"
                self._send("stream", {"name": "stderr", "text": text}, parent)

    def started_again(self, runtime: Runtime) -> None:
        """Says that the running cell has started a cluster by itself, after one was shut down."""
        if runtime.shared:
            words = "Joined a running cluster, since this notebook had left the one before."
        else:
            words = (
                "Started a new cluster with init()'s defaults, since the one before was shut down; "
                "%accel_init or nbaccel.init(...) starts one with options."
            )
        self.notice(Notice("started", words))

    def flush(self) -> None:
        """Shows pending counts of folded lines, and the current text of bars."""
        with self._lock:
            self._saying_soon = False
            for place, bar in self._bars.items():
                if bar.is_late:
                    self._draw_now(place, bar)
            for shown in self._cells.values():
                if shown.folded > shown.said_folded:
                    self._say_folded(shown)

    def _cell(self, parent: bytes) -> _Shown:
        shown = self._cells.get(parent)
        if shown is None:
            shown = _Shown(self._limits.burst_lines, self._clock(), parent=json.loads(parent) if parent else {})
            self._cells[parent] = shown
            if len(self._cells) > CELLS_REMEMBERED:
                self._cells.popitem(last=False)
        return shown

    def _allowed(self, shown: _Shown, wanted: int) -> int:
        now = self._clock()
        shown.tokens = min(
            self._limits.burst_lines, shown.tokens + (now - shown.refilled_at) * self._limits.lines_per_s
        )
        shown.refilled_at = now
        allowed = max(0, min(wanted, int(shown.tokens), self._limits.lines_per_cell - shown.lines))
        shown.tokens -= allowed
        return allowed

    def _say_soon(self) -> None:
        if not self._saying_soon:
            self._saying_soon = True
            self._later(self.flush)

    def _say_folded(self, shown: _Shown) -> None:
        shown.said_folded = shown.folded
        update = bool(shown.fold_id)
        shown.fold_id = shown.fold_id or uuid.uuid4().hex
        noun = "line is" if shown.folded == 1 else "lines are"
        text = f"… {shown.folded} more {noun} in the log, %accel_logs shows them"
        content = {
            "data": {"text/plain": text},
            "metadata": {},
            "transient": {"display_id": shown.fold_id},
        }
        self._send("update_display_data" if update else "display_data", content, shown.parent)


def _after_a_moment(flush: Callable[[], None]) -> None:
    timer = threading.Timer(FOLD_UPDATE_S, flush)
    timer.daemon = True
    timer.start()


def sender(kernel: Any) -> Send:
    """Publishes on a kernel's output socket, from any thread."""

    def send(kind: str, content: dict[str, Any], parent: dict[str, Any]) -> None:
        kernel.session.send(kernel.iopub_socket, kind, content, parent=parent or None, ident=kind.encode())

    return send
