"""Waiting for as long as something moves: what is slow gets its time, and what hangs does not."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_LOOK_S = 0.5  # if more time has passed since the last look, the machine stood still, and nothing could move


class StallTimer:
    """Counts the seconds since `progress` last changed, in looks; a look is due at least every LONGEST_LOOK_S."""

    def __init__(self, patience_s: float, now: float, progress: Callable[[], object]) -> None:
        self._patience_s = patience_s
        self._left_s = patience_s
        self._looked_at = now
        self._progress = progress
        self._before = progress()

    def is_over(self, now: float) -> bool:
        """Look: has nothing moved for `patience_s`?"""
        seen = self._progress()
        if seen != self._before:
            self._before, self._left_s = seen, self._patience_s
        else:
            self._left_s -= min(now - self._looked_at, LONGEST_LOOK_S)
        self._looked_at = now
        return self._left_s <= 0
