"""The keys of `nbaccel top`: how presses are read from the terminal, and what each of them changes.

```
  terminal ── bytes ──► TerminalKeys (one thread) ── "down" ──► TopView.press() ──► what the next page shows
```
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import threading
import tty
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
