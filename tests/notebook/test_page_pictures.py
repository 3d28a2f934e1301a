"""Of what a page sends as pictures only drawings stay: no element that acts, no attribute that names something."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from nbaccel.notebook import page_pictures

DRAWN = (
    '<svg role="img" aria-label="2 runs &lt;of&gt; f" viewBox="0 0 900 40">'
    '<g><rect x="1.5" y="2" width="30" height="9" rx="2" fill="#2f96e3" stroke="rgb(1, 2, 3)" opacity=".5">'
    "<title>f · 3 s</title></rect>"
    '<path d="M1 2.5L-3 4h0" stroke-dasharray="3 2"/><text x="4" y="9" text-anchor="end">a &amp; b</text></g></svg>'
)


def cleaned(svg: str, words: str = "") -> str:
    return page_pictures.cleaned([{"svg": svg, "words": words}])


def test_a_drawing_stays_as_it_is() -> None:
    html = cleaned(DRAWN, "loss <over> reports")
    root = ElementTree.fromstring(html)
    drawn = root.find("svg")
    assert drawn is not None and "loss <over> reports" in "".join(root.itertext())
    assert drawn.get("aria-label") == "2 runs <of> f" and "max-width:900px" in str(drawn.get("style"))
    kept = [(each.tag, {key: value for key, value in each.attrib.items() if key != "style"}) for each in drawn.iter()]
    assert kept == [(each.tag, dict(each.attrib)) for each in ElementTree.fromstring(DRAWN).iter()]
    assert [each.text for each in drawn.iter("text")] == ["a & b"]


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        "<foreignObject><img src='x'/></foreignObject>",
        "<image href='https://example.org/x.png'/>",
        "<use href='#a'/>",
        "<style>*{display:none}</style>",
        "<a href='javascript:alert(1)'><path d='M0 0'/></a>",
        "<animate onbegin='alert(1)'/>",
    ],
)
def test_an_element_that_is_no_shape_goes_with_all_that_is_in_it(inner: str) -> None:
    html = cleaned(f"<svg viewBox='0 0 9 9'>{inner}<path d='M1 1'/></svg>")
    assert html.count("<path") == 1
    for word in ("script", "alert", "href", "image", "foreign", "display:none", "animate"):
        assert word not in html


@pytest.mark.parametrize(
    "attribute",
    [
        "onload='alert(1)'",
        "style='background:red'",
        "class='jp-Dialog'",
        "id='x'",
        "fill='url(https://example.org)'",
        "fill='UrL(#a)'",
        "d='M0 0&quot; onclick=&quot;x'",
        "href='x'",
    ],
)
def test_an_attribute_that_names_or_does_something_goes(attribute: str) -> None:
    html = cleaned(f"<svg viewBox='0 0 9 9'><path {attribute} stroke='#123456'/></svg>")
    assert '<path stroke="#123456"></path>' in html


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "text",
        [7],
        [{"svg": "no picture"}],
        [{"svg": "<svg>"}],
        [{"svg": "<svg/>"}],
        [{"svg": "<svg viewBox='0 0 wide 9'/>"}],
        [{"svg": "<!DOCTYPE svg [<!ENTITY a 'aaaa'>]><svg viewBox='0 0 9 9'><text>&a;</text></svg>"}],
        [{"svg": f"<svg viewBox='0 0 9 9'><text>{'x' * page_pictures.MOST_BYTES}</text></svg>"}],
    ],
)
def test_what_is_no_picture_or_too_large_is_nothing(sent: Any) -> None:
    assert page_pictures.cleaned(sent) == ""


def test_a_deep_picture_ends_somewhere() -> None:
    html = cleaned(f"<svg viewBox='0 0 9 9'>{'<g>' * 500}{'</g>' * 500}</svg>")
    assert html.count("<g>") == page_pictures.MOST_DEPTH - 1
