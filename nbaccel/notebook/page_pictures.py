"""Pictures that the page has drawn, for the saved notebook: the timeline, and what came of an experiment's trials.

The page sends them once, when a cluster or an experiment ends. What it sends is text of elsewhere: only the elements
and attributes below are kept, and none of their values names anything outside the picture.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree

from nbaccel.notebook import blocks
from nbaccel.notebook.blocks import Html

MOST_BYTES = 200 << 10  # of all pictures of one end
MOST_DEPTH = 20
BESIDE = 400  # pixels: narrower pictures stand beside each other
_ELEMENTS = {"svg", "g", "path", "line", "rect", "circle", "text", "title"}
_NAMES = """x y x1 x2 y1 y2 cx cy r rx width height d viewBox fill stroke stroke-width stroke-dasharray stroke-linecap
opacity font-size font-weight text-anchor dominant-baseline aria-label role"""
_ATTRIBUTES = set(_NAMES.split())  # the page sends no others
_VALUE = re.compile(r"[\w\s.,#%()+−-]*")
_OUTSIDE = re.compile(r"url", re.IGNORECASE)


def cleaned(sent: object) -> Html:
    """The pictures of a page's message, each with its words above it; nothing of what is no picture."""
    if not isinstance(sent, list) or sum(len(str(each)) for each in sent) > MOST_BYTES:
        return blocks.NOTHING
    return Html("".join(_picture(each) for each in sent if isinstance(each, dict)))


def with_table(pictures: Html, tables: Sequence[Html]) -> list[Html]:
    """The pictures, with tables of the same for readers who do not see them; the tables alone where there is none."""
    return [pictures, blocks.for_ears(Html("".join(tables)))] if pictures else list(tables)


def _picture(sent: dict[str, Any]) -> str:
    try:
        root = _parsed(str(sent.get("svg", "")))
        width = float(root.get("viewBox", "").split()[2])
    except (ElementTree.ParseError, ValueError, IndexError):
        return ""
    said = blocks.paragraph(blocks.words(str(sent.get("words", "")), strong=True)) if sent.get("words") else ""
    look = f"display:block;width:100%;max-width:{width:g}px;height:auto;font-size:11px;fill:currentColor"
    drawn = _rebuilt(root, f' style="{look}"', MOST_DEPTH)
    beside = f"display:inline-block;vertical-align:top;width:{width:g}px;max-width:100%;margin:4px 16px 4px 0"
    return f'<div style="{beside if width < BESIDE else "margin:4px 0 0"}">{said}{drawn}</div>'


def _parsed(svg: str) -> ElementTree.Element:
    """Raises ParseError or ValueError. Without declarations there are no entities that could grow."""
    if "<!" in svg or "<?" in svg:
        raise ValueError("a picture declares something")
    return ElementTree.fromstring(svg)


def _rebuilt(element: ElementTree.Element, look: str, depth: int) -> str:
    name = element.tag.rpartition("}")[2]
    if name not in _ELEMENTS or not depth:
        return ""
    given = "".join(f' {key}="{escape(value)}"' for key, value in element.attrib.items() if _is_allowed(key, value))
    inner = "".join(_rebuilt(each, "", depth - 1) for each in element)
    return f"<{name}{given}{look}>{escape(element.text or '')}{inner}</{name}>"


def _is_allowed(key: str, value: str) -> bool:
    if key == "aria-label":
        return True  # words
    return key in _ATTRIBUTES and _VALUE.fullmatch(value) is not None and not _OUTSIDE.search(value)
