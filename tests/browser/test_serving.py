"""An application in a real notebook: the Serving view shows its replicas and requests, and its Stop ends it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.test_looks import AXE
from tests.browser.test_reopened import assert_no_error, shown
from tests.browser.test_runs import START, _serious

pytest.importorskip("uvicorn")

SERVE = """
import urllib.request
from nbaccel import serve

@serve.deployment(num_replicas=2, ray_actor_options={"num_gpus": 0.5})
class Half:
    def __call__(self, request):
        if request.url.path == "/bad":
            raise ValueError("no weights")
        return "ok"

serve.run(Half.bind(), token=True)
for path in ["/"] * 20 + ["/bad"]:
    asked = urllib.request.Request(serve.status().url + path, headers={"Authorization": f"Bearer {serve.token_of()}"})
    try:
        urllib.request.urlopen(asked).read()
    except urllib.error.HTTPError:
        pass
"""


def test_the_serving_view_shows_an_application_and_stops_it(opened: Callable[..., Any]) -> None:
    page = opened(START, "%accel_dashboard", SERVE).run_all()
    card = page.page.locator(".nbaccel-cockpit").last
    card.get_by_text("0.5 GPU on GPU 0, GPU 0").wait_for()
    cockpit = page.cockpit(1)
    cockpit.get_by_role("tab", name="Serving").click()
    view = cockpit.get_by_role("tabpanel", name="Serving")
    view.get_by_text("last error of Half").wait_for()
    page.screenshot("serving", cockpit)
    if AXE.exists():
        assert _serious(page, ".nbaccel-cockpit") == []
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    view.get_by_role("button", name="Copy curl of default").click()
    view.page.get_by_text("Copied the line with its token.").first.wait_for()
    assert re.fullmatch(
        r"curl -s http://127.0.0.1:\d+/ -H 'Authorization: Bearer [\w-]{43}'",
        page.page.evaluate("navigator.clipboard.readText()"),
    )
    view.get_by_role("button", name="Stop default").click()
    page.until(lambda: not cockpit.get_by_role("tab", name="Serving").is_visible())
    assert cockpit.get_by_role("tab", name="Devices").get_attribute("aria-selected") == "true"
    assert not page.refused


TOKEN = "import hashlib\nprint('digest', hashlib.sha256(serve.token_of().encode()).hexdigest(), len(serve.token_of()))"


def test_a_saved_notebook_keeps_the_last_state_and_no_token(opened: Callable[..., Any]) -> None:
    page = opened(START, SERVE, TOKEN).run_all()
    page.output("digest ")
    page.page.locator(".nbaccel-cockpit").last.get_by_text("last error of Half").wait_for()

    def has_the_last_state() -> bool:  # the picture below a live card is drawn some seconds later
        page.menu("File", "Save Notebook")
        return any("last error 2" in output for output in page.saved())

    page.until(has_the_last_state)
    text = page.file(page.name).read_text()
    digest, length = page.printed().partition("digest ")[2].split()[:2]
    found = re.findall(rf"(?=([A-Za-z0-9_-]{{{length}}}))", text)
    assert digest not in {hashlib.sha256(each.encode()).hexdigest() for each in found}
    page.end_kernel()
    again = opened(text=text)
    shown(again, 1)
    kept = again.page.locator(".jp-CodeCell").nth(1).inner_text()
    for words in ("default", "serving", "2 replicas", "1 failed", "Bearer …", "ValueError: no weights", "as of 20"):
        assert words in kept, words
    assert_no_error(again)
