"""The HTML of a ref, a list of refs, an actor, a placement group or an answer on the last line of a cell.

The plain text stays Ray's (`ObjectRef(…)`); the HTML is added for this shell only, by IPython's own table of
formatters, so that the classes know nothing of notebooks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import nbaccel
from nbaccel import ObjectRef, api, engine
from nbaccel.actor import ActorHandle
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.notebook import blocks, experiment_card, run_card, static_tables, views
from nbaccel.notebook.blocks import Html
from nbaccel.views import experiment_snapshot, sinks, tables, task_lines, wording
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.snapshot import Snapshot, TaskRow

_BUNDLES_SHOWN = 4
_ROWS_SHOWN = 8  # tasks shown for a list of refs
_MOST_REFS = 10_000  # a longer list is shown without a table of its tasks


def install(shell: InteractiveShell) -> None:
    """Adds HTML to this shell's display of refs, actors, placement groups and answers, and of lists of them."""
    if shell.display_formatter is None:
        return
    html = shell.display_formatter.formatters["text/html"]
    html.for_type(ObjectRef, ref_html)
    html.for_type(ActorHandle, actor_html)
    html.for_type(PlacementGroup, group_html)
    html.for_type(Explanation, lambda answer: blocks.box([explanations([answer])]))
    html.for_type(Probe, lambda answer: blocks.box([probe(answer)]))
    html.for_type(list, list_html)
    html.for_type_by_name("nbaccel.train.result", "Result", result_html)
    html.for_type_by_name("nbaccel.tune.result_grid", "ResultGrid", results_html)
    html.for_type_by_name("nbaccel.tune.result_grid", "ExperimentAnalysis", results_html)


def result_html(result: Any) -> str:
    """The card of a run that has ended, drawn from its Result; a line where the cell has it, as that of fit() does."""
    if sinks.installed.shows_end_of(result.path):
        return blocks.box([blocks.note(f"{result!r} has its curves in the card of this cell.")])
    return run_card.html(result.snapshot(), time.time())


def results_html(results: Any) -> str:
    """The trials of an experiment, the best first, its failures by error, and pictures or tables of the metric.

    The best trial in one line where a card of this cell has all of that: `results` on the last line of the cell that
    has called fit().
    """
    seen = results.seen()
    if sinks.installed.shows_end_of(results.experiment_path):
        best = experiment_snapshot.best_trial_words(seen)
        said = f"Best: {best}. All trials are in" if best else f"{results!r} has its trials in"
        return blocks.box([blocks.note(f"{said} the card of this cell.")])
    return blocks.box(experiment_card.trials(seen, sinks.installed.pictures_of(results.experiment_path)))


def ref_html(ref: Any) -> str | None:
    """The row of a ref's task, or whether the ref's value is there if the snapshot has no such task.

    None (plain text only) if no engine runs that could know it.
    """
    if not api.is_initialized():
        return None
    snapshot = views.seen()
    task_id = ref.task_id().hex()
    row = next((row for row in snapshot.tasks if row.task_id == task_id), None)
    if row is not None:
        return blocks.box([static_tables.tasks(snapshot, task_lines.each([row]), at=wording.as_of(snapshot.time))])
    line = _value_line(ref)
    return blocks.box([blocks.line(line)]) if line else None


def _value_line(ref: Any) -> str:
    """The line of a value that was put, or whose task ended too long ago to be in the snapshot."""
    if ref._engine is not engine.current():
        return ""  # the ref's cluster has ended
    ready, _ = api.wait([ref], timeout=0, fetch_local=False)
    return "value · ready" if ready else "value · not ready"


def list_html(values: list[Any]) -> str | None:
    """The states of the tasks for a list of refs, the table for a list of explanations; None for any other list."""
    if not values or len(values) > _MOST_REFS:
        return None
    if all(isinstance(each, Explanation) for each in values):
        return blocks.box([explanations(values)])
    if not all(isinstance(each, ObjectRef) for each in values) or not api.is_initialized():
        return None
    return refs_html(values, views.seen())


