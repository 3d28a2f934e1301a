"""The bar over tasks is an output that is changed in place, so that what is saved is what it showed last."""

from __future__ import annotations

from typing import Any

import pytest

from nbaccel.notebook.output import STEPS, TaskBar


class Page:
    """What a front end keeps of the bar's messages."""

    def __init__(self) -> None:
        self.messages = 0
        self.output: dict[str, str] = {}
        self.name = ""

    def send(self, kind: str, content: dict[str, Any]) -> None:
        assert kind == ("update_display_data" if self.messages else "display_data")
        assert self.name in ("", content["transient"]["display_id"])
        self.messages += 1
        self.name, self.output = content["transient"]["display_id"], content["data"]


def test_a_bar_shows_at_every_moment_how_many_tasks_are_ready() -> None:
    page = Page()
    bar = TaskBar(page.send, 4, "training", clock=lambda: 5.0)
    assert page.output["text/plain"] == "training: 0 of 4 tasks · 0 % · 0 s"
    for done in range(1, 5):
        bar.update(1)
        assert page.output["text/plain"] == f"training: {done} of 4 tasks · {25 * done} % · 0 s"
        assert f'<progress max="4" value="{done}">' in page.output["text/html"]
    bar.close()
    assert set(page.output) == {"text/plain", "text/html"}, "no widget, which a saved notebook could not show"


@pytest.mark.parametrize("total", [1, 7, 201, 5000])
def test_a_finished_bar_is_full_and_many_tasks_are_few_messages(total: int) -> None:
    page = Page()
    bar = TaskBar(page.send, total)
    for _ in range(total):
        bar.update(1)
    assert page.messages <= STEPS + 1
    assert f"{total} of " in page.output["text/plain"] and "100 %" in page.output["text/plain"]


def test_a_bar_over_nothing_is_full() -> None:
    page = Page()
    TaskBar(page.send, 0).close()
    assert "100 %" in page.output["text/plain"]


def test_a_description_stays_text() -> None:
    page = Page()
    TaskBar(page.send, 2, "<img src=x>")
    assert "<img" not in page.output["text/html"]
