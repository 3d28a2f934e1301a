"""Each part of the visual language in both themes, as a saved notebook has it, with the pictures of docs/design.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright")

from nbaccel.notebook import blocks, curves
from nbaccel.notebook.blocks import Html
from nbaccel.notebook.curves import Series
from nbaccel.views import palette
from tests.browser import sights
from tests.browser.pages import PAGES, SCREENSHOTS

THEMES = ("light", "dark")
LEAST_CONTRAST = 4.5
TRAIN, SHARD, INFER = (palette.COLOURS[hue] for hue in (0, 1, 2))  # three hues, each with its shades


def each_part() -> dict[str, Html]:
    """The parts by their names in the table of docs/design.md."""
    states = (
        ("running", TRAIN[0]),
        ("waiting", ""),
        ("failed", ""),
        ("cancelled", ""),
        ("finished", ""),
    )
    losses = [Series(f"trial {number}", [(step, (2 + number) / (step + 2)) for step in range(12)], colour)
              for number, colour in enumerate((TRAIN[0], SHARD[0]), 1)]  # fmt: skip
    return {
        "first line": blocks.header(["2 of 2 GPUs busy"], {"running": 3, "waiting": 2, "failed": 1}, "nbaccel 0.1.0"),
        "pill": blocks.join([blocks.pill(state, colour) for state, colour in states]),
        "chip": blocks.join([blocks.chip("logical"), blocks.chip("3 alerts", urgent=True)]),
        "bar": blocks.join([blocks.bar([(0.5, TRAIN[0]), (0.25, SHARD[0])]), blocks.words("GPU 0 · train, shard")]),
        "meter": blocks.meter(83, "83 %"),
        "row": blocks.table(
            "Tasks",
            ["Task", "State", "Devices", "Started", "Took"],
            [[blocks.name_cell("train", "#7f3a-12 · pid 4711"), blocks.pill("running", TRAIN[0]), blocks.words("GPU 0"),
              blocks.words("14:03:22"), blocks.words("3 min 12 s")]],
        ),
        "tile": blocks.tiles("Devices", [
            blocks.tile("GPU 0", "train", [(1.0, TRAIN[0])]),
            blocks.tile("GPU 1", "train", [(1.0, TRAIN[1])]),
            blocks.tile("GPU 2", "infer 0.5", [(0.5, INFER[0])]),
            blocks.tile("GPU 3", "free", []),
        ]),
        "line of two minutes": blocks.join([blocks.spark([0.2, 0.4, 0.9, 0.8, 0.85, 0.5, 0.83]), blocks.words("83 %")]),
        "curve": curves.curve("loss", losses),
        "empty state": blocks.empty("No task yet. A remote function that is called makes one:", "f.remote()"),
        "note": blocks.note("× 3 infer waits for 1 GPU. Both GPUs are busy."),
        "attention": blocks.attention("GPU 1 keeps 9.5 GiB that no task holds (pid 28001)"),
    }  # fmt: skip


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(offline=True, viewport={"width": 760, "height": 1600})
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("theme", THEMES)
def test_each_part_can_be_read_and_fits_in_both_themes(page: Any, theme: str) -> None:
    shown = each_part()
    named = [[blocks.words(name, strong=True), part] for name, part in shown.items()]
    lines = "".join(f"<dt>{name}</dt><dd>{part}</dd>" for name, part in named)
    look = (
        "<style>dl{display:grid;grid-template-columns:9em 1fr;gap:18px 12px;margin:0}dd{margin:0;min-width:0}</style>"
    )
    page.emulate_media(color_scheme=theme)
    page.set_content(
        f"<!doctype html><html lang='en' style='color-scheme:light dark'><title>parts</title>{look}"
        f"<body>{blocks.box([Html(f'<dl>{lines}</dl>')])}</body></html>"
    )
    root = page.locator(".nbaccel").first
    assert root.locator("dt").all_inner_texts() == list(shown)
    heights = root.locator("dd").evaluate_all("all => all.map(each => each.getBoundingClientRect().height)")
    assert min(heights) > 8, dict(zip(shown, heights, strict=True))
    assert root.evaluate("root => root.scrollWidth <= root.clientWidth")
    page.evaluate(f"() => {{ {sights.LOOK} }}")
    assert root.evaluate("(root, least) => unreadable(root, least)", LEAST_CONTRAST) == []
    name = f"parts-{theme}"
    assert any(f"images/{name}.png" in each.read_text() for each in PAGES), "a page shows the picture"
    if os.environ.get("NBACCEL_SCREENSHOTS"):
        root.screenshot(path=str(SCREENSHOTS / f"{name}.png"))


def test_every_part_of_the_page_on_design_has_a_picture() -> None:
    page = next(each for each in PAGES if each.name == "design.md").read_text()
    table = page.partition("## The parts")[2].partition("\n\n![")[0]
    listed = [row.split("|")[1].strip() for row in table.splitlines() if row.startswith("| ")][1:]
    of_page = {"lane", "overlaid curves, parallel coordinates, dots"}  # the page alone draws them
    of_runs = {"card", "log", "run", "trial"}  # in pictures of their own
    assert set(listed) - of_page - of_runs == set(each_part())
