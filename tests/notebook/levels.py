"""What other programs leave of our HTML: style sheets removed, or all looks and drawings removed; and reading it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_DROPPED = ("style", "svg", "script")


def without_style_sheets(html: str) -> str:
    """As mail programs leave it: `style` attributes stay."""
    return re.sub(r"<style\b.*?</style>", "", html, flags=re.DOTALL)


def bare(html: str) -> str:
    """As GitHub and untrusted notebooks leave it: no style sheet, no `style`, no `class`, no drawing, no script."""
    for tag in _DROPPED:
        html = re.sub(rf"<{tag}\b.*?</{tag}>", "", html, flags=re.DOTALL)
    return re.sub(r' (?:style|class)="[^"]*"', "", html)


LEVELS = {"full": str, "no style sheets": without_style_sheets, "bare": bare}


class Reading(HTMLParser):
    """The words in their order, and the cells of every table's rows, as somebody reads them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self._words: list[str] = []
        self._unread = 0
        self._in_cell = False
        self.feed(html)

    @property
    def words(self) -> str:
        return " ".join("".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag in _DROPPED:
            self._unread += 1
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
            self._in_cell = True
        if tag in ("br", "p", "li", "tr", "td", "th", "caption", "div"):
            self._words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _DROPPED
        self._in_cell &= tag not in ("th", "td")

    def handle_data(self, data: str) -> None:
        if self._unread:
            return
        self._words.append(data)
        if self._in_cell:
            self.rows[-1][-1] = " ".join(f"{self.rows[-1][-1]} {data}".split())
