"""The colours of every view: a hue for each function or class, a shade for each of its instances, three for states.

They stand in `palette.json`, which the front end imports too, so that Python and JavaScript draw the same
([design](../../docs/design.md)). Each colour has a contrast of at least 3:1 against the white and the dark ground, and
the eight hues can be told apart with each of the three kinds of colour blindness.

Example::

    palette.colour(palette.HUES.of("train"), "9b9f…")     # "#bb3d68"
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterable
from typing import Any

import msgspec

with open(os.path.join(os.path.dirname(__file__), "palette.json"), "rb") as _file:
    _FILE: dict[str, Any] = msgspec.json.decode(_file.read())
COLOURS: tuple[tuple[str, ...], ...] = tuple(tuple(shades) for shades in _FILE["hues"])  # of a hue, its shades
FAILURE: str = _FILE["failure"]  # red: something failed, and nothing else
ATTENTION: str = _FILE["attention"]  # amber: a person should look
WAITING: str = _FILE["waiting"]  # grey: it waits, or was cancelled
TAKEN = f"repeating-linear-gradient(135deg,{WAITING} 0 3px,transparent 3px 6px)"  # hatched: others have the device
GROUNDS: tuple[str, str] = tuple(_FILE["grounds"])  # the light page and the dark one


def number_of(text: str) -> int:
    """The number of a text, the same as in the cockpit (FNV-1a over its UTF-16 units)."""
    number = 2166136261
    units = text.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        number = ((number ^ (low | high << 8)) * 16777619) & 0xFFFFFFFF
    return number ^ (number >> 15)


@functools.lru_cache(4096)
def usual_hue(name: str) -> int:
    """The hue that a function or class has unless another one has taken it before."""
    return number_of(name) % len(COLOURS)


def shade_of(id: str) -> int:
    """The shade of one instance: of a task, an actor, a rank."""
    return number_of(id) % len(COLOURS[0])


def colour(hue: int, id: str = "") -> str:
    """The colour of an instance, or of the function itself: "#1575c3"."""
    return COLOURS[hue][shade_of(id) if id else 0]


def ink_on(colour: str) -> str:
    """White or black, whichever is read well on a colour: one for all shades of a hue; the cockpit's own rule."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return "#000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.183 else "#fff"


class Hues:
    """The hue of each function or class while this process lives; with more than eight, two share one.

    A name keeps its hue once it has been drawn. The usual hue follows from the name alone, so a page is told only of
    names that had to take another one.
    """

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._lock = threading.Lock()  # cards are drawn in the main thread, those of the cockpit in another

    def of(self, name: str) -> int:
        """The hue of this function or class; it stays from now on."""
        with self._lock:
            known = self._of.get(name)
            return self._taken(name) if known is None else known

    def _taken(self, name: str) -> int:
        hue, taken = usual_hue(name), set(self._of.values())
        if len(taken) < len(COLOURS):
            while hue in taken:
                hue = (hue + 1) % len(COLOURS)
            self._of[name] = hue
        return hue

    def unusual(self, names: Iterable[str]) -> dict[str, int]:
        """The names whose hue is not the usual one, in the given order."""
        hues = {name: self.of(name) for name in names}
        return {name: hue for name, hue in hues.items() if hue != usual_hue(name)}


HUES = Hues()  # of this process, so that card, cockpit and every table agree


def subject(name: str, function: str = "", kind: str = "task") -> str:
    """The name whose hue a task has: its function, whatever the task's name, or its actor's class."""
    whole = function or name
    return whole if kind == "task" else whole.split(".", 1)[0]


def owner(function: str) -> str:
    """Whose hue a function of the history has: its own, or its class's if it is a method."""
    of = function.rpartition(".")[0]
    return function if not of or of.endswith("<locals>") else subject(function, kind="actor task")
