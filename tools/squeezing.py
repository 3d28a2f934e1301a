"""Makes a module of JavaScript smaller to send: no comments, no indentation, no spaces that only people need, one
declaration for several that follow each other, no brackets around an arrow's only parameter, no line's end
before a function.

Strings, the text of templates and regular expressions stay as they are, and so do names, which `tools/shortening.py`
looks after. Most statements keep a line of their own, so that an error in a page still names a line that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STRING = re.compile(r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""")
_PLAIN = re.compile(
    rf"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<space>\s+)
      | (?P<text>{_STRING.pattern})
      | (?P<name>[\w$]+)
      | (?P<template>`)
      | (?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_AFTER_CSS = re.compile(r"(?<=[{};,])\n")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_REGULAR_EXPRESSION = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
_BEFORE_AN_EXPRESSION = frozenset("(,=:[!&|?{};+-*%<>~^")
_GOES_ON_AFTER = frozenset("{([,=?:&|<>*")  # a line that ends with one of them goes on in the next line
_GOES_ON_BEFORE = frozenset("})],?:&|=.;*<>")  # and so does a line before one of them
_WORDS_BEFORE_AN_EXPRESSION = frozenset({"return", "typeof", "case", "in", "of", "void", "delete", "throw"})


def squeezed(text: str) -> str:
    """The same program in fewer bytes. The style of the sources is expected: semicolons end all statements.

    Example::

        squeezed("const a = b + 1; // one more\\n")     # 'const a=b+1;\\n'
    """
    said: list[str] = []
    began = [""]  # in each open bracket, the word with which the last statement began
    pause = ""
    for token in tokens_of(text):
        if token.isspace():
            pause = "\n" if "\n" in token + pause else " "
            continue
        if (token in "]})" and said[-1:] == [","]) or (token == "}" and said[-1:] == [";"] and not _is_loop(said)):
            said.pop()
        if token in ("const", "let") and said[-1:] == [";"] and began[-1] == token:  # one declaration for both
            said[-1] = ","
            pause = ""
            continue
        if not said or said[-1] in (";", "{", "}"):
            began[-1] = token
        if token in _OPENING:
            began.append("")
        elif token in _CLOSING:
            began.pop()
        if token == ">" and said[-1:] == ["="] and len(said) > 7:
            _bare_parameter(said)
        said.append(_kept(pause, said[-1] if said else "", token))
        said.append(token)
        pause = ""
    return "".join(said) + "\n"


def _bare_parameter(said: list[str]) -> None:
    """Make the end of what is said `each=` if it is `(each)=`: an arrow's only parameter needs no brackets."""
    opening, _, name, _, closing, _, _ = said[-7:]
    if (opening, closing) == ("(", ")") and _NAME.fullmatch(name):
        before = said[-9] if len(said) > 8 else ""
        said[-7] = " " if before and _in_name(before[-1]) else ""
        said[-3] = ""


def _is_loop(said: list[str]) -> bool:
    """Whether the semicolon at the end may be the empty body of a loop or an `if`, as in `while (waits());`."""
    tokens = [each for each in said[:-1] if each.strip()]
    depth = 0
    while tokens:
        token = tokens.pop()
        depth += {")": 1, "(": -1}.get(token, 0)
        if depth == 0:
            return token == "(" and tokens[-1:] in (["while"], ["for"], ["if"])
    return False


def _kept(pause: str, before: str, token: str) -> str:
    """What is left of the spaces between two tokens: a line's end, or one space between words and equal signs."""
    if not pause or not before:
        return ""
    end, start = before[-1], token[0]
    if pause == "\n":
        is_next_function = end == "}" and token == "function"
        return "" if is_next_function or end in _GOES_ON_AFTER or start in _GOES_ON_BEFORE else "\n"
    between_words = _in_name(end) and _in_name(start)
    return " " if between_words or (end == start and end in "+-") else ""


def _in_name(character: str) -> bool:
    return character.isalnum() or character in "_$"


def tokens_of(text: str) -> Iterator[str]:
    """Names, strings, signs and spaces in their order; a comment is a space."""
    at, before = 0, "("
    while at < len(text):
        starts_expression = before in _WORDS_BEFORE_AN_EXPRESSION or before[-1] in _BEFORE_AN_EXPRESSION
        expression = _REGULAR_EXPRESSION.match(text, at) if starts_expression else None
        if expression and text[at + 1] not in "/*":
            token, kind = expression[0], "text"
        else:
            found = _PLAIN.match(text, at)
            assert found is not None and found.lastgroup is not None
            token, kind = found[0], found.lastgroup
        if kind == "template":
            token = text[at : _end_of_template(text, at)]
        at += len(token)
        if kind == "comment":
            yield "\n" if "\n" in token else " "
            continue
        yield _template_squeezed(token) if kind == "template" else token
        before = before if kind == "space" else token


def _end_of_template(text: str, start: int) -> int:
    """The place after the template that begins at `start`; expressions in it may hold templates again."""
    at = start + 1
    while text[at] != "`":
        if text[at] == "\\":
            at += 1
        elif text.startswith("${", at):
            at = end_of_expression(text, at + 2)
            continue
        at += 1
    return at + 1


def _template_squeezed(template: str) -> str:
    """The template with its expressions squeezed; the lines of one that begins as a style sheet are joined."""
    left, at, kept_to = "", 1, 0
    while template[at] != "`":
        if template[at] == "\\":
            at += 1
        elif template.startswith("${", at):
            end = end_of_expression(template, at + 2)
            left += template[kept_to : at + 2] + squeezed(template[at + 2 : end - 1]).strip() + "}"
            at = kept_to = end
            continue
        at += 1
    left += template[kept_to:]
    return _AFTER_CSS.sub("", left) if template.startswith("`\n&{") else left


def end_of_expression(text: str, start: int) -> int:
    depth, at = 1, start
    while depth:
        if text[at] == "`":
            at = _end_of_template(text, at)
            continue
        if string := _STRING.match(text, at):
            at = string.end()
            continue
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at
