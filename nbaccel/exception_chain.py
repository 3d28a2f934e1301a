"""Takes along the exceptions that an error was raised from (`__cause__`) or raised beside (`__context__`).

```
  error ── __cause__ ──► link ── __context__ ──► link …     plain pickle forgets all but the error
  Chain ── pickled ──► PackedChain ── tie ──► the same, around an error that has travelled otherwise
```
Each link is pickled by itself: one that cannot be pickled, or that its reader cannot rebuild, leaves its words in its
place and costs neither the error nor another link.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence

from nbaccel.exception_state import CAUSE, CONTEXT, SUPPRESSES, Reduced, packed, set_ties

MOST_LINKS = 32  # a function that calls itself in an `except` makes hundreds; the traceback has them all
MOST_BYTES = 1 << 20  # of one link: errors travel in messages
_LONGEST_WORDS = 1_000

Tie = tuple[
    int, int, bool
]  # the places of the cause and of the context, -1 without one; whether a cause hides the latter
Link = tuple[bytes, str]  # the pickle of an exception, b"" if there is none; its words, or why there is none
StandIn = Callable[[str], BaseException]


class Chain:
    """The links of some errors, which travel by themselves.

    errors  the errors
    whole   a class of exceptions that take their own chains along
    """

    def __init__(self, errors: Sequence[BaseException], whole: type[BaseException]) -> None:
        self._whole = whole
        self._nodes = [node for error in errors for node in _with_parts(error)]
        self._own = len(self._nodes)  # these are the errors', those behind them the links'
        self._links: list[BaseException] = []
        looked_at = 0
        while looked_at < len(self._nodes):
            self._follow(self._nodes[looked_at], is_own=looked_at < self._own)
            looked_at += 1

    def __bool__(self) -> bool:
        return bool(self._links)

    def _follow(self, node: BaseException, *, is_own: bool) -> None:
        if isinstance(node, self._whole) and not is_own:
            return
        for link in (CAUSE.__get__(node), CONTEXT.__get__(node)):
            if link is not None and self._place(link) < 0 and len(self._links) < MOST_LINKS:
                self._links.append(link)
                self._nodes += _with_parts(link)

    def _place(self, link: BaseException | None) -> int:
        return next((place for place, node in enumerate(self._nodes) if node is link), -1)

    def _tie(self, node: BaseException, *, is_own: bool) -> Tie | None:
        if isinstance(node, self._whole) and not is_own:
            return None
        cause, context = self._place(CAUSE.__get__(node)), self._place(CONTEXT.__get__(node))
        return cause, context, SUPPRESSES.__get__(node)

    def __reduce__(self) -> Reduced:
        ties = [self._tie(node, is_own=place < self._own) for place, node in enumerate(self._nodes)]
        return PackedChain, ([_packed_link(link) for link in self._links], ties)

    def tie(self, errors: Sequence[BaseException], stand_in: StandIn) -> None:
        """Nothing has been pickled (`copy.copy`): the errors are tied as they were."""


class PackedChain:
    """A chain that has travelled."""

    def __init__(self, links: list[Link], ties: list[Tie | None]) -> None:
        self._links = links
        self._ties = ties

    def __reduce__(self) -> Reduced:
        return PackedChain, (self._links, self._ties)

    def tie(self, errors: Sequence[BaseException], stand_in: StandIn) -> None:
        """Tie the links to the errors, which are in the same order as before. `stand_in` takes a lost link's place."""
        links = [_loaded(link, stand_in) for link in self._links]
        nodes = [node for error in (*errors, *links) for node in _with_parts(error)]
        for node, tie in zip(nodes, self._ties, strict=False):  # a class of the user's may have lost parts
            if tie is not None:
                cause, context, suppresses = tie
                set_ties(node, _at(nodes, cause), _at(nodes, context), suppresses)


def _at(nodes: list[BaseException], place: int) -> BaseException | None:
    return nodes[place] if 0 <= place < len(nodes) else None


def _with_parts(error: BaseException) -> list[BaseException]:
    """The error, and the parts of a group, in an order that survives pickling."""
    found = [error]
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            found += _with_parts(part)
    return found


def _packed_link(link: BaseException) -> Link:
    import cloudpickle

    words = _words(link)
    try:
        data = cloudpickle.dumps(packed(link))
    except Exception as problem:  # whatever a user's __reduce__ raises
        return b"", f"{words} (the exception itself could not be pickled: {_words(problem)})"
    if len(data) > MOST_BYTES:
        return b"", f"{words} (the exception itself is too large to travel: {len(data) / 1e6:.1f} MB)"
    return data, words


def _loaded(link: Link, stand_in: StandIn) -> BaseException:
    data, words = link
    if not data:
        return stand_in(words)
    try:
        found = pickle.loads(data)
    except Exception as problem:  # its module is missing here, or whatever a user's class raises
        return stand_in(f"{words} (the exception itself could not be rebuilt: {_words(problem)})")
    return found if isinstance(found, BaseException) else stand_in(words)


def _words(error: BaseException) -> str:
    """Its class and message, in characters that can be encoded; a user's __str__ may raise as well."""
    try:
        said = str(error)[:_LONGEST_WORDS].encode("utf-8", "backslashreplace").decode()
    except Exception:
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
