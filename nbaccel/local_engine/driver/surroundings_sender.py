"""Tells the head what a notebook has changed in its own process, so that new workers are like it."""

from __future__ import annotations

from collections.abc import Sequence

from nbaccel import surroundings
from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.views import sinks


class SurroundingsSender:
    """Of one driver. Equal surroundings have one number, so that workers of before are used again."""

    def __init__(self, link: Link, code_search_path: Sequence[str]) -> None:
        self._link = link
        self._code_search_path = code_search_path
        self._changes = surroundings.ChangesSinceInit()
        self._numbers = {wire.encode_body(self._message(0)): 0}
        self._number = 0

    def look(self, cell: bytes) -> int:
        """The number of the present surroundings; `cell` is the notebook message that runs now."""
        if self._changes.look():
            body = wire.encode_body(self._message(0))
            if body not in self._numbers:
                self._link.send(self._message(len(self._numbers)))
                self._numbers[body] = len(self._numbers)
            self._number = self._numbers[body]
            self._show(cell)
        return self._number

    def _message(self, number: int) -> wire.Surroundings:
        path, directory = import_path(self._code_search_path), surroundings.working_directory()
        return wire.Surroundings(number, path, directory, self._changes.variables, surroundings.log_levels())

    def _show(self, cell: bytes) -> None:
        news = self._changes.news()
        if news:
            words = f"Workers now see {news}. Living actors keep what they had."
            sinks.installed.notice(sinks.Notice("surroundings", words, cell))


def import_path(code_search_path: Sequence[str]) -> list[str]:
    """Where workers look for modules."""
    return [*map(surroundings.absolute, code_search_path), *surroundings.import_path()]
