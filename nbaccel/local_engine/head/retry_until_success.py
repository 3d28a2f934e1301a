"""Acts that must not be left undone: tried now and, when one raises, again and again with longer and longer pauses."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.poll import LoopTimers

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 60.0


class RetryUntilSuccess:
    """Call it with an act that may be begun a second time: what the first try has done is not done again.

    Whatever the exception, somebody waits for the act or something stays taken until it is done. It is noted each time.
    """

    def __init__(self, timers: LoopTimers, note: Note) -> None:
        self._timers = timers
        self._note = note

    def __call__(self, act: Callable[[], None], pause_s: float = FIRST_PAUSE_S) -> None:
        try:
            act()
        except Exception:
            self._timers.after(pause_s, lambda: self(act, min(2 * pause_s, LONGEST_PAUSE_S)))
            self._note(f"this is retried in {pause_s:g} s:\n{traceback.format_exc()}")
