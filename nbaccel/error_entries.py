"""Finds what the page on errors says of a message, by the name of an error or by words of the message.

words ─► the names of entries in them
      ─► messages that the code raises, and so the name of their class
      ─► messages that entries quote
      ─► the entries that share most words with them
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent
PAGES = PACKAGE / "errors.md", PACKAGE.parent / "docs" / "reference" / "errors.md"  # of a wheel, of a checkout
LEAST_LETTERS = 12  # that a message has in common with the words by which it is found
_ROW = re.compile(r"^\| (.+?) \| (.+) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


class Entry(NamedTuple):
    """A row of the page."""

    names: tuple[str, ...]
    messages: tuple[str, ...]  # words by which messages without a name are known
    cause: str
    remedy: str

    def __str__(self) -> str:
        names = ", ".join([*self.names, *(f'"{message}"' for message in self.messages)])
        remedy = f"\n  what to do  {_plain(self.remedy)}" if self.remedy.strip() else ""
        return f"{names}\n  cause       {_plain(self.cause)}{remedy}"


class Raised(NamedTuple):
    """A message that the code raises: its class, and its words between the values, in order."""

    kind: str
    words: tuple[str, ...]


def page() -> str:
    """The text of the page. Raises FileNotFoundError where the installation has none."""
    return next((path for path in PAGES if path.exists()), PAGES[0]).read_text("utf-8")


def entries(text: str) -> list[Entry]:
    """The rows of the page's tables."""
    found = []
    for first, cause, remedy in _ROW.findall(text):
        names, messages = re.findall(r"`([^`]+)`", first), re.findall(r'"([^"]+)"', first)
        if names or messages:
            found.append(Entry(tuple(names), tuple(messages), cause, remedy))
    return found


def find(words: str, known: list[Entry], messages: Iterable[Raised]) -> list[Entry]:
    """The entries about these words, the best first; empty if nothing is like them."""
    words = " ".join(words.split())
    return (
        [each for each in known if _names(each, words)]
        or [each for kind in _kinds(words, messages) for each in known if kind in each.names][:1]
        or [each for each in known if any(message in words for message in each.messages)]
        or _alike(words, known)
    )


def raised_with(words: str) -> Iterator[Raised]:
    """What the code raises, of the files in which two of these words follow each other: parsing all takes seconds."""
    pairs = re.findall(r"(?=(\b[\w']+ [\w']+))", words)
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        if any(pair in source for pair in pairs):
            yield from raised(source)


def raised(source: str) -> Iterator[Raised]:
    """What this source raises with words of its own."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            kind = node.exc.func
            name = kind.id if isinstance(kind, ast.Name) else kind.attr if isinstance(kind, ast.Attribute) else ""
            yield Raised(name, _words(node.exc.args[0]) if node.exc.args else ())


def _words(node: ast.expr) -> tuple[str, ...]:
    """The literal parts of an expression that makes a text."""
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr(values=values):
            return tuple(text for value in values if isinstance(value, ast.Constant) for text in [str(value.value)])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _words(left) + _words(right)
    return ()


def _kinds(words: str, messages: Iterable[Raised]) -> list[str]:
    """The classes of the messages that these words are, or are a part of; those that have the most in common first."""
    found: dict[str, int] = {}
    for each in messages:
        letters = _in_common(each.words, words)
        if letters >= LEAST_LETTERS:
            found[each.kind] = max(found.get(each.kind, 0), letters)
    return sorted(found, key=found.__getitem__, reverse=True)


def _in_common(parts: tuple[str, ...], words: str) -> int:
    """How many letters of a message, from its beginning, stand in these words; or all, if they are a part of it."""
    parts = tuple(" ".join(part.split()) for part in parts)
    if any(words in part for part in parts):
        return len(words)
    letters = at = 0
    for part in parts:
        if (found := words.find(part, at)) < 0:
            break
        letters, at = letters + len(part), found + len(part)
    return letters


def _names(entry: Entry, words: str) -> bool:
    """Whether the words name the entry. A name of small letters is an ordinary word, so it has to be all of them."""
    return any(
        name == words or (name[0].isupper() and re.search(rf"\b{re.escape(name)}\b", words)) for name in entry.names
    )


def _alike(words: str, known: list[Entry]) -> list[Entry]:
    asked = set(re.findall(r"\w{4,}", words.casefold()))
    shared = [(len(asked & set(re.findall(r"\w{4,}", str(each).casefold()))), each) for each in known]
    most = max((number for number, _each in shared), default=0)
    return [each for number, each in shared if number == most][:3] if most and 2 * most >= len(asked) else []


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("`", "").replace("**", "")
