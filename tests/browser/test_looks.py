"""The cockpit for everyone: both themes pass axe, motion and forced colours are respected; screenshots for the docs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.servers import ROOT

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
TABS = ("Devices", "Waiting", "Tasks", "Actors", "Timeline", "Accounting", "Alerts")
START = "%load_ext nbaccel\n%accel_init num_cpus=4 simulate=nvidia:4xH100"
BUSY = """
import time
import nbaccel as ray

@ray.remote(num_gpus=1, num_cpus=0)
def train(seconds):
    print("one epoch is done", flush=True)
    time.sleep(seconds)

@ray.remote(num_gpus=0.25, num_cpus=0)
def evaluate(seconds):
    time.sleep(seconds)

@ray.remote(num_gpus=1, num_cpus=0)
class Model:
    def predict(self):
        return 1

model = Model.remote()
ray.get([model.predict.remote(), train.remote(1.5), train.remote(0.5), evaluate.remote(1.0)])
refs = [evaluate.remote(600) for _ in range(3)] + [train.remote(600) for _ in range(4)]
refs.append(train.options(num_gpus=9, name="too_big").remote(1))
print("all are", "submitted")
"""


@pytest.fixture
def busy(opened: Callable[..., Any]) -> Callable[..., Any]:
    """Opens a notebook whose devices are all in use, with the dashboard in its third cell."""

    def page(**options: Any) -> Any:
        page = opened(START, BUSY, "%accel_dashboard", **options).run_all()
        page.output("all are submitted")
        page.cockpit(1).get_by_text("5 running · 3 waiting").wait_for()
        return page

    return page


def _show(page: Any, tab: str) -> None:
    page.cockpit(1).get_by_role("tab", name=tab).click()
    page.cockpit(1).get_by_role("tabpanel", name=tab).wait_for()


@pytest.mark.axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_in_any_view(busy: Callable[..., Any], dark: bool) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: npm --prefix frontend ci")
    page = busy(dark=dark)
    page.screenshot("cockpit-dark" if dark else "cockpit", page.cockpit(1))
    page.screenshot("card-dark" if dark else "card", page.cockpit(0))
    page.page.evaluate(AXE.read_text())
    for tab in TABS:
        _show(page, tab)
        found = page.page.evaluate("() => axe.run('.nbaccel-cockpit', {resultTypes: ['violations']})")
        serious = [
            (each["id"], [node["html"][:200] for node in each["nodes"]], each["nodes"][0]["failureSummary"])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, (tab, serious)
        page.screenshot(f"cockpit-{tab.lower()}{'-dark' if dark else ''}", page.cockpit(1))


def test_forced_colours_and_reduced_motion_are_respected(busy: Callable[..., Any]) -> None:
    page = busy(forced_colors="active", reduced_motion="reduce")
    button = page.cockpit(1).locator("button").first
    assert button.evaluate("button => getComputedStyle(button).transitionDuration") in ("0s", "")
    part = page.cockpit(1).locator("td.use .part").first
    ground = page.cockpit(1).evaluate("root => getComputedStyle(root).backgroundColor")
    assert part.evaluate("part => getComputedStyle(part).backgroundColor") != ground, (
        "a held device still shows as held"
    )
    page.screenshot("cockpit-forced-colours", page.cockpit(1))


def test_a_log_is_read_in_place(busy: Callable[..., Any]) -> None:
    page = busy()
    _show(page, "Tasks")
    page.cockpit(1).get_by_role("button", name="Log of train").first.click()
    page.cockpit(1).get_by_text("one epoch is done").wait_for()
    page.page.keyboard.press("Escape")
    page.until(lambda: page.cockpit(1).get_by_text("one epoch is done").count() == 0)


def test_the_timeline_is_saved_as_a_chrome_trace(busy: Callable[..., Any], tmp_path: Any) -> None:
    import json

    page = busy()
    _show(page, "Timeline")
    with page.page.expect_download() as download:
        page.cockpit(1).get_by_role("button", name="Save as Chrome trace").click()
    download.value.save_as(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())
    assert {event["tid"] for event in events if event["pid"] == "devices"} >= {"GPU 0", "GPU 1", "GPU 2", "GPU 3"}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
