"""The last answers about the past that a view has got: what a saved notebook keeps of it when the cluster has ended.

```
  page ── question ──► page_history ── answer ──► KeptHistory ── at the end ──► sections of the last card
                                                       └── asked once more while the engine still answers
```
A later answer tells only what has changed, so it is joined with the answers before it, as the page does. What no view
has asked is not kept: nobody has looked at it.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from nbaccel import engine as engines
from nbaccel.exceptions import RayError
from nbaccel.notebook import accounting, past_timeline, timeline
from nbaccel.notebook.kept_readings import KeptReadings
from nbaccel.notebook.parts import Html
from nbaccel.views.history.answers import AccountingAnswer, AccountRow, ReadingsAnswer, RunsAnswer
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

    def sections(self, snapshot: Snapshot) -> list[Html]:
        """The devices' last two minutes, the timeline and the accounting, as far as views have asked for them."""
        drawn = self._readings.sections(snapshot)
        runs = self._runs()
        picture = past_timeline.picture(runs, snapshot) if runs is not None else None
        drawn += timeline.sections(picture) if picture is not None and picture.bars else []
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
