"""`nbaccel top`: the cockpit for people on ssh, a live page of the snapshot in the terminal.

```
  each head ── pictures as they change ──► Heads (one thread for each) ──► page() ──► rich, redrawn once a second
```
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from nbaccel.views import device_labels, run_snapshot, tables, wording
from nbaccel.views.sessions import SessionRecord
from nbaccel.views.snapshot import DeviceRow, Snapshot, TaskRow

BAR_CELLS = 10
WAITING_SHOWN = 5
ALERTS_SHOWN = 3
WIDE = 110  # columns of a screen that has room for the devices' models
_ORDER = ("running", "failed", "waiting", "cancelled", "finished")  # the order of importance of tasks
_COLUMNS = ("Device", "Model", "In use", "Load", "Memory", "Held by")
# Names of the terminal's own colours, so that the user's theme decides what they look like.
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")

Find = Callable[[], Sequence[SessionRecord]]
Pictures = Callable[[SessionRecord], Iterator[Snapshot]]


class Heads:
    """The newest picture of every head; a head that has ended is removed."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._newest: dict[str, Snapshot] = {}
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
            for picture in self._pictures(record):
                self._newest[record.session] = picture
                self._changed.set()
        except (ConnectionError, FileNotFoundError):
            pass  # the head ended, or had ended before it was asked
        finally:
            self._newest.pop(record.session, None)
            self._watched.discard(record.session)
            self._changed.set()

    def newest(self) -> list[Snapshot]:
        return list(self._newest.values())

    @property
    def watching(self) -> bool:
        return bool(self._watched)

    def wait(self, seconds: float) -> None:
        """Wait until a picture changes or the time is over."""
        self._changed.wait(seconds)
        self._changed.clear()


def watch(find: Find, pictures: Pictures, interval_s: float, console: Console | None = None) -> bool:
    """Show the page until Ctrl-C (True) or until the last head has ended (False)."""
    console = console or Console(highlight=False)
    heads = Heads(pictures)
    heads.watch(find())
    heads.wait(5.0)
    with Live(console=console, screen=console.is_terminal, auto_refresh=False) as live:
        try:
            while heads.watching:
                live.update(page(heads.newest(), time.time(), console.size), refresh=True)
                heads.wait(interval_s)
                heads.watch(find())
        except KeyboardInterrupt:
            return True
    return False


def page(pictures: Sequence[Snapshot], now: float, size: ConsoleDimensions) -> Group:
    """One screen of these heads: devices first, then what waits, then as many tasks as there is room for."""
    parts: list[RenderableType] = []
    for picture in pictures:
        picture.time = max(picture.time, now)  # so that ages grow between pictures
        parts += _head(picture, size.width)
    used = sum(2 + _lines(part) for part in parts)
    room = max(3, (size.height - used) // max(1, len(pictures)) - 2)
    for picture in pictures:
        parts += [Text(), _tasks(picture, room)]
    return Group(*parts)


def _lines(part: RenderableType) -> int:
    return part.row_count if isinstance(part, Table) else 1


def _head(picture: Snapshot, width: int) -> list[RenderableType]:
    parts: list[RenderableType] = [
        _line(tables.first_line(picture), style="bold"),
        _line(f"{tables.headline(picture)}   {tables.resources(picture)}", style="dim"),
        _devices(picture, width),
    ]
    parts += [
        _line(run_snapshot.one_line(run, picture.time))
        for run in run_snapshot.in_order(run_snapshot.of_snapshot(picture))
    ]
    alike = tables.waiting_untold(picture, picture.alerts[-ALERTS_SHOWN:])[:WAITING_SHOWN]
    parts += [_line(f"◌ {_waiting(row, number, picture.time)}", style="dim") for row, number in alike]
    parts += [
        _line(f"⚠ {wording.plain(alert.message)}", style="bold yellow") for alert in picture.alerts[-ALERTS_SHOWN:]
    ]
    return parts


def _line(words: str, style: str = "") -> Text:
    """One line of the screen, cut at the edge."""
    return Text(words, style=style, no_wrap=True, overflow="ellipsis")


def _waiting(row: TaskRow, number: int, now: float) -> str:
    many = f"× {number} " if number > 1 else ""
    since = f" {wording.age(now - row.submitted_at)}" if row.submitted_at else ""
    return f"{many}{wording.plain(row.name)} waits{since}: {tables.why_words(row) or wording.demand(row.demand)}"


def _devices(picture: Snapshot, width: int) -> RenderableType:
    rows = [row for row in picture.devices if row.offered]
    if not rows:
        return Text(" ".join(["No accelerator.", *map(wording.plain, picture.found)]), style="dim")
    named = device_labels.labels(picture.devices)
    cells = [_device(row, named[row.node_id, row.resource, row.id], picture) for row in rows]
    measured = any(row.metrics is not None for row in rows)
    hidden = (set() if measured else {"Load", "Memory"}) | (set() if width >= WIDE else {"Model"})
    shown = [place for place, name in enumerate(_COLUMNS) if name not in hidden]
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for place in shown:
        last = place == len(_COLUMNS) - 1
        table.add_column(_COLUMNS[place], no_wrap=True, overflow="ellipsis", ratio=1 if last else None)
    for row_cells in cells:
        table.add_row(*(row_cells[place] for place in shown))
    return table


def _device(row: DeviceRow, label: str, picture: Snapshot) -> list[RenderableType]:
    metrics = row.metrics
    load = "" if metrics is None or metrics.utilisation_percent is None else f"{metrics.utilisation_percent:.0f} %"
    used = None if metrics is None else metrics.memory_used_bytes
    total = (metrics.memory_total_bytes if metrics is not None else None) or row.memory_bytes
    memory = wording.size(total) if total else ""
    held = [tables.holder_words(holder, picture, whole=len(row.holders) == 1) for holder in row.holders]
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


def _tasks(picture: Snapshot, room: int) -> RenderableType:
    """The running, failed, waiting and last ended tasks, as many as there is room for."""
    rows = sorted(picture.tasks, key=lambda row: (_place(row), -(row.submitted_at or 0)))
    shown = tables.tasks(picture, rows[:room])
    if not shown.rows:
        return Text(shown.empty, style="dim")
    table = Table(*shown.columns, box=None, pad_edge=False, header_style="dim")
    for cells in shown.rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
    return table
