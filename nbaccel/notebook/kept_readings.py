"""Load, memory and power of the last two minutes, from the letters of the answers, as lines in a static table."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel.notebook import parts
from nbaccel.notebook.lane_labels import LaneLabels
from nbaccel.notebook.parts import Html
from nbaccel.views import wording
from nbaccel.views.history.answers import ReadingsAnswer
from nbaccel.views.history.readings import KEPT_S, LETTERS, LEVELS
from nbaccel.views.snapshot import Snapshot

Levels = Sequence[float | None]  # from 0 to 1, the newest last; None where nothing is known
MOST_ROWS = 128
TITLE = "The last two minutes"


class KeptReadings:
    """The steps of each device: load, memory, and power in watts."""

    def __init__(self) -> None:
        self._of: tuple[float, float] = (0.0, 0.0)  # origin and length of a step, in which all answers must agree
        self._first = 0
        self._steps: dict[str, tuple[list[float | None], list[float | None], list[float | None]]] = {}

    def add(self, answer: ReadingsAnswer) -> None:
        """The steps that were known and those of an answer."""
        same = self._of == (answer.origin, answer.step_s)
        end = answer.first + answer.steps
        first = max(end - round(KEPT_S / answer.step_s), self._first if same else answer.first)
        steps = {}
        for index, ending in enumerate(answer.devices):
            name, at = answer.prefix + ending, slice(index * answer.steps, (index + 1) * answer.steps)
            known = self._steps.get(name, ([], [], [])) if same else ([], [], [])
            texts, tops = (answer.utilisation, answer.memory, answer.power), (1.0, 1.0, answer.power_watts)
            load, memory, power = (
                _joined(old, self._first, [_value(letter, top) for letter in text[at]], answer.first, first)
                for old, text, top in zip(known, texts, tops, strict=True)
            )
            steps[name] = (load, memory, power)
        self._of, self._first, self._steps = (answer.origin, answer.step_s), first, steps

    def sections(self, snapshot: Snapshot) -> list[Html]:
        """A row for each measured device; nothing where none was measured."""
        labels, measured = LaneLabels(snapshot), {}
        for name, lines in self._steps.items():
            if any(value is not None for line in lines for value in line):
                measured[name] = lines
        if not measured:
            return []
        watts = max((value for *_, power in measured.values() for value in power if value is not None), default=0.0)
        rows = [
            [labels.drawn(name), _cell(load), _cell(memory), _power(power, watts)]
            for name, (load, memory, power) in list(measured.items())[:MOST_ROWS]
        ]
        more = len(measured) - MOST_ROWS
        table = parts.table(TITLE, ["Device", "Load", "Memory", "Power"], rows)
        return [table, parts.note(f"and {wording.count(more, 'more device')}" if more > 0 else "")]


def _value(letter: str, top: float) -> float | None:
    return None if letter == "." else LETTERS.index(letter) / LEVELS * top


def _joined(
    old: list[float | None], old_first: int, new: list[float | None], new_first: int, first: int
) -> list[float | None]:
    """The steps from `first` to the end of the new ones; those between the two are unknown."""
    values = dict(enumerate(old, old_first)) | dict(enumerate(new, new_first))
    return [values.get(step) for step in range(first, new_first + len(new))]


def _cell(levels: Levels) -> Html:
    known = [level for level in levels if level is not None]
    if not known:
        return parts.NOTHING
    said = _between([f"{100 * level:.0f} %" for level in (known[-1], min(known), max(known))])
    return parts.join([parts.spark(levels, of_all=True), parts.words(said)])


def _power(watts: Levels, top: float) -> Html:
    known = [value for value in watts if value is not None]
    if not known:
        return parts.NOTHING
    shares = [None if value is None else value / (top or 1.0) for value in watts]
    said = _between([f"{value:.0f} W" for value in (known[-1], min(known), max(known))])
    return parts.join([parts.spark(shares), parts.words(said)])


def _between(said: Sequence[str]) -> str:
    """ "67 %, between 51 % and 84 %"; "60 %" of what has not changed."""
    last, least, most = said
    return last if least == most else f"{last}, between {least} and {most}"
