"""`nbaccel top`: the cockpit for people on ssh, a live page of the snapshot in the terminal.

```
  each head ── snapshots as they change ──► Heads (one thread for each) ──► page() ──► rich, redrawn once a second
  terminal ─── keys ─────────────────────► TopView ────────────────────────┘
```
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nbaccel.views import experiment_snapshot, run_snapshot, served_snapshot, tables, task_lines, totals, wording
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import ActorRow, DeviceRow, Snapshot, TaskRow
from nbaccel.views.task_filter import FoundTasks, TaskFilter

BAR_CELLS = 10
WAITING_SHOWN = 5
FUNCTIONS_SHOWN = 3  # with more tasks than a screen can hold: how far they are
ALERTS_SHOWN = 3
ACTORS_SHOWN = 5
MOST_FOUND = 200  # tasks that pass the filter: more than a screen holds
WIDE = 110  # columns of a screen that has room for the devices' models
_ORDER = ("running", "failed", "waiting", "cancelled", "finished")  # the order of importance of tasks
_COLUMNS = ("Device", "Model", "In use", "Load", "Memory", "Held by")
# Names of the terminal's own colours, so that the user's theme decides what they look like.
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")

Find = Callable[[], Sequence[SessionRecord]]
WatchHead = Callable[[SessionRecord], Iterator[Snapshot]]
FindTasks = Callable[[SessionRecord, TaskFilter], FoundTasks]
End = Callable[[SessionRecord, str, str], None]  # ends a "task" or an "actor" by its id


class Heads:
    """The newest snapshot of every head; a head that has ended is removed."""

    def __init__(self, snapshots: WatchHead) -> None:
        self._snapshots = snapshots
        self._newest: dict[str, tuple[SessionRecord, Snapshot]] = {}
        self._watched: set[str] = set()
        self._changed = threading.Event()

    def watch(self, records: Sequence[SessionRecord]) -> None:
        """Begin to watch new heads."""
        for record in records:
            if record.session not in self._watched:
                self._watched.add(record.session)
                threading.Thread(target=self._follow, args=(record,), name="nbaccel-top", daemon=True).start()

    def _follow(self, record: SessionRecord) -> None:
        try:
            for snapshot in self._snapshots(record):
                self._newest[record.session] = record, snapshot
                self._changed.set()
        except (ConnectionError, FileNotFoundError):
            pass  # the head ended, or had ended before it was asked
        finally:
            self._newest.pop(record.session, None)
            self._watched.discard(record.session)
            self._changed.set()

    def newest(self) -> dict[str, tuple[SessionRecord, Snapshot]]:
        """Each head with its newest snapshot, by session."""
        return dict(self._newest)

    def wake(self) -> None:
        """Let `wait` come back now."""
        self._changed.set()

    @property
    def watching(self) -> bool:
        return bool(self._watched)

    def wait(self, seconds: float) -> None:
        """Wait until a snapshot changes or the time is over."""
        self._changed.wait(seconds)
        self._changed.clear()


def watch(
    find: Find,
    snapshots: WatchHead,
    interval_s: float,
    console: Console | None = None,
    *,
    tasks: FindTasks = lambda record, wanted: FoundTasks(),
    end: End = lambda record, kind, id: None,
) -> bool:
    """Show the page until the user leaves (True) or until the last head has ended (False)."""
    console = console or Console(highlight=False)
    heads, view = Heads(snapshots), TopView()
    heads.watch(find())
    heads.wait(5.0)
    with (
        TerminalKeys(heads.wake) as keys,
        Live(console=console, screen=console.is_terminal, auto_refresh=False) as live,
    ):
        try:
            while heads.watching and not view.over:
                newest = heads.newest()
                found = _found(newest, view.text, tasks)
                shown = view if keys.can_read else None
                drawn = page([snapshot for _, snapshot in newest.values()], time.time(), console.size, shown, found)
                live.update(drawn, refresh=True)
                heads.wait(interval_s)
                for key in keys.take():
                    wanted = view.press(key)
                    if wanted is not None:
                        view.said = _ended(wanted, heads.newest(), end)
                heads.watch(find())
        except KeyboardInterrupt:
            return True
    return view.over


def _found(
    newest: Mapping[str, tuple[SessionRecord, Snapshot]], text: str, tasks: FindTasks
) -> dict[str, list[TaskRow]]:
    """The tasks of each head that pass the filter, out of all that it knows; empty without a filter."""
    found = {}
    for session, (record, _) in newest.items() if text else ():
        try:
            found[session] = tasks(record, TaskFilter(text=text, limit=MOST_FOUND)).rows
        except (ConnectionError, FileNotFoundError):
            continue  # it has ended: the next page is without it
    return found


def _ended(wanted: Endable, newest: Mapping[str, tuple[SessionRecord, Snapshot]], end: End) -> str:
    """End a task or an actor; what came of it."""
    head = newest.get(wanted.session)
    if head is None:
        return "Its head has ended meanwhile."
    try:
        end(head[0], wanted.kind, wanted.id)
    except (ConnectionError, FileNotFoundError, ValueError) as error:
        return f"{wanted.words} goes on: {error}"
    return f"{'Cancelled' if wanted.kind == 'task' else 'Ended'} {wanted.words}."


def page(
    snapshots: Sequence[Snapshot],
    now: float,
    size: ConsoleDimensions,
    view: TopView | None = None,
    found: Mapping[str, list[TaskRow]] | None = None,
) -> Group:
    """What one screen shows of these heads: devices first, then what waits, then as many tasks as there is room for.

    `view` is what the keys have asked for, None where no key can be read; `found` the tasks of each session that pass
    its filter.
    """
    if view is not None and view.mode == "help":
        return Group(*(Text(f"{key:10} {meaning}") for key, meaning in HELP), Text(), _line(view.footer(), "dim"))
    parts: list[RenderableType] = []
    device_lines = max(3, size.height // 2 // max(1, len(snapshots)))
    for snapshot in snapshots:
        snapshot.time = max(snapshot.time, now)  # ages grow between snapshots
        parts += _head(snapshot, size.width, device_lines, view.first_device if view is not None else 0)
    footer = 0 if view is None else 1
    used = sum(2 + _lines(part) for part in parts) + footer
    room = max(3, (size.height - used) // max(1, len(snapshots)) - 2)
    rows: list[Endable] = []
    for snapshot in snapshots:
        actors = _actors(snapshot, view)
        tasks = _tasks_in_order(snapshot, view, (found or {}).get(snapshot.runtime.session))
        tasks = tasks[: max(3, room - (len(actors) and len(actors) + 2))]
        rows += [_endable_task(row, snapshot) for row in tasks] + [_endable_actor(row, snapshot) for row in actors]
        chosen = view.chosen if view is not None else ""
        parts += [Text(), _task_table(snapshot, tasks, chosen)]
        if actors:
            parts += [Text(), _actor_table(snapshot, actors, chosen)]
    if view is not None:
        view.rows = rows
        parts += [_line(view.footer(), style="dim" if view.mode == "watch" else "bold")]
    return Group(*parts)


def _lines(part: RenderableType) -> int:
    return part.row_count if isinstance(part, Table) else 1


def _head(snapshot: Snapshot, width: int, device_lines: int, first_device: int) -> list[RenderableType]:
    parts: list[RenderableType] = [
        _line(tables.first_line(snapshot), style="bold"),
        _line(f"{tables.headline(snapshot)}   {tables.resources(snapshot)}", style="dim"),
        *_devices(snapshot, width, device_lines, first_device),
    ]
    parts += [
        _line(run_snapshot.one_line(run, snapshot.time))
        for run in run_snapshot.in_order(run_snapshot.of_snapshot(snapshot))
    ]
    parts += [_line(line) for line in experiment_snapshot.lines(snapshot)]
    parts += [_line(line) for line in served_snapshot.lines(snapshot)]
    parts += [
        _line(f"▸ {line.name} {line.progress()}", style="dim")
        for line in task_lines.of_many(snapshot)[:FUNCTIONS_SHOWN]
    ]
    waiting = task_lines.untold(snapshot, snapshot.alerts[:ALERTS_SHOWN])[:WAITING_SHOWN]
    parts += [_line(f"◌ {each.brief(snapshot.time)}", style="dim") for each in waiting]
    parts += [
        _line(f"⚠ {wording.plain(alert.message)}", style="bold yellow") for alert in snapshot.alerts[:ALERTS_SHOWN]
    ]
    return parts


def _line(words: str, style: str = "") -> Text:
    """One line of the screen, cut at the edge."""
    return Text(words, style=style, no_wrap=True, overflow="ellipsis")


def _devices(snapshot: Snapshot, width: int, most: int, first: int) -> list[RenderableType]:
    """A line for each device, as many as there is room for, and a line that counts the others."""
    everything = tables.device_rows(snapshot)
    if not everything:
        said = ["No accelerator.", *map(wording.plain, snapshot.found), tables.to_come(snapshot)]
        return [Text(" ".join(filter(None, said)), style="dim")]
    first = min(first, max(0, len(everything) - most))
    rows = everything[first : first + most]
    named = tables.labels_of_devices(snapshot.devices)
    cells = [_device(row, named[row.node_id, row.resource, row.id], snapshot) for row in rows]
    measured = any(row.metrics is not None for row in rows)
    hidden = (set() if measured else {"Load", "Memory"}) | (set() if width >= WIDE else {"Model"})
    shown = [place for place, name in enumerate(_COLUMNS) if name not in hidden]
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for place in shown:
        last = place == len(_COLUMNS) - 1
        table.add_column(_COLUMNS[place], no_wrap=True, overflow="ellipsis", ratio=1 if last else None)
    for row_cells in cells:
        table.add_row(*(row_cells[place] for place in shown))
    left_out = totals.devices_left_out(snapshot)
    if len(rows) == len(everything):
        return [table, *([_line(left_out, style="dim")] if left_out else [])]
    free = sum(not row.holders for row in everything[:first] + everything[first + most :])
    others = f"{wording.count(len(everything) - len(rows), 'more device')}, {free} free (PgUp, PgDn)"
    return [table, _line(wording.sentence([others, left_out]), style="dim")]


def _device(row: DeviceRow, label: str, snapshot: Snapshot) -> list[RenderableType]:
    metrics = row.metrics
    load = "" if metrics is None or metrics.utilisation_percent is None else f"{metrics.utilisation_percent:.0f} %"
    used = None if metrics is None else metrics.memory_used_bytes
    total = (metrics.memory_total_bytes if metrics is not None else None) or row.memory_bytes
    memory = wording.size(total) if total else ""
    held = [tables.holder_words(holder, snapshot, whole=len(row.holders) == 1) for holder in row.holders]
    held += [wording.plain(row.free_reason)] if row.free_reason else []
    return [
        Text(label, style="bold"),
        Text(tables.device_model(row), style="dim"),
        _bar(row) + Text(f" {tables.device_state(row)}"),
        Text(load),
        Text(memory if used is None else f"{wording.size(used)} of {memory}"),
        Text("; ".join(held)),
    ]


def _bar(row: DeviceRow) -> Text:
    """Ten cells in the holders' colours; even a hundredth of a device is visible."""
    bar = Text()
    for number, holder in enumerate(row.holders):
        cells = max(1, round(holder.amount * BAR_CELLS))
        bar.append("█" * min(cells, BAR_CELLS - len(bar)), style=_COLOURS[number % len(_COLOURS)])
    return bar.append("░" * (BAR_CELLS - len(bar)), style="dim")


