"""Shows sentences about a run as notices, in the notebook or in the terminal."""

from __future__ import annotations

from nbaccel.views import sinks


def say(kind: str, sentence: str, line: str = "") -> None:
    """Show a sentence once, where the engines' own notices are shown. One about what goes on now is a `line`, which the
    next sentence of this name replaces, and "" takes away.
    """
    sinks.installed.notice(sinks.Notice(kind, sentence, task_id=line.encode()))
