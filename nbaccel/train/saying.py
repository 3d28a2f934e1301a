"""Shows sentences about a run as notices, in the notebook or in the terminal."""

from __future__ import annotations

from nbaccel.views import sinks


def say(kind: str, sentence: str) -> None:
    """Show a sentence once, where the engines' own notices are shown."""
    sinks.installed.notice(sinks.Notice(kind, sentence))
