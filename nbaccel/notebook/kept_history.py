"""The last answers about the past that a view has got: what a saved notebook keeps of it when the cluster has ended.

```
  page ── question ──►    widget    ── answer ──► KeptHistory ── at the end ──► sections of the last card
                                                       └── asked once more while the engine still answers
```
A later answer tells only what has changed, so it is joined with the answers before it, as the page does. What no view
has asked is not kept: nobody has looked at it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.notebook import accounting, blocks, timeline
from nbaccel.notebook.blocks import Html
from nbaccel.notebook.timeline import LaneLabels
from nbaccel.views import wording
from nbaccel.views.history.answers import AccountingAnswer, AccountRow, ReadingsAnswer, RunsAnswer
from nbaccel.views.history.readings import KEPT_S, LETTERS, LEVELS
from nbaccel.views.observer_lines import ReadAccounting, ReadReadings, ReadRuns
from nbaccel.views.snapshot import Snapshot

Question = ReadRuns | ReadAccounting | ReadReadings
_logger = logging.getLogger(__name__)


class KeptHistory:
    """What is kept of one cluster. A page's answers come in one thread; the end may come in another."""

    def __init__(self) -> None:
        self._asked: dict[type[Any], Question] = {}
        self._whole: RunsAnswer | None = None
        self._later: RunsAnswer | None = None
        self._accounting: AccountingAnswer | None = None
        self._readings = KeptReadings()

    def keep(self, asked: object, answer: object) -> None:
        """Take note of an answer that a view got; of other kinds of questions nothing is kept."""
        if isinstance(answer, RunsAnswer) and isinstance(asked, ReadRuns):
            self._keep_runs(asked, answer)
        elif isinstance(answer, AccountingAnswer) and isinstance(asked, ReadAccounting):
            before = self._accounting if asked.since else None
            self._accounting = answer if before is None else _joined(before, answer)
        elif isinstance(answer, ReadingsAnswer):
            self._readings.add(answer)
        if isinstance(asked, Question):
            self._asked[type(asked)] = asked

    def _keep_runs(self, asked: ReadRuns, answer: RunsAnswer) -> None:
        if answer.whole:
            self._whole, self._later = answer, None
        elif self._whole is not None and asked.since == self._whole.seq:  # otherwise of another page's window
            self._later = answer

    def renew(self, engine: engines.Engine) -> None:
        """Ask the same once more, because the cluster is about to end."""
        for asked in list(self._asked.values()):
            whole: Any = msgspec.structs.replace(asked, since=0)
            try:
                self.keep(whole, engine.history(whole))
            except (RayError, OSError, RuntimeError, ValueError) as error:
                _logger.debug("the past was not told at the end: %s", error)

    def sections(self, snapshot: Snapshot, pictures: Html = blocks.NOTHING) -> list[Html]:
        """The devices' last two minutes, the timeline and the accounting, as far as views have asked for them.

        `pictures` are what the page has drawn of the timeline.
        """
        drawn = self._readings.sections(snapshot)
        runs = self._runs()
        if runs is not None and (runs.ended or runs.running):
            drawn += timeline.sections(runs, snapshot, pictures)
        if self._accounting is not None and self._accounting.functions:
            drawn += accounting.sections(self._accounting, snapshot)
        return drawn

    def line(self) -> str:
        """The accounting in one line of text; "" if no view has asked for it."""
        known = self._accounting
        return accounting.total(known) if known is not None and known.functions else ""

    def _runs(self) -> RunsAnswer | None:
        whole, later = self._whole, self._later
        if whole is None or later is None:
            return whole
        kinds = {row.index: row for row in (*whole.kinds, *later.kinds)}
        return msgspec.structs.replace(
            later,
            kinds=list(kinds.values()),
            lanes={**whole.lanes, **later.lanes},
            ended=[*whole.ended, *later.ended],
            grain_s=max(whole.grain_s, later.grain_s),
        )


def _joined(before: AccountingAnswer, answer: AccountingAnswer) -> AccountingAnswer:
    """The rows that were known, those that have changed in the place of theirs."""
    held = {row.device: row for row in (*before.devices, *answer.devices)}
    return msgspec.structs.replace(
        answer,
        functions=_rows(before.functions, answer.functions),
        cells=_rows(before.cells, answer.cells),
        devices=list(held.values()),
        left_out=before.left_out,
    )


def _rows(before: list[AccountRow], changed: list[AccountRow]) -> list[AccountRow]:
    rows = {(row.name, row.job): row for row in (*before, *changed)}
    return sorted(rows.values(), key=lambda row: (-row.device_seconds, -row.seconds, row.name))


# ---- load, memory and power of the last two minutes, from the letters of the answers, as lines in a static table


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
                _joined_levels(old, self._first, [_value(letter, top) for letter in text[at]], answer.first, first)
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
        table = blocks.table(TITLE, ["Device", "Load", "Memory", "Power"], rows)
        return [table, blocks.note(f"and {wording.count(more, 'more device')}" if more > 0 else "")]


def _value(letter: str, top: float) -> float | None:
    return None if letter == "." else LETTERS.index(letter) / LEVELS * top


def _joined_levels(
    old: list[float | None], old_first: int, new: list[float | None], new_first: int, first: int
) -> list[float | None]:
    """The steps from `first` to the end of the new ones; those between the two are unknown."""
    values = dict(enumerate(old, old_first)) | dict(enumerate(new, new_first))
    return [values.get(step) for step in range(first, new_first + len(new))]


def _cell(levels: Levels) -> Html:
    known = [level for level in levels if level is not None]
    if not known:
        return blocks.NOTHING
    said = _between([f"{100 * level:.0f} %" for level in (known[-1], min(known), max(known))])
    return blocks.join([blocks.spark(levels, of_all=True), blocks.words(said)])


def _power(watts: Levels, top: float) -> Html:
    known = [value for value in watts if value is not None]
    if not known:
        return blocks.NOTHING
    shares = [None if value is None else value / (top or 1.0) for value in watts]
    said = _between([f"{value:.0f} W" for value in (known[-1], min(known), max(known))])
    return blocks.join([blocks.spark(shares), blocks.words(said)])


def _between(said: Sequence[str]) -> str:
    """ "67 %, between 51 % and 84 %"; "60 %" of what has not changed."""
    last, least, most = said
    return last if least == most else f"{last}, between {least} and {most}"
