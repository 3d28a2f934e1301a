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

import dataclasses
import hashlib
import itertools
import json
import os
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from nbaccel.notebook import blocks, experiment_card, run_card, served_card
from nbaccel.notebook.blocks import Html
from nbaccel.notebook.run_card import RUNS_REMEMBERED, RunCards
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.views import explanations, wording
from nbaccel.views.experiment_snapshot import ExperimentSnapshot, ExperimentSummary
from nbaccel.views.run_snapshot import RunSnapshot
from nbaccel.views.served_snapshot import ServedSnapshot
from nbaccel.views.sinks import Later, Line, Notice, Printed, StartSteps
from nbaccel.views.snapshot import Runtime

FOLD_UPDATE_S = 0.5
CELLS_REMEMBERED = 200
BAR_EVERY_S = 0.2
BARS_REMEMBERED = 1_000
_NEVER = float("-inf")
MOST_WITH_TRIALS = 8  # ended experiments whose pictures may come
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
    reported_folded: int = 0
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
    ) -> None:
        self._send = send
        self._limits = limits
        self._clock = clock
        self._later = later or _after_a_moment
        self._parent_now = parent_now  # the parent of the running cell
        self._cell_of = cell_of  # the cell of a code's file name
        self._cells: OrderedDict[bytes, _Shown] = OrderedDict()
        self._bars: OrderedDict[Place, _Bar] = OrderedDict()  # bars that have not ended
        self._notes = CellNotes()
        self._lock = threading.Lock()
        self._reporting_soon = False
        self._runs: RunCards[RunSnapshot] = RunCards(send, parent_now, run_card.mimebundle, place_now=place_now)
        self._ended: OrderedDict[str, str] = (
            OrderedDict()
        )  # path -> id of what ended last there: its card shows all of it
        self._served: RunCards[ServedSnapshot] = RunCards(send, parent_now, served_card.mimebundle, place_now=place_now)
        self._experiments: RunCards[experiment_card.ShownExperiment] = RunCards(
            send, parent_now, experiment_card.mimebundle, place_now=place_now
        )
        self._last_experiments: OrderedDict[str, experiment_card.ShownExperiment] = OrderedDict()  # that have ended

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
            if shown.folded > shown.reported_folded:
                self._report_soon()

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
                self._report_soon()
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
            content = {"data": start_card(shown), "metadata": {}, "transient": {"display_id": id}}
            self._send("update_display_data" if next(drawn) else "display_data", content, place)

        return StartSteps(what, planned, draw, clock=self._clock, later=later)

    def run(self, snapshot: RunSnapshot) -> None:
        """Shows a run under the cell that began it, and updates the display as the run goes on."""
        self._runs.run(snapshot)
        if not snapshot.is_under_way:
            self._remember_end(snapshot.path, snapshot.id)

    def experiment(self, snapshot: ExperimentSnapshot, seen: ExperimentSummary | None = None) -> None:
        """Shows an experiment under the cell that began it, and updates the display; with its trials at its end."""
        shown = experiment_card.ShownExperiment(snapshot, seen)
        self._experiments.run(shown)
        if seen is not None:
            self._remember_end(snapshot.path, snapshot.id)
            self._last_experiments[snapshot.id] = shown
            if len(self._last_experiments) > MOST_WITH_TRIALS:
                self._last_experiments.popitem(last=False)

    def pictures(self, id: str, drawn: Html) -> None:
        """Show the page's pictures of an experiment that has ended in its card; the first ones that come stay."""
        shown = self._last_experiments.get(id)
        if drawn and shown is not None and not shown.pictures:
            self._last_experiments[id] = dataclasses.replace(shown, pictures=drawn)
            self._experiments.run(self._last_experiments[id])

    def pictures_of(self, path: str) -> Html:
        """The page's pictures of the experiment in this folder; nothing where it has drawn none."""
        shown = self._last_experiments.get(self._ended.get(path, ""))
        return blocks.NOTHING if shown is None else shown.pictures

    def application(self, snapshot: ServedSnapshot, *, under_this_cell: bool = False) -> None:
        """Shows what is served under the cell that serves it, and updates the display."""
        if under_this_cell:
            self._served.show(snapshot)
        elif self._served.is_known(snapshot.id):
            self._served.run(snapshot)

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
            message = replace(message, message=explanations.name_holders([message.message])[0])
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
            self._reporting_soon = False
            for place, bar in self._bars.items():
                if bar.is_late:
                    self._draw_now(place, bar)
            for shown in self._cells.values():
                if shown.folded > shown.reported_folded:
                    self._report_folded(shown)

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

    def _report_soon(self) -> None:
        if not self._reporting_soon:
            self._reporting_soon = True
            self._later(self.flush)

    def _report_folded(self, shown: _Shown) -> None:
        shown.reported_folded = shown.folded
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


# ---- the note under a cell: why its work waits, a line for each reason, in one box that changes in place


_NEEDS_A_PERSON = ("infeasible", "deadlock")  # kinds of what a person has to change


@dataclass(slots=True)
class _Note:
    """What waits of one cell, and whether its box is on the page."""

    lines: dict[bytes, Notice] = field(default_factory=dict)  # by task
    is_shown: bool = False


