"""Tables and paragraphs as HTML; every text is escaped here and nowhere else, so none can be forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from nbaccel.notebook.theme import STYLE
from nbaccel.views.tables import Table


def table(content: Table) -> str:
    """A real table with caption and column heads, for eyes and for screen readers."""
    if not content.rows:
        return paragraph(content.empty, quiet=True)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in content.columns)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in content.rows)
    caption = f"<caption>{escape(content.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: tuple[str, ...]) -> str:
    first, *others = row
    return f'<th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in others)


def paragraph(text: str, *, quiet: bool = False) -> str:
    """One line of text; nothing for an empty one."""
    if not text:
        return ""
    return f'<p class="nbaccel-quiet">{escape(text)}</p>' if quiet else f"<p>{escape(text)}</p>"


def title(text: str) -> str:
    """The line that says what the box is."""
    return f"<p><strong>{escape(text)}</strong></p>"


def alert(text: str) -> str:
    """A line that a person should not miss; the word says it, the colour only helps."""
    return f'<p class="nbaccel-alert"><strong>Attention:</strong> {escape(text)}</p>'


def progress(label: str, done: int, total: int, words: str) -> str:
    """A bar with its words behind it; what cannot draw the bar shows the words alone."""
    bar = f'<progress max="{total}" value="{done}"></progress> ' if total else ""
    return f"<p>{escape(label)}{bar}{escape(words)}</p>"


def details(summary: str, content: str) -> str:
    """Something that is folded until asked for; `content` is markup."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def box(parts: Iterable[str]) -> str:
    """The frame around what one display shows, with the style it needs: a saved notebook has nothing else."""
    return f'<style>{STYLE}</style><div class="nbaccel">{"".join(parts)}</div>'