def _place(row: TaskRow) -> int:
    word = tables.state_word(row.state)
    return _ORDER.index(word) if word in _ORDER else len(_ORDER)


def _tasks_in_order(snapshot: Snapshot, view: TopView | None, found: list[TaskRow] | None) -> list[TaskRow]:
    """The tasks that run, failed, wait, and ended last; or those that pass the filter, sorted as the user asked."""
    rows = snapshot.tasks if found is None else found
    by = view.sort if view is not None else "state"
    if by == "newest":
        return sorted(rows, key=lambda row: -(row.submitted_at or 0))
    if by == "longest":
        return sorted(rows, key=lambda row: -_seconds(row, snapshot.time))
    if by == "name":
        return sorted(rows, key=lambda row: (row.name, _place(row)))
    return sorted(rows, key=lambda row: (_place(row), -(row.submitted_at or 0)))


def _seconds(row: TaskRow, now: float) -> float:
    """How long it has run, or ran; of one that has not begun, -1."""
    return (row.finished_at or now) - row.started_at if row.started_at else -1.0


def _actors(snapshot: Snapshot, view: TopView | None) -> list[ActorRow]:
    """Living actors with the filter's text, those on devices first."""
    text = view.text.lower() if view is not None else ""
    alive = [row for row in snapshot.actors if row.state != "DEAD"]
    passing = [row for row in alive if text in f"{row.class_name} {row.name} {row.actor_id} {row.cell}".lower()]
    return sorted(passing, key=lambda row: not row.device_ids)[:ACTORS_SHOWN]


