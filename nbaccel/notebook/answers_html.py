"""The answers of `explain` and `probe` as HTML: the subject, its state, and the sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nbaccel.notebook import parts
from nbaccel.notebook.parts import Html
from nbaccel.views import tables, wording
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.snapshot import Snapshot

NOTHING_WAITS = "No task waits."
WAITS = "train.options(num_gpus=1).remote()"
VERDICTS = {
    Verdict.NOW: "Now",
    Verdict.COMING: "Coming",
    Verdict.BUSY: "Busy",
    Verdict.NEVER: "Never here",
    Verdict.ADDABLE: "Needs another node",
    Verdict.BROKEN: "Broken",
    Verdict.UNKNOWN: "Unknown",
}


def explanations(answers: Sequence[Explanation]) -> Html:
    """A row for each explanation; equal names with equal reasons share a row, with their number."""
    if not answers:
        return parts.empty(f"{NOTHING_WAITS} One that finds no free device would be here, with the reason:", WAITS)
    numbers = Counter(_alike(answer) for answer in answers)
    first = {_alike(answer): answer for answer in reversed(answers)}
    rows = [_row(first[key], number) for key, number in numbers.most_common()]  # the order of the Waiting view
    if any(row[3] for row in rows):
        return parts.table("Why", ["Task", "State", "Asks for", "Cell", "Why"], rows)
    return parts.table("Why", ["Task", "State", "Asks for", "Why"], [[*row[:3], row[4]] for row in rows])


def sentences(answers: Sequence[Explanation]) -> list[str]:
    """The explanations as text: equal sentences once, with their number."""
    numbers = Counter(answer.sentence for answer in answers)
    return [f"{said} (× {number})" if number > 1 else said for said, number in numbers.most_common()] or [NOTHING_WAITS]


def left_out(snapshot: Snapshot, answers: Sequence[Explanation]) -> str:
    """A sentence if more tasks wait than are explained, whose rows count only the first; otherwise ""."""
    told = sum(answer.state.startswith("PENDING_") for answer in answers)  # groups are PENDING
    waiting = sum(number for state, number in snapshot.counts.items() if tables.state_word(state) == "waiting")
    return f"These are {told:,} of {waiting:,} tasks that wait." if waiting > told else ""


def _alike(answer: Explanation) -> tuple[str, str, str]:
    return answer.name, answer.state, answer.sentence


def _row(answer: Explanation, number: int) -> list[Html]:
    name = wording.plain(answer.name) or "task"
    below = f"× {number}" if number > 1 else f"#{wording.short_id(answer.id)}"
    why, cell = tables.without_subject(wording.plain(answer.sentence), name, "")
    why = why if cell or tables.state_word(answer.state) == "waiting" else wording.plain(answer.sentence)
    state = parts.pill(tables.state_word(answer.state))
    return [parts.name_cell(name, below), state, *map(parts.words, (wording.plain(answer.asks), cell, why))]


def probe(answer: Probe) -> Html:
    """The verdict as a chip, and the sentence."""
    urgent = answer.verdict in (Verdict.NEVER, Verdict.BROKEN)
    said = [parts.chip(VERDICTS[answer.verdict], urgent=urgent), parts.words(wording.plain(answer.sentence))]
    return parts.paragraph(parts.join(said))
