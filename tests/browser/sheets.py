"""Forty-eight pictures of the cockpit on eight contact sheets, for people who judge how it looks.

    python -m tests.browser.sheets FOLDER

Every pair of view, theme, number of devices, condition and width is in some picture. A sheet has six named pictures.
"""

from __future__ import annotations

import base64
import html
import sys
from itertools import combinations, product
from pathlib import Path

from tests.browser import sights
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.loose import LoosePage

PICTURES, SHEETS = 48, 8
LOOK_OF_SHEETS = """body { margin: 12px; font: 14px sans-serif; columns: 2; column-gap: 12px; background: #ddd }
figure { margin: 0 0 14px; break-inside: avoid } img { max-width: 100% }"""
Choice = tuple[str, str, int, str, int]  # view, theme, devices, condition, width


def pairwise(number: int = PICTURES) -> list[Choice]:
    """So many combinations that have every pair; what is left of the number adds pairs of view and theme anew."""
    left = list(product(sights.VIEWS, sights.THEMES, sights.DEVICES, sights.CONDITIONS, sights.WIDTHS))
    left = [each for each in left if each[0] != "Nodes" or each[2] > sights.PER_NODE]  # one node has no such view
    seen: dict[tuple[int, object, int, object], int] = {}
    chosen: list[Choice] = []
    while len(chosen) < number:
        best = max(left, key=lambda each: sum(1.0 / (1 + 9 * seen.get(pair, 0)) for pair in _pairs(each)))
        left.remove(best)
        chosen.append(best)
        for pair in _pairs(best):
            seen[pair] = seen.get(pair, 0) + 1
    return chosen


def _pairs(choice: Choice) -> list[tuple[int, object, int, object]]:
    return [(one, choice[one], two, choice[two]) for one, two in combinations(range(len(choice)), 2)]


def draw(folder: Path) -> None:
    """Take the pictures and lay them out."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    order = sorted(pairwise(), key=lambda each: sights.VIEWS.index(each[0]))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = LoosePage(browser, {"runtime": {"engine": "local", "version": "0.1.0"}, "time": sights.NOW})
        page.page.evaluate(f"() => {{ {sights.LOOK} {sights.SHOW} }}")
        pictures = [(choice, _picture(page, choice)) for choice in order]
        per_sheet = PICTURES // SHEETS
        for number in range(SHEETS):
            some = pictures[number * per_sheet : (number + 1) * per_sheet]
            sheet = browser.new_page(viewport={"width": 1800, "height": 1000})
            sheet.set_content(_sheet(some))
            path = folder / f"sheet-{number + 1}.png"
            sheet.screenshot(path=path, full_page=True)
            sys.stdout.write(f"wrote {path}\n")
        browser.close()


def _picture(page: LoosePage, choice: Choice) -> bytes:
    view, theme, devices, condition, width = choice
    page.page.emulate_media(**sights.THEMES[theme])
    page.page.set_viewport_size({"width": width, "height": 900})
    page.page.evaluate("given => show(...given)", [sights.sight(devices, condition), view])
    return page.root.screenshot()


def _sheet(pictures: list[tuple[Choice, bytes]]) -> str:
    figures = "".join(
        f"<figure><figcaption>{html.escape(' · '.join(map(str, choice)))} px</figcaption>"
        f"<img src='data:image/png;base64,{base64.b64encode(picture).decode()}'></figure>"
        for choice, picture in pictures
    )
    return f"<!doctype html><style>{LOOK_OF_SHEETS}</style>{figures}"


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