def _endable_task(row: TaskRow, snapshot: Snapshot) -> Endable:
    name = f"{wording.plain(row.name)} {wording.short_id(row.task_id)}"
    return Endable(snapshot.runtime.session, "task", row.task_id, f"{name}{_of_notebook(row, snapshot)}")


def _endable_actor(row: ActorRow, snapshot: Snapshot) -> Endable:
    name = f"actor {wording.plain(row.class_name)} {row.actor_id[:12]}"
    return Endable(snapshot.runtime.session, "actor", row.actor_id, f"{name}{_of_notebook(row, snapshot)}")


def _of_notebook(row: TaskRow | ActorRow, snapshot: Snapshot) -> str:
    """Whose it is, where several notebooks share the head."""
    name = tables.owner(snapshot, row.job) if len(snapshot.jobs) > 1 else ""
    return f" of {name}" if name else ""


def _task_table(snapshot: Snapshot, rows: list[TaskRow], chosen: str) -> RenderableType:
    return _table(task_lines.table(snapshot, task_lines.each(rows)), [row.task_id for row in rows], chosen)


def _actor_table(snapshot: Snapshot, rows: list[ActorRow], chosen: str) -> RenderableType:
    return _table(tables.actors(replace(snapshot, actors=rows)), [row.actor_id for row in rows], chosen)


