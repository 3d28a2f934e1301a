"""Sentences about a run for whoever watches: the notebook's or the terminal's way of showing notices."""

from __future__ import annotations

from nbaccel.views import sinks


def say(kind: str, sentence: str) -> None:
    """One sentence, shown once, where the engines' own notices are shown."""
    sinks.installed.notice(sinks.Notice(kind, sentence))