def refs_html(refs: Sequence[Any], snapshot: Snapshot) -> str:
    """The number of tasks in each state, and the first rows."""
    known = {row.task_id: row for row in snapshot.tasks}
    rows = list({id: known[id] for ref in refs if (id := ref.task_id().hex()) in known}.values())
    shown = static_tables.tasks(snapshot, task_lines.each(rows[:_ROWS_SHOWN]), empty="")
    return blocks.box([_counts(len(refs), rows, wording.as_of(snapshot.time)), shown])


def _counts(number: int, rows: Sequence[TaskRow], at: str) -> Html:
    found = Counter(tables.state_word(row.state) for row in rows)
    states = {word: found[word] for word in tables.STATE_WORDS if found[word]}
    more = [f"the first {_ROWS_SHOWN} tasks are shown"] if len(rows) > _ROWS_SHOWN else []
    more += ["their tasks ended long ago, or they are values that were put"] if not rows else []
    facts = [blocks.words(wording.count(number, "ref"), strong=True), *blocks.counted(states), *map(blocks.words, more)]
    return blocks.first_line(facts, at=at)


def actor_html(actor: Any) -> str | None:
    """The row of an actor; None if the snapshot has no such actor."""
    if not api.is_initialized():
        return None
    snapshot = views.seen()
    actor_id = actor._actor_id.hex()
    row = next((row for row in snapshot.actors if row.actor_id == actor_id), None)
    return None if row is None else blocks.box([static_tables.actors(snapshot, [row], at=wording.as_of(snapshot.time))])


def group_html(group: Any) -> str | None:
    """The row of a placement group; None if no engine knows it."""
    if not api.is_initialized() or group.is_empty:
        return None
    row = engine.current().group_table(group.id.binary())
    if not row:
        return None
    why = nbaccel.explain(group).sentence if row["state"] in ("PENDING", "RESCHEDULING") else ""
    return blocks.box([group_table(row, why)])


def group_table(row: Mapping[str, Any], why: str = "") -> Html:
    """Its state, strategy and bundles, and why it waits."""
    bundles = [wording.demand(bundle) for _, bundle in sorted(row["bundles"].items())]
    alike = [f"{said} × {number}" if number > 1 else said for said, number in Counter(bundles).items()]
    more = len(alike) - _BUNDLES_SHOWN
    shown = "; ".join([*alike[:_BUNDLES_SHOWN], *([f"and {more} more"] if more > 0 else [])])
    held = f"{wording.count(len(bundles), 'bundle')}: {shown}" if bundles else ""
    name = wording.plain(row["name"]) or "placement group"
    cells = [
        blocks.name_cell(name),
        blocks.pill(tables.state_word(row["state"])),
        blocks.words(str(row["strategy"])),
        blocks.words(held),
    ]
    columns = ["Placement group", "State", "Strategy", "Bundles"]
    return blocks.table(
        "Placement group", columns + ["Why"] * bool(why), [cells + [blocks.words(wording.plain(why))] * bool(why)]
    )


# ---- the answers of `explain` and `probe` as HTML: the subject, its state, and the sentence


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
        return blocks.empty(f"{NOTHING_WAITS} One that finds no free device would be here, with the reason:", WAITS)
    numbers = Counter(_alike(answer) for answer in answers)
    first = {_alike(answer): answer for answer in reversed(answers)}
    rows = [_row(first[key], number) for key, number in numbers.most_common()]  # the order of the Waiting view
    if any(row[3] for row in rows):
        return blocks.table("Why", ["Task", "State", "Asks for", "Cell", "Why"], rows)
    return blocks.table("Why", ["Task", "State", "Asks for", "Why"], [[*row[:3], row[4]] for row in rows])


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
    state = blocks.pill(tables.state_word(answer.state))
    return [blocks.name_cell(name, below), state, *map(blocks.words, (wording.plain(answer.asks), cell, why))]


def probe(answer: Probe) -> Html:
    """The verdict as a chip, and the sentence."""
    urgent = answer.verdict in (Verdict.NEVER, Verdict.BROKEN)
    said = [blocks.chip(VERDICTS[answer.verdict], urgent=urgent), blocks.words(wording.plain(answer.sentence))]
    return blocks.paragraph(blocks.join(said))
