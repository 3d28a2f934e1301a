"""Where lines only follow each other, a line about work that waits is printed once, not each time it changes."""

from __future__ import annotations

import pytest

from nbaccel.views.sinks import Notice, Sinks


def test_a_line_that_changes_is_printed_once_until_it_is_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    sinks = Sinks()
    for text in ("waits for 3 s", "waits for 8 s", "", "waits again"):
        sinks.notice(Notice("waiting", text, task_id=b"t1"))
    assert capsys.readouterr().err == "nbaccel: waits for 3 s\nnbaccel: waits again\n"


def test_another_kind_of_line_about_the_same_task_is_news(capsys: pytest.CaptureFixture[str]) -> None:
    sinks = Sinks()
    sinks.notice(Notice("waiting", "waits", task_id=b"t1"))
    sinks.notice(Notice("deadlock", "nobody gives it back", task_id=b"t1"))
    sinks.notice(Notice("leak", "kept 3 GiB"))
    sinks.notice(Notice("leak", "kept 3 GiB"))
    assert capsys.readouterr().err.count("\n") == 4
