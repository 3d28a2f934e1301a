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
    made.page.evaluate(f"() => {{ {sights.LOOK} {sights.SHOW} }}")
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


def test_nodes_with_names_of_three_hundred_letters_fit_every_view(page: LoosePage) -> None:
    clusters = []
    for devices in (2, 16):
        shown = sights.with_long_node_names(sights.snapshot(devices, "failing"))
        for row in shown.devices:
            row.node_id = shown.nodes[row.index * len(shown.nodes) // devices].node_id
        clusters.append(sights.sight_of(shown, f"{devices} devices, long names", "failing"))
    views, problems = ["Card", "Devices", "Timeline", "Accounting", "Nodes"], []
    for width in sights.WIDTHS:
        page.page.set_viewport_size({"width": width, "height": HEIGHT})
        problems += page.page.evaluate("given => lookAt(...given)", [clusters, views, LEAST_CONTRAST])["found"]
    assert not problems, "\n".join(problems[:20])


def test_on_a_narrow_page_no_line_ends_within_a_fact_and_a_swatch_stands_beside_its_name(page: LoosePage) -> None:
    page.page.set_viewport_size({"width": 480, "height": HEIGHT})
    for condition in ("failing", sights.LONG_NAMES):
        page.page.evaluate("given => show(...given)", [sights.sight(64, condition), "Tasks"])
        words = page.root.locator(".group th > .quiet")
        assert words.count() == 6
        assert words.evaluate_all("all => all.filter(each => each.offsetHeight > 24).map(each => each.innerText)") == []
        page.page.evaluate("given => show(...given)", [sights.sight(8, condition), "Devices"])
        top = "each => each.getBoundingClientRect().top"
        apart = f"all => all.map(each => ({top})(each) - ({top})(each.parentElement.querySelector('.name')))"
        assert min(page.root.locator(".holders .swatch").evaluate_all(apart)) >= 0
        assert max(page.root.locator(".holders .swatch").evaluate_all(apart)) < 10
        assert page.root.locator(".holders li").evaluate_all("all => Math.max(...all.map(li => li.offsetHeight))") < 70


BROKEN = {
    "pixels too far right": ("Devices", ".tabs { width: 3000px }"),
    "is covered by p.said": ("Devices", ".said { position: fixed; inset: 0; z-index: 9; background: red }"),
    "is cut, and no title has the whole": (
        "Devices",
        ".tabs button { width: 20px !important; overflow: hidden !important }",
    ),
    "has a contrast of": ("Devices", ".quiet { color: #aaa !important }"),
    "pixels high": ("Tasks", "tr[data-task]:first-of-type { height: 99px !important }"),
    "the line below button": ("Devices", "[role=tab] { border-bottom-color: #eee !important }"),
    "buttons end at": ("Tasks", ".group button { margin-right: 9px !important }"),
    "is wider than its cell": (
        "Accounting",
        ".accounts table { width: 300px !important } .accounts th { white-space: nowrap !important }",
    ),
    "bars begin at": ("Devices", "tr:first-of-type .bar { margin-left: 9px !important }"),
    "lies over": ("Timeline", ".timeline text { font-size: 40px !important }"),
}


def test_a_look_finds_each_kind_of_fault(page: LoosePage) -> None:
    shown = sights.sight(2, "busy")
    page.page.set_viewport_size({"width": 1400, "height": HEIGHT})
    for fault, (view, rules) in BROKEN.items():
        page.page.evaluate("given => show(...given)", [shown, view])
        assert not page.root.evaluate("root => faults(root, 4.5)"), view
        style = page.page.add_style_tag(content=rules)
        found = page.root.evaluate("root => faults(root, 4.5)")
        assert any(fault in each for each in found), (fault, found[:5])
        style.evaluate("style => style.remove()")


def test_a_view_that_gets_no_answer_is_not_taken_for_a_sight(page: LoosePage) -> None:
    unanswered = {**sights.sight(2, "busy"), "answers": {}}
    page.page.evaluate("() => { patienceMs = 1000; }")
    with pytest.raises(Exception, match="Accounting, 2 devices, busy: nobody has answered about accounting"):
        page.page.evaluate("given => show(...given)", [unanswered, "Accounting"])
