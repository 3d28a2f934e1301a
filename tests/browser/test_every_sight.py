"""Every view in every theme, for 2, 8 and 64 devices that are empty, busy or failing, at three widths: one page looks.

The page checks itself: nothing overflows, nothing is covered, words can be read, and rows that are alike are equal.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser import sights
from tests.browser.loose import LoosePage

HEIGHT = 4000  # everything is in sight, so that what covers a button is found
LEAST_CONTRAST = 4.5


@pytest.fixture
def page(loose: Callable[..., LoosePage]) -> LoosePage:
    made = loose({"runtime": {"engine": "local", "version": "0.1.0"}, "time": sights.NOW}, reduced_motion="reduce")
    made.page.evaluate(f"() => {{ {sights.LOOK} }}")
    return made


def test_every_view_in_every_theme_and_width_holds_what_is_in_it(page: LoosePage) -> None:
    clusters, problems, looks = sights.all_sights(), [], 0
    for theme, media in sights.THEMES.items():
        page.page.emulate_media(**media)
        least = 0 if theme == "forced colours" else LEAST_CONTRAST  # there the system chooses the colours
        for width in sights.WIDTHS:
            page.page.set_viewport_size({"width": width, "height": HEIGHT})
            told = page.page.evaluate("given => lookAt(...given)", [clusters, list(sights.VIEWS), least])
            looks += told["looks"]
            problems += [f"{theme}, {width} px: {each}" for each in told["found"]]
    assert not problems, "\n".join([f"{len(problems)} sights are not right:", *problems[:60]])
    expected = len(sights.THEMES) * len(sights.WIDTHS) * len(clusters) * (len(sights.VIEWS) - 1)
    assert looks >= expected  # Nodes is there where there are several
