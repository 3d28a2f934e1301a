"""Turns the line of text after a magic into checked keywords, or into one line that says what is wrong.

Both forms of every option are understood: `num_gpus=2` and `--num-gpus 2`; a switch alone is true: `--restart`. Quotes
and brackets keep spaces together: `name="my run"`, `resources={"TPU": 2}`.
"""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from IPython.core.error import UsageError

from nbaccel.exceptions import RayError

_OPENING = {"{": "}", "[": "]", "(": ")"}
_TASK = re.compile(r"#[0-9a-f]{4}-\d+(\s|$)")  # as the cockpit writes a task's id; any other # begins a comment


class TypingMistake(ValueError):
    """The line after a magic is wrong; the message is one line and says what to write."""


@dataclass(frozen=True, slots=True)
class Option:
    """A keyword of a magic: how its text is read, what Tab offers for it, and what help says."""

    name: str
    read: Callable[[str], Any]
    meaning: str
    example: str
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        return self.read is boolean


def parse(line: str, options: Sequence[Option], expand: Callable[[str], str] = str) -> dict[str, Any]:
    """Reads `line` by the table `options`; `expand` fills in `{variables}` before a value is read.

    Raises TypingMistake with the nearest known name for an unknown one, and for a value that cannot be read.
    """
    values, words = parse_with_words(line, options, expand)
    if words:
        named = next((option for option in options if option.name == words[0].replace("-", "_")), None)
        if named is not None:
            raise TypingMistake(f"'{words[0]}' needs a value, for example {named.example}.")
        raise TypingMistake(f"'{words[0]}' is not understood here. {_options_hint(words[0], options)}")
    return values


def parse_with_words(
    line: str, options: Sequence[Option], expand: Callable[[str], str] = str
) -> tuple[dict[str, Any], list[str]]:
    """As `parse`, for magics that also take plain words, such as task ids; gives (keywords, words)."""
    table = {option.name: option for option in options}
    values: dict[str, Any] = {}
    words: list[str] = []
    pieces = iter(split(line))
    for piece in pieces:
        key, text = _key_and_text(piece, table, pieces)
        if key is None:
            words.append(_unquoted(expand(piece)))
            continue
        option = table.get(key)
        if option is None:
            raise TypingMistake(f"There is no option '{key}'. {_options_hint(key, options)}")
        if key in values:
            raise TypingMistake(f"'{key}' is given twice.")
        values[key] = _read(option, text, expand)
    return values, words


def split(line: str) -> list[str]:
    """Splits at spaces that stand outside of quotes and brackets; a comment at the end is left out."""
    pieces: list[str] = []
    current, closers, quote = "", "", ""
    for place, char in enumerate(line):
        if char == "#" and not (quote or closers or current) and not _TASK.match(line, place):
            break
        if not quote and not closers and char.isspace():
            pieces += [current] if current else []
            current = ""
            continue
        current += char
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _OPENING:
            closers = _OPENING[char] + closers
        elif closers and char == closers[0]:
            closers = closers[1:]
    if quote or closers:
        raise TypingMistake(f"A closing {quote or closers[0]} is missing after: {current}")
    return [*pieces, current] if current else pieces


def _key_and_text(piece: str, table: Mapping[str, Option], rest: Iterator[str]) -> tuple[str | None, str | None]:
    name, equals, text = piece.partition("=")
    dashed = name.startswith("-") and not name.lstrip("-")[:1].isdigit()
    key = name.lstrip("-").replace("-", "_") if dashed else name
    if not dashed and not (equals and key.isidentifier()):
        return None, None
    if equals:
        return key, text
    option = table.get(key)
    if option is None or option.is_switch:
        return key, "true"
    return key, next(rest, None)


def _read(option: Option, text: str | None, expand: Callable[[str], str]) -> Any:
    if not text:
        raise TypingMistake(f"'{option.name}' needs a value, for example {option.example}.")
    value = text if _is_json_object(text) else _unquoted(expand(text))
    if value.startswith("{") and value.endswith("}") and value[1:-1].isidentifier():
        raise TypingMistake(f"'{option.name}={value}': there is no variable '{value[1:-1]}' in this notebook.")
    try:
        return option.read(value)
    except ValueError as error:
        reason = str(error) if str(error).endswith("?") else f"{error}."
        raise TypingMistake(f"'{option.name}={value}': {reason} Example: {option.example}") from None


