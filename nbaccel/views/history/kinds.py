"""Exact numbers of all runs by function, cell, job and ending, however many there are."""

from __future__ import annotations

import msgspec

MOST_KINDS = 2_000
MOST_FUNCTIONS = 1_000  # beyond the kinds with cells: each function keeps its own numbers
ELSEWHERE = "other cells"  # cells that are no longer kept apart
OTHERS = "other functions"

Key = tuple[str, str, int, str]


class KindOfRuns(msgspec.Struct):
    """The runs of one function, from one cell of one job, with the same ending."""

    index: int
    function: str
    cell: str
    job: int
    state: str
    runs: int = 0
    seconds: float = 0.0
    device_seconds: float = 0.0
    seq: int = 0  # of its last change


class KindsOfRuns:
    """The table of kinds: at most `MOST_KINDS`, plus `MOST_FUNCTIONS` and a few more."""

    def __init__(self) -> None:
        self.rows: list[KindOfRuns] = []
        self._by_key: dict[Key, KindOfRuns] = {}

    def of(self, function: str, cell: str, job: int, state: str) -> KindOfRuns:
        """The kind of a run: its own, or a kind of several cells if too many are known."""
        known = self._by_key.get((function, cell, job, state))
        if known is not None:
            return known
        if len(self.rows) < MOST_KINDS:
            return self._made(function, cell, job, state)
        known = self._by_key.get((function, ELSEWHERE, 0, state))
        if known is not None:
            return known
        if len(self.rows) < MOST_KINDS + MOST_FUNCTIONS:
            return self._made(function, ELSEWHERE, 0, state)
        return self._by_key.get((OTHERS, ELSEWHERE, 0, state)) or self._made(OTHERS, ELSEWHERE, 0, state)

    def _made(self, function: str, cell: str, job: int, state: str) -> KindOfRuns:
        kind = self._by_key[function, cell, job, state] = KindOfRuns(len(self.rows), function, cell, job, state)
        self.rows.append(kind)
        return kind
