"""The value of a magic or its Python function: a text and an HTML form, each complete when it is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from IPython.display import display

from nbaccel.notebook import parts, static_tables, status_card
from nbaccel.notebook.parts import Html
from nbaccel.views import tables, wording
from nbaccel.views.snapshot import Snapshot


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
    shown = status_card.mimebundle_at(snapshot)
    return View(shown["text/plain"], shown["text/html"])


def of_table(table: tables.Table) -> View:
    """One table by itself."""
    return View(tables.as_text(table), parts.box([static_tables.of_table(table)]))


def of_tables(several: list[tables.Table], sentences: list[str], note: str = "") -> View:
    """Several tables below each other, sentences after them, and a quiet last line."""
    said = [*sentences, note] if note else sentences
    text = "\n\n".join([tables.as_text(table) for table in several] + (["\n".join(said)] if said else []))
    drawn = [static_tables.of_table(table) for table in several] + [parts.line(line) for line in sentences]
    return View(text, parts.box([*drawn, parts.note(note)]))


def of_snapshot(snapshot: Snapshot, table: tables.Table, drawn: Html, note: str = "") -> View:
    """A drawn table, below the line that says what is busy and when that was so, and above a quiet line."""
    return boxed(snapshot, "\n".join(filter(None, (tables.as_text(table), note))), Html(drawn + parts.note(note)))


def boxed(snapshot: Snapshot, text: str, drawn: Html) -> View:
    """Anything about a snapshot, below the line that says what is busy and when that was so."""
    counts, at = tables.counted(snapshot), wording.as_of(snapshot.time)
    header = parts.header(tables.busy(snapshot), counts, tables.headline(snapshot), at)
    return View(f"{text}\n{at}", parts.box([header, drawn]))


def of_message(*lines: str) -> View:
    """Plain sentences."""
    return View("\n".join(lines), parts.box(parts.line(line) for line in lines))


def show(shown: View) -> None:
    """Shows the view under the running cell, from any line of it."""
    display(shown)  # type: ignore[no-untyped-call]
