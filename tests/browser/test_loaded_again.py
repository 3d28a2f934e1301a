"""A page that is loaded again while a cell runs, or a second one: no widget is there until the kernel is free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.test_panel import SPIN, START, holders, holding


def test_a_page_that_is_loaded_again_draws_its_cards_without_the_kernel(opened: Callable[..., Any]) -> None:
    page = opened(START, holding("alpha", "beta", "gamma"), SPIN, panel=True).run_all()
    page.cockpit_in_notebook().get_by_text("2 of 2 GPUs busy").wait_for()
    page.until(lambda: page.save("nbaccel-place") and "2 of 2 GPUs busy" in "".join(page.saved()))
    assert "as of 20" in "".join(page.saved()), "the file keeps the picture of that moment"
    page.file("spin.may_begin").touch()
    page.until(lambda: page.file("spin.has_begun").exists())

    page.page.reload()
    card = page.page.locator(".jp-Notebook .nbaccel-place .nbaccel-cockpit").first
    card.get_by_role("button", name="Details").click()
    page.until(lambda: holders(card) == ["alpha", "beta"])
    card.get_by_role("button", name="Cancel alpha").click()
    page.until(lambda: sorted(holders(card)) == ["beta", "gamma"])
    card.get_by_text("Cancelled alpha").wait_for()

    second = page.page.context.new_page()
    second.goto(page.page.url)
    other = second.locator(".jp-Notebook .nbaccel-place .nbaccel-cockpit").first
    other.get_by_text("gamma").first.wait_for(timeout=120_000)
    assert not page.refused