def _table(shown: tables.Table, ids: list[str], chosen: str) -> RenderableType:
    if not shown.rows:
        return Text(shown.empty, style="dim")
    table = Table(*shown.columns, box=None, pad_edge=False, header_style="dim")
    for id, cells in zip(ids, shown.rows, strict=True):
        style = "reverse" if id == chosen else ""
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells), style=style)
    return table


# ---- the keys of `nbaccel top`: how presses are read from the terminal, and what each of them changes
#
# ```
#   terminal ── bytes ──► TerminalKeys (one thread) ── "down" ──► TopView.press() ──► what the next page shows
# ```


SORTS = ("state", "newest", "longest", "name")
HELP = (
    ("q", "leave; nothing else ends"),
    ("↑ ↓", "choose a task or an actor"),
    ("k", "cancel the chosen task or end the chosen actor, after a question"),
    ("s", f"sort tasks by {', '.join(SORTS[:-1])} or {SORTS[-1]}"),
    (
        "/",
        "show only tasks and actors with this in their name, id, cell, devices or reason; Enter keeps it, Esc ends it",
    ),
    ("PgUp PgDn", "more devices, where the screen does not hold them all"),
    ("?", "this list"),
)
_SEQUENCES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[5~": "page up", "\x1b[6~": "page down",
}  # fmt: skip
_PARTS = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|.", re.DOTALL)
_SINGLE = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace", "\x1b": "escape"}


class Endable(NamedTuple):
    """A row that can be chosen and ended."""

    session: str  # of its head
    kind: str  # "task" or "actor"
    id: str
    words: str  # as the question names it


@dataclass
class TopView:
    """What the keys have asked for. `rows` are those on the screen, in order; whoever draws writes them down."""

    sort: str = SORTS[0]
    text: str = ""
    mode: str = "watch"  # or "help", "filter" (the text is being typed), "confirm" (an end is asked for)
    chosen: str = ""  # the id of a row
    said: str = ""  # what became of the last order
    first_device: int = 0
    over: bool = False
    rows: list[Endable] = field(default_factory=list)

    def press(self, key: str) -> Endable | None:
        """Take a key. Returns what the user wants ended, once that was confirmed."""
        if self.mode == "filter":
            self._type(key)
        elif self.mode == "confirm":
            return self._answer(key)
        elif self.mode == "help":
            self.mode = "watch"
        else:
            self._command(key)
        return None

    def chosen_row(self) -> Endable | None:
        return next((row for row in self.rows if row.id == self.chosen), None)

    def footer(self) -> str:
        """The last line of the screen."""
        row = self.chosen_row()
        if self.mode == "confirm" and row is not None:
            return f"{'Cancel' if row.kind == 'task' else 'End'} {row.words}? y: yes, any other key: no"
        if self.mode == "filter":
            return f"filter: {self.text}▏ Enter keeps it, Esc ends it"
        if self.mode == "help":
            return "any key goes back"
        filtered = f": {self.text}" if self.text else ""
        keys = f"q quit  ? help  ↑↓ choose  k kill  s sort by {self.sort}  / filter{filtered}"
        return f"{self.said}  {keys}" if self.said else keys

    def _command(self, key: str) -> None:
        self.said = ""
        if key in ("q", "escape"):
            self.over = True
        elif key == "?":
            self.mode = "help"
        elif key == "/":
            self.mode = "filter"
        elif key == "s":
            self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        elif key in ("up", "down"):
            self._choose(1 if key == "down" else -1)
        elif key in ("page up", "page down"):
            self.first_device = max(0, self.first_device + (10 if key == "page down" else -10))
        elif key == "k":
            self._ask()

    def _choose(self, step: int) -> None:
        ids = [row.id for row in self.rows]
        if not ids:
            return
        place = ids.index(self.chosen) + step if self.chosen in ids else 0
        self.chosen = ids[max(0, min(place, len(ids) - 1))]

    def _ask(self) -> None:
        if self.chosen_row() is None:
            self.said = "Choose a task or an actor first, with ↑ and ↓."
        else:
            self.mode = "confirm"

    def _answer(self, key: str) -> Endable | None:
        self.mode = "watch"
        row = self.chosen_row()
        if row is None:
            self.said = "It has ended meanwhile."
        elif key in ("y", "Y"):
            return row
        else:
            self.said = "Nothing was ended."
        return None

    def _type(self, key: str) -> None:
        if key == "enter":
            self.mode = "watch"
        elif key == "escape":
            self.mode, self.text = "watch", ""
        elif key == "backspace":
            self.text = self.text[:-1]
        elif len(key) == 1:
            self.text += key


def keys_of(data: bytes) -> list[str]:
    """The keys that a terminal's bytes stand for, several where they came at once; what is unknown is left out."""
    keys = []
    for part in _PARTS.findall(data.decode("utf-8", "ignore")):
        name = _SEQUENCES.get(part) or _SINGLE.get(part)
        if name is not None or (len(part) == 1 and part.isprintable()):
            keys.append(name or part)
    return keys


class TerminalKeys:
    """Reads keys while it is entered, and leaves the terminal as it was. Reads nothing where stdin is no terminal."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake  # called when a key has come
        self._pressed: deque[str] = deque()
        self._before: Any = None  # the settings of the terminal
        self._end_read, self._end_write = os.pipe()

    def __enter__(self) -> TerminalKeys:
        if sys.stdin is not None and sys.stdin.isatty():
            self._fd = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
            self._thread = threading.Thread(target=self._read, name="nbaccel-top-keys", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        os.close(self._end_write)
        if self._before is not None:
            self._thread.join()
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        os.close(self._end_read)

    @property
    def can_read(self) -> bool:
        return self._before is not None

    def take(self) -> Iterable[str]:
        """The keys that were pressed since the last call."""
        while self._pressed:
            yield self._pressed.popleft()

    def _read(self) -> None:
        while True:
            ready, _, _ = select.select([self._fd, self._end_read], [], [])
            if self._end_read in ready:
                return
            data = os.read(self._fd, 64)
            if not data:
                return
            self._pressed.extend(keys_of(data))
            self._wake()
