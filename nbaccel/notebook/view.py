"""The value of a magic or its Python function: a text and an HTML form, each complete when it is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from IPython.display import display

from nbaccel.notebook import blocks, experiment_card, run_card, served_card, static_tables
from nbaccel.notebook.blocks import Html
from nbaccel.views import experiment_snapshot, run_snapshot, served_snapshot, tables, task_lines, wording
from nbaccel.views.snapshot import Snapshot

# ---- all about the cluster, as text and as HTML: `%accel_status`, and what a notebook keeps of the open cockpit
#
# The card (`card.py`) is its short form.


WAITING_SHOWN = 5  # reasons that are told; further ones are only counted, because thousands of tasks may wait


def status_at(snapshot: Snapshot) -> dict[str, str]:
    """Text and HTML with their time, because they may be read long after."""
    said = wording.as_of(snapshot.time)
    return {"text/plain": f"{status_text(snapshot)}\n{said}", "text/html": status_html(snapshot, said)}


def status_text(snapshot: Snapshot) -> str:
    """Plain text.

    Example::

        1 of 2 GPUs busy · 1 running
        1 of 2 CPUs busy

        Device  Model                 State   In use  Held by
        GPU 0   NVIDIA GPU (logical)  ● held  1       GPUActor (pid 52420, cell [3] line 14)

        nbaccel 0.1.0 · local engine · Python 3.11.7 · head pid 4711
    """
    lines = [line for line in (tables.first_line(snapshot), tables.beside_busy(snapshot)) if line]
    lines += ["", tables.as_text(tables.devices(snapshot))]
    for shown in (run_snapshot.table(snapshot), experiment_snapshot.table(snapshot), served_snapshot.table(snapshot)):
        lines += ["", tables.as_text(shown)] if shown.rows else []
    lines += [f"◌ {line}" for line in _waiting_lines(snapshot)]
    lines += [f"attention: {wording.plain(alert.message)}" for alert in snapshot.alerts]
    return "\n".join([*lines, "", tables.headline(snapshot)])


def status_html(snapshot: Snapshot, at: str = "") -> str:
    """HTML; `at` says when it was so. It needs no script and stays correct when it is saved."""
    return blocks.box(
        [
            blocks.header(tables.busy(snapshot), tables.counted(snapshot), tables.headline(snapshot), at),
            blocks.note(tables.beside_busy(snapshot)),
            static_tables.devices(snapshot, tiled=True),
            run_card.table(snapshot),
            experiment_card.table(snapshot),
            served_card.table(snapshot),
            *(blocks.line(f"◌ {line}") for line in _waiting_lines(snapshot)),
            *(blocks.attention(wording.plain(alert.message)) for alert in snapshot.alerts),
        ]
    )


def _waiting_lines(snapshot: Snapshot) -> list[str]:
    """Why tasks wait: one line for alike tasks, and how many more tasks wait."""
    untold = task_lines.untold(snapshot, snapshot.alerts)
    shown = untold[:WAITING_SHOWN]
    lines = [each.sentence() for each in shown]
    hidden = untold[WAITING_SHOWN:]
    more = task_lines.others(snapshot, [each for each in task_lines.of_snapshot(snapshot) if each not in hidden])
    return [*lines, f"and {wording.count(more, 'more task')}"] if more > 0 else lines


# ----


@dataclass(frozen=True, slots=True)
class View:
    """One view: the last line of a cell shows it, and `print` gives its text."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


def of_cluster(snapshot: Snapshot) -> View:
    """The view of all that is known of the cluster."""
    shown = status_at(snapshot)
    return View(shown["text/plain"], shown["text/html"])


def of_table(table: tables.Table) -> View:
    """One table by itself."""
    return View(tables.as_text(table), blocks.box([static_tables.of_table(table)]))


def of_tables(several: list[tables.Table], sentences: list[str], note: str = "") -> View:
    """Several tables below each other, sentences after them, and a quiet last line."""
    said = [*sentences, note] if note else sentences
    text = "\n\n".join([tables.as_text(table) for table in several] + (["\n".join(said)] if said else []))
    drawn = [static_tables.of_table(table) for table in several] + [blocks.line(line) for line in sentences]
    return View(text, blocks.box([*drawn, blocks.note(note)]))


def of_snapshot(snapshot: Snapshot, table: tables.Table, drawn: Html, note: str = "") -> View:
    """A drawn table, below the line that says what is busy and when that was so, and above a quiet line."""
    return boxed(snapshot, "\n".join(filter(None, (tables.as_text(table), note))), Html(drawn + blocks.note(note)))


def boxed(snapshot: Snapshot, text: str, drawn: Html) -> View:
    """Anything about a snapshot, below the line that says what is busy and when that was so."""
    counts, at = tables.counted(snapshot), wording.as_of(snapshot.time)
    header = blocks.header(tables.busy(snapshot), counts, tables.headline(snapshot), at)
    return View(f"{text}\n{at}", blocks.box([header, drawn]))


def of_message(*lines: str) -> View:
    """Plain sentences."""
    return View("\n".join(lines), blocks.box(blocks.line(line) for line in lines))


def show(shown: View) -> None:
    """Shows the view under the running cell, from any line of it."""
    display(shown)  # type: ignore[no-untyped-call]
