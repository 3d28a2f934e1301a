"""Gives the local names of a squeezed module of JavaScript one or two letters.

What stands at a module's top keeps its name, so that an error in a page still names functions that can be found in the
sources. Every other name has one short form in the whole module, so no scope has to be understood: two names that were
different stay different. Properties, keys and what the page itself offers (`document`, `Map`) keep their names.

```
  names ── each with its role ──► property │ shorthand │ bound │ used
                                   stays     {a} is {a:b}   shortened where it is bound somewhere, not at the top
```
A test compares what is left with the sources, node by node, as TypeScript reads them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import count, product

from tools.squeezing import end_of_expression, tokens_of

_FIRST = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$"
_RESERVED = frozenset(  # some may be names in places; it is simpler not to ask
    re.findall(
        r"\w+",
        """
    as async await break case catch class const continue debugger default delete do else enum export extends false
    finally for from function get if implements import in instanceof interface let new null of package private
    protected public return set static super switch this throw true try typeof undefined var void while with yield
    """,
    )
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_BEFORE_A_BLOCK = frozenset({")", ";", "}", "else", "do", "try", "finally", ""})


def shortened(text: str, kept: set[str]) -> str:
    """The same program with short local names; those in `kept` stay. `text` is squeezed already.

    Example::

        shortened("const at=document;\\nfunction f(row){return {row,age:row.age}}\\n", {"at", "f"})
        # 'const at=document;\\nfunction f(a){return {row:a,age:a.age}}\\n'
    """
    program = _Program(text)
    bound = program.bound() - kept
    uses = Counter(token for token, role in zip(program.tokens, program.roles, strict=True) if role and token in bound)
    taken = {token for token, role in zip(program.tokens, program.roles, strict=True) if role} - bound
    fresh = (name for name in _short_names() if name not in taken)
    short = {name: next(fresh) for name, _ in sorted(uses.items(), key=lambda each: (-each[1], each[0]))}
    return program.said(short)


def _short_names() -> Iterator[str]:
    digits = _FIRST + "0123456789"
    for more in count():
        for first, *rest in product(_FIRST, *[digits] * more):
            name = "".join([first, *rest])
            if name not in _RESERVED:
                yield name


class _Program:
    """The tokens of a program, the role of each name and the partner of each bracket."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_flat(text))
        self.spoken = [at for at, token in enumerate(self.tokens) if not token.isspace()]
        self._words = [self.tokens[at] for at in self.spoken]  # without spaces
        self._ends: dict[int, int] = {}  # of each opening bracket: where it is closed
        self._is_object: dict[int, bool] = {}  # of each { whether it is an object or a pattern, not a block
        self._around = self._brackets()
        roles = {self.spoken[at]: self._role(at) for at in range(len(self._words))}
        self.roles = [roles.get(at, "") for at in range(len(self.tokens))]

    def said(self, short: dict[str, str]) -> str:
        """The program with these names instead."""
        return "".join(
            token
            if token not in short or not role
            else f"{token}:{short[token]}"
            if role == "shorthand"
            else short[token]
            for token, role in zip(self.tokens, self.roles, strict=True)
        )

    def bound(self) -> set[str]:
        """All names that the program itself binds, at its top or in a function."""
        names: set[str] = set()
        for at, word in enumerate(self._words):
            before = self._word(at - 1)
            if before in ("const", "let", "var"):
                names |= self._declared(at)
            elif before == "function" and _is_name(word):
                names |= {word} | self._parameters(at + 1)
            elif word == "(" and self._takes_parameters(at):
                names |= self._parameters(at)
            elif _is_name(word) and self._is_arrow(at + 1) and before != ".":
                names.add(word)
        return names

    def _word(self, at: int) -> str:
        return self._words[at] if 0 <= at < len(self._words) else ""

    def _is_arrow(self, at: int) -> bool:
        return self._word(at) == "=" and self._word(at + 1) == ">"

    def _brackets(self) -> list[int]:
        """For each word the opening bracket around it, -1 at the top."""
        around, open_ones = list[int](), list[int]()
        for at, word in enumerate(self._words):
            if word in _CLOSING or _closes(word):
                self._ends[open_ones.pop()] = at
            around.append(open_ones[-1] if open_ones else -1)
            if word in "([{" or _opens(word):
                open_ones.append(at)
                self._is_object[at] = word == "{" and not self._begins_block(at, around[at])
        return around

    def _begins_block(self, at: int, around: int) -> bool:
        before = self._word(at - 1)
        if before == "{":
            return not self._is_object.get(around, False)
        return before in _BEFORE_A_BLOCK or (before == ">" and self._word(at - 2) == "=")

    def _role(self, at: int) -> str:
        """What a name is here: "shorthand" or "name"; "" for a property, and for what is no name of the program."""
        word, before, after = self._words[at], self._word(at - 1), self._word(at + 1)
        if not _is_name(word) or (before == "." and not self._spreads(at)):
            return ""
        is_first = before in ("{", ",") and self._is_object.get(self._around[at], False)
        if is_first and after in (":", "("):
            return ""
        return "shorthand" if is_first and after in (",", "}", "=") else "name"

    def _spreads(self, at: int) -> bool:
        return [self._word(at - step) for step in (1, 2, 3)] == ["."] * 3

    def _takes_parameters(self, at: int) -> bool:
        """Whether a parenthesis holds the parameters of an arrow, a method, an unnamed function or a `catch`."""
        end, before = self._ends[at], self._word(at - 1)
        if self._is_arrow(end + 1) or (before in ("function", "catch") and self._word(at - 2) != "."):
            return True
        is_key = self._word(at - 2) in ("{", ",") and self._is_object.get(self._around[at], False)
        return is_key and _is_name(before) and self._word(end + 1) == "{"

    def _parameters(self, at: int) -> set[str]:
        return self._patterns(at + 1, self._ends[at])

    def _declared(self, at: int) -> set[str]:
        """The names of a declaration whose first pattern begins here."""
        names: set[str] = set()
        while True:
            after = self._after_pattern(at)
            names |= self._pattern(at)
            if self._word(after) != "=":
                return names
            end = self._end_of_value(after)
            if self._word(end) != ",":
                return names
            at = end + 1

    def _patterns(self, at: int, end: int) -> set[str]:
        """The names in patterns between commas, from `at` to before `end`."""
        names: set[str] = set()
        while at < end:
            if self._word(at) in (",", "."):
                at += 1
                continue
            names |= self._pattern(at)
            at = self._end_of_value(self._after_pattern(at))
        return names

    def _pattern(self, at: int) -> set[str]:
        word = self._word(at)
        if word == "[":
            return self._patterns(at + 1, self._ends[at])
        if word != "{":
            return {word}
        names: set[str] = set()
        inner, end = at + 1, self._ends[at]
        while inner < end:
            if self._word(inner) in (",", "."):
                inner += 1
                continue
            value = inner + 2 if self._word(inner + 1) == ":" else inner
            names |= self._pattern(value)
            inner = self._end_of_value(self._after_pattern(value))
        return names

    def _after_pattern(self, at: int) -> int:
        return self._ends.get(at, at) + 1

    def _end_of_value(self, at: int) -> int:
        """Where a value ends: at a comma, a semicolon or the bracket around it."""
        while at < len(self._words) and self._word(at) not in (",", ";", ")", "]", "}") and not _closes(self._word(at)):
            at = self._ends.get(at, at) + 1
            while _opens(self._word(at - 1)) and at - 1 in self._ends:  # a template goes on with its next expression
                at = self._ends[at - 1] + 1
        return at


def _flat(text: str) -> Iterator[str]:
    """The tokens; a template is its pieces of text, which begin and end like brackets, and the tokens between them."""
    for token in tokens_of(text):
        if not token.startswith("`"):
            yield token
            continue
        began = at = 0
        while at < len(token):
            if token[at] == "\\":
                at += 1
            elif token.startswith("${", at):
                end = end_of_expression(token, at + 2)
                yield token[began : at + 2]
                yield from _flat(token[at + 2 : end - 1])
                began = at = end - 1
                continue
            at += 1
        yield token[began:]


def _opens(word: str) -> bool:
    return word.endswith("${") and word[0] in "`}"


def _closes(word: str) -> bool:
    return len(word) > 1 and word[0] == "}"


def _is_name(word: str) -> bool:
    return bool(word) and (word[0].isalpha() or word[0] in "_$") and word not in _RESERVED