def _is_json_object(text: str) -> bool:
    # IPython would read the braces of {"TPU": 2} as a variable.
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text


def _options_hint(typed: str, options: Sequence[Option]) -> str:
    names = [option.name for option in options]
    near = difflib.get_close_matches(typed.lstrip("-").partition("=")[0], names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean '{near[0]}'?"
    return f"The options are: {', '.join(names)}." if names else "This magic takes no options."


# --- how values are read ---------------------------------------------------------------------------------------


def number(text: str) -> int | float:
    """A quantity: 2 or 0.5; whole numbers stay int, as Ray's functions want them."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not math.isfinite(value):
        raise ValueError("a finite number is needed")
    return int(value) if value == int(value) else value


def whole(text: str) -> int:
    """A count: 4."""
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number is needed") from None


def one_or_more(text: str) -> int:
    """A count that is not zero: 4."""
    value = whole(text)
    if value < 1:
        raise ValueError("at least 1 is needed")
    return value


def seconds(text: str) -> float:
    """A duration: 2.5, 10s or 5m."""
    units = {"s": 1, "m": 60, "h": 3600}
    factor = units.get(text[-1:].lower())
    value = number(text[:-1] if factor else text) * (factor or 1)
    if value < 0:
        raise ValueError("a duration cannot be negative")
    return float(value)


def cell_number(text: str) -> str:
    """A cell: 7, [7] as views write it, or `here`."""
    number = text.removeprefix("[").removesuffix("]")
    if text != "here" and not number.isdigit():
        raise ValueError("a cell's number or 'here' is needed")
    return number


def size_bytes(text: str) -> int:
    """A size in bytes: 4000000000, 4GB, 512MiB."""
    letters = text.lstrip("0123456789.+-eE_ ")
    units = {"": 1, "B": 1}
    for power, letter in enumerate("KMGT", start=1):
        units |= {f"{letter}B": 1000**power, f"{letter}IB": 1024**power, letter: 1024**power}
    factor = units.get(letters.strip().upper())
    if factor is None:
        raise ValueError("a size is needed")
    return int(number(text[: len(text) - len(letters)].strip()) * factor)


def boolean(text: str) -> bool:
    """A switch: true or false."""
    known = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if text.lower() not in known:
        raise ValueError("true or false is needed")
    return known[text.lower()]


def text_value(text: str) -> str:
    """Any text."""
    return text


def names(text: str) -> list[str]:
    """Names with commas between: numpy,torch; brackets and quotes as in Python are accepted."""
    return [part for part in (_unquoted(piece.strip()) for piece in text.strip("[]()").split(",")) if part]


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of a few words, with the nearest one named for a typing error."""

    def read(text: str) -> str:
        if text in allowed:
            return text
        near = difflib.get_close_matches(text, allowed, n=1, cutoff=0.5)
        raise ValueError(f"did you mean '{near[0]}'?" if near else f"must be one of {', '.join(allowed)}")

    return read


def quantities(text: str) -> dict[str, float]:
    """Resources: {"TPU": 2} or TPU:2,license:1."""
    return {name: number(value) for name, value in _pairs(text).items()}


def labels(text: str) -> dict[str, str]:
    """Labels: {"zone": "a"} or zone:a,disk:ssd."""
    return _pairs(text)


def _pairs(text: str) -> dict[str, str]:
    if text.startswith("{"):
        try:
            return {str(key): str(value) for key, value in json.loads(text).items()}
        except ValueError:
            raise ValueError("this is not a JSON object") from None
    pairs = [piece.partition(":") for piece in text.split(",") if piece]
    if not pairs or any(not (key and colon and value) for key, colon, value in pairs):
        raise ValueError("name:value pairs are needed")
    return {key: value for key, _, value in pairs}


# ---- A mistake in a magic's line, and what the cluster refuses, is one line of text; a traceback means a bug of ours


T = TypeVar("T")
_REFUSALS = (TypingMistake, RayError, ValueError, ConnectionError, RuntimeError, OSError)


def in_one_line(magic: Callable[..., T]) -> Callable[..., T]:
    """Shows what went wrong as IPython shows a typing error: one line, no traceback."""

    @functools.wraps(magic)
    def run(*given: Any) -> T:
        try:
            return magic(*given)
        except _REFUSALS as error:
            raise UsageError(str(error)) from None

    return run
