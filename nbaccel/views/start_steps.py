"""The steps of a cluster's start, for whoever shows them while a person waits.

```
  an engine ── begin("import Ray"), found("2 GPU") ──► StartSteps ── now and then ──► a card, or one line of a terminal
```
A start that is over within a second is not shown: it would only flicker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType

from msgspec import Struct

from nbaccel.views import wording

DRAWN_EVERY_S = 1.0

Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Calls something after so many seconds; returns what calls it off."""


class StartStep(Struct):
    """One step; `state` has a word of `tables.STATE_WORDS`."""

    words: str
    state: str = "waiting"
    began_at: float = 0.0
    took_s: float = 0.0
    found: str = ""


class StartSteps:
    """The steps of one start, as a context: the steps that are planned wait, the one that has begun runs.

    `draw` gets them from any thread, one call at a time, and a last time when the start is over.
    """

    def __init__(
        self,
        what: str,
        planned: Sequence[str],
        draw: Callable[[StartSteps], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        later: Later | None = None,
    ) -> None:
        self.what = wording.plain(what)
        self.steps = [StartStep(wording.plain(words)) for words in planned]
        self.is_over = False
        self.hint = ""  # a sentence for the end, about what was not shown
        self._draw = draw
        self._clock = clock
        self._later = later or _after
        self._began = clock()
        self._call_off: Callable[[], None] | None = None
        self._is_drawn = False
        self._lock = threading.Lock()

    def __enter__(self) -> StartSteps:
        self._call_off = self._later(DRAWN_EVERY_S, self._redraw)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            if self._call_off is not None:
                self._call_off()
            stopped = kind is not None and issubclass(kind, KeyboardInterrupt)
            self._end_step("finished" if kind is None else "cancelled" if stopped else "failed")
            self.is_over = True
            if self._is_drawn:
                self._draw(self)

    @property
    def took_s(self) -> float:
        """How long the start has taken until now."""
        return self._clock() - self._began

    @property
    def failed(self) -> bool:
        """Whether a step was not finished."""
        return any(step.state in ("failed", "cancelled") for step in self.steps)

    def next(self) -> None:
        """The running step is finished, and the next one begins."""
        with self._lock:
            self._end_step("finished")
            step = next(step for step in self.steps if step.state == "waiting")
            step.state, step.began_at = "running", self._clock()
            if self._is_drawn:
                self._draw(self)

    def found(self, words: str) -> None:
        """What the running step has found, or why it takes long."""
        with self._lock:
            step = self._running()
            if step is not None:
                step.found = wording.plain(words)

    def line(self) -> str:
        """All of it in one line, as long as it goes on and after it."""
        if self.is_over:
            end = "did not start:" if self.failed else "started in"
            took = wording.duration(self.took_s)
            return wording.sentence([f"{self.what} {end} {took}", *map(self.step_words, self.steps), self.hint])
        step = self._running()
        return wording.sentence([f"{self.what} starts", self.step_words(step) if step is not None else ""])

    def step_words(self, step: StartStep) -> str:
        """ "import Ray 1.9 s"."""
        if step.state == "waiting":
            return ""
        return f"{step.words} {self.step_took(step)}" + (f" ({step.found})" if step.found else "")

    def step_took(self, step: StartStep) -> str:
        """How long a step took, in whole seconds while it runs: "1.9 s", "4 s"."""
        if step.state == "waiting":
            return ""
        return wording.age(self._clock() - step.began_at) if step.state == "running" else wording.duration(step.took_s)

    def _running(self) -> StartStep | None:
        return next((step for step in self.steps if step.state == "running"), None)

    def _end_step(self, state: str) -> None:
        step = self._running()
        if step is not None:
            step.took_s, step.state = self._clock() - step.began_at, state

    def _redraw(self) -> None:
        with self._lock:
            if self.is_over:
                return
            self._is_drawn = True
            self._draw(self)
            self._call_off = self._later(DRAWN_EVERY_S, self._redraw)


def _after(seconds: float, call: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer.cancel