class CellNotes:
    """The notes of all cells."""

    def __init__(self) -> None:
        self._notes: OrderedDict[bytes, _Note] = OrderedDict()
        self._cells: dict[bytes, bytes] = {}  # under which a task's line stands

    def changed(self, cell: bytes, notice: Notice) -> tuple[str, dict[str, Any]] | None:
        """The message (type, content) that shows what waits of a cell now; None if nothing has changed."""
        cell = self._cells.setdefault(notice.task_id, cell)
        if not notice.message:
            del self._cells[notice.task_id]
        note = self._notes.setdefault(cell, _Note())
        before = note.lines.pop(notice.task_id, None)
        if notice.message:
            note.lines[notice.task_id] = notice
        if len(self._notes) > CELLS_REMEMBERED:
            self._notes.popitem(last=False)
        if not note.lines and before is None:
            return None
        kind, note.is_shown = "update_display_data" if note.is_shown else "display_data", True
        return kind, {"data": _bundle(note), "metadata": {}, "transient": {"display_id": _display_id(cell)}}


def _display_id(cell: bytes) -> str:
    return f"nbaccel-waits-{hashlib.sha256(cell).hexdigest()[:24]}"


def _bundle(note: _Note) -> dict[str, str]:
    """What a person has to change comes first."""
    if not note.lines:
        return {"text/plain": "", "text/html": ""}
    never = _once(each for each in note.lines.values() if each.kind in _NEEDS_A_PERSON)
    waits = _once(each for each in note.lines.values() if each.kind not in _NEEDS_A_PERSON)
    drawn = [*map(blocks.attention, never), *(blocks.line(f"◌ {line}") for line in waits)]
    return {"text/plain": "\n".join(f"nbaccel: {line}" for line in (*never, *waits)), "text/html": blocks.box(drawn)}


def _once(notices: Iterable[Notice]) -> list[str]:
    """A line for each reason: "evaluate waits for 1 GPU; score waits for 1 GPU. Both GPUs are busy: …"."""
    subjects: dict[str, Counter[str]] = {}  # by what is said after them
    for notice in notices:
        subject, stop, why = wording.plain(notice.message).partition(". ")
        subjects.setdefault(stop + why, Counter())[subject] += 1
    return [
        "; ".join(subject if number == 1 else f"× {number} {subject}" for subject, number in alike.items()) + why
        for why, alike in subjects.items()
    ]


# ---- the steps of a slow start under the cell that waits for it: an output that is changed in place
#
# While the start goes on it is a table. What stays in the notebook is one quiet line, above the cluster's card.


def start_card(shown: StartSteps) -> dict[str, str]:
    """The steps as text and HTML."""
    drawn = blocks.note(shown.line()) if shown.is_over and not shown.failed else _table(shown)
    return {"text/plain": shown.line(), "text/html": blocks.box([drawn])}


def _table(shown: StartSteps) -> Html:
    rows = [
        [
            blocks.two_lines(blocks.words(step.words, strong=step.state == "running"), step.found),
            blocks.pill(step.state),
            blocks.words(shown.step_took(step)),
        ]
        for step in shown.steps
    ]
    verb = "did not start" if shown.is_over else "starts"
    return blocks.table(f"{shown.what} {verb}: {wording.age(shown.took_s)}", ["Step", "State", "Took"], rows)


# ---- a progress bar over tasks as a plain output that changes in place: a saved notebook keeps its last state
#
# A widget of tqdm keeps only the 0 % at its start, and needs a kernel to show even that.


STEPS = 200  # the most times a bar is drawn, so that thousands of tasks do not send as many messages


class TaskBar:
    """The bar of one cell. `send` publishes (message type, content) under this cell, from any thread."""

    def __init__(
        self,
        send: Callable[[str, dict[str, Any]], None],
        total: int,
        description: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._total = total
        self._description = wording.plain(description)
        self._clock = clock
        self._began = clock()
        self._done = 0
        self._drawn = -1  # the step that is shown
        self._id = f"nbaccel-bar-{uuid.uuid4().hex}"
        self._draw()

    def update(self, n: float = 1) -> None:
        """Count more tasks as ready."""
        self._done += int(n)
        self._draw()

    def close(self) -> None:
        """Do nothing: every update has drawn the bar."""

    def _draw(self) -> None:
        step = STEPS if self._done >= self._total else self._done * STEPS // self._total
        if step == self._drawn:
            return
        kind = "display_data" if self._drawn < 0 else "update_display_data"
        self._drawn = step
        words = self._words()
        label = f"{self._description}: " if self._description else ""
        html = blocks.box([blocks.progress(label, self._done, self._total, words)])
        data = {"text/plain": f"{label}{words}", "text/html": html}
        self._send(kind, {"data": data, "metadata": {}, "transient": {"display_id": self._id}})

    def _words(self) -> str:
        percent = 100 * self._done // self._total if self._total else 100
        of = f"{self._done} of {wording.count(self._total, 'task')}"
        return wording.sentence([of, f"{percent} %", wording.age(self._clock() - self._began)])
