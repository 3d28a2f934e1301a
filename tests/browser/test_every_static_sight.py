"""What a saved notebook keeps, for every cluster and theme of the live matrix, at its three levels.

The page checks itself as the live one does (`look.js`), at three widths. What is left without style sheets is the
host's to lay out, so there no width is looked at: the words can be read, and rows and words are complete and in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.browser import sights
from tests.browser.test_every_sight import HEIGHT, LEAST_CONTRAST
from tests.notebook.levels import LEVELS

# Shows each view of a cluster by itself at a level, and finds what is wrong with it.
SHOW_STATIC = """
([views, isFull, least]) => {
  const found = [], plain = text => text.replace(/\\s+/g, " ").trim();
  const parts = root => [...root.querySelectorAll("p, li, caption, th, td")];
  const words = root => plain(parts(root).map(each => each.textContent).join(" "));
  for (const [name, html, whole] of views) {
    document.body.innerHTML = whole;
    const expected = words(document.body);
    document.body.innerHTML = html;
    const root = document.querySelector(".nbaccel") ?? document.body;
    const faults = isFull ? window.faults(root, least) : window.unreadable(root, least);
    if (!plain(root.innerText) || words(root) !== expected) faults.push("words are missing");
    if (faults.length) found.push(`${name}: ${window.told(faults)}`);
  }
  return found;
}
"""


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_content(
        "<!doctype html><html lang='en' style='color-scheme: light dark'><title>saved</title><body></body>"
    )
    page.evaluate(f"() => {{ {sights.LOOK} }}")
    yield page
    context.close()


@pytest.mark.parametrize("level", LEVELS)
def test_every_static_view_holds_what_is_in_it(page: Any, level: str) -> None:
    is_full = level == "full"
    clusters = {
        f"{devices} devices, {condition}": sights.static_views(sights.snapshot(devices, condition), condition)
        for devices, condition in product(sights.DEVICES, (*sights.CONDITIONS, sights.LONG_NAMES))
    }
    long = sights.with_long_node_names(sights.snapshot(16, "failing"))
    clusters["16 devices of nodes with long names"] = sights.static_views(long, "failing")
    problems, looks = [], 0
    for theme, media in sights.THEMES.items():
        page.emulate_media(**media)
        least = 0 if theme == "forced colours" else LEAST_CONTRAST  # there the system chooses the colours
        for width in sights.WIDTHS if is_full else sights.WIDTHS[:1]:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            for name, views in clusters.items():
                shown = [[view, LEVELS[level](html), html] for view, html in views.items()]
                looks += len(shown)
                found = page.evaluate(SHOW_STATIC, [shown, is_full, least])
                problems += [f"{theme}, {width} px: {name}, {each}" for each in found]
    assert not problems, "\n".join([f"{len(problems)} sights are not right:", *problems[:60]])
    assert looks >= 8 * len(sights.THEMES) * len(clusters)
