"""What a view shows of the past: lines of measurements, who used the devices, and every run of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.loose import LoosePage
from tests.browser.test_drawing import NOW, cluster

STEPS = 60


def readings(devices: int) -> dict[str, Any]:
    line = "AQgw" * (STEPS // 4) * devices
    return {"seq": STEPS, "pause_s": 2, "time": NOW, "origin": NOW - 120, "step_s": 2, "first": 0, "steps": STEPS,
            "power_watts": 400, "prefix": "n/GPU/", "devices": [str(number) for number in range(devices)],
            "utilisation": line, "memory": line, "power": line, "hues": {}}  # fmt: skip


def account(name: str, seconds: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "job": 0, "runs": 3, "failed": 0, "running": 0, "seconds": seconds,
            "device_seconds": seconds, "devices": 0, **more}  # fmt: skip


def test_measured_devices_have_lines_of_two_minutes(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    assert page.root.locator("svg.spark").count() == 0
    page.recall("readings", readings(2))
    row = page.root.locator('tr[data-device="GPU 1"]')
    assert row.locator("svg.spark").count() == 2, "load and memory; its power is not measured"
    assert (
        row.get_by_role("meter", name="GPU 1 utilisation")
        .locator("path.area")
        .get_attribute("d")
        .startswith("M0 15L1 ")
    )
    assert "in the last two minutes" in row.locator(".measure").first.get_attribute("title")


def test_on_a_wide_page_a_device_is_one_line_with_its_measurements_side_by_side(
    loose: Callable[..., LoosePage],
) -> None:
    snapshot = cluster(8, 8)
    for device in snapshot["devices"]:
        device["metrics"]["power_watts"] = 310.0
    page = loose(snapshot)
    page.recall("readings", readings(8))
    for width, lines in ((900, 3), (1400, 1)):
        page.page.set_viewport_size({"width": width, "height": 900})
        page.page.evaluate("frame()")
        row = page.root.locator('tr[data-device="GPU 3"]')
        tops = row.locator(".measure").evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
        assert len(tops) == 3 and len(set(tops)) == lines, width
        assert (row.bounding_box()["height"] <= 38) == (lines == 1), width
    ends = "all => all.map(each => Math.round(each.getBoundingClientRect().left))"
    assert len(set(page.root.locator(".measure:nth-child(2)").evaluate_all(ends))) == 1, "a column of its own"


def test_load_and_memory_are_areas_in_a_box_from_zero_to_all(loose: Callable[..., LoosePage]) -> None:
    snapshot = cluster(2, 2)
    snapshot["devices"][0]["metrics"]["power_watts"] = 310.0
    page = loose(snapshot)
    page.recall("readings", readings(2))
    row = page.root.locator('tr[data-device="GPU 0"]')
    for what in ("utilisation", "memory"):
        meter = row.get_by_role("meter", name=f"GPU 0 {what}")
        under = meter.locator("path.under").get_attribute("d")
        assert under.startswith("M0 15L1 ") and under.endswith("L59 16L0 16Z"), "down to zero"
        assert "0px 0px 0px 1px" in meter.evaluate("meter => getComputedStyle(meter).boxShadow")
    power = row.get_by_role("img", name="GPU 0 power 310 W")
    assert power.locator("path").count() == 1, "nobody knows all the power that there is"
    assert "0px 0px 0px 1px" not in power.evaluate("power => getComputedStyle(power).boxShadow")


def test_many_devices_have_their_lines_on_their_tiles(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(12, 12))
    page.recall("readings", readings(12))
    assert page.root.locator(".tile svg.spark").count() == 12
    page.root.get_by_text("power (dotted)").wait_for()


def test_accounting_says_who_used_the_devices(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2))
    page.root.get_by_role("tab", name="Accounting").click()
    page.root.get_by_text("Asking the kernel …").wait_for()
    devices = [
        {"device": f"n/GPU/{number}", "since": 0.0, "held_seconds": 9.0 * number, "devices": 0} for number in (1, 0)
    ]
    functions = [account("train", 40), account("infer", 2, failed=1)]
    page.recall("accounting", {"seq": 4, "pause_s": 1, "time": NOW, "functions": functions,
                               "cells": [account("[7] line 3", 42)], "devices": devices, "known_seconds": 100,
                               "held_seconds": 42, "left_out": 0, "hues": {}})  # fmt: skip
    rows = page.root.get_by_role("region", name="By function").get_by_role("row")
    assert [row.split()[0] for row in rows.all_inner_texts()[1:]] == ["train", "infer"]
    shares = page.root.get_by_role("region", name="By function").get_by_role("row").locator("td.share")
    assert [each.split() for each in shares.all_inner_texts()] == [["95", "%"], ["5", "%"]]
    page.root.get_by_text("42 device-seconds in all").wait_for()
    assert page.root.get_by_role("region", name="By cell").get_by_role("row", name="[7] line 3").count() == 1
    assert (
        page.root.get_by_role("region", name="By device").get_by_role("row", name="GPU 0").get_by_text("never").count()
        == 1
    )


TOPS = "row => [...row.children].map(cell => Math.round(cell.getBoundingClientRect().top / 10))"


def test_a_devices_share_and_its_idle_time_stand_on_one_line_of_a_narrow_page(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 2), viewport={"width": 450, "height": 700})
    page.root.get_by_role("tab", name="Accounting").click()
    devices = [{"device": f"n/GPU/{number}", "since": 0.0, "held_seconds": 9.0, "devices": 1} for number in (0, 1)]
    page.recall("accounting", {"seq": 4, "pause_s": 1, "time": NOW, "functions": [account("train", 40)], "cells": [],
                               "devices": devices, "known_seconds": 100, "held_seconds": 42, "left_out": 0,
                               "hues": {}})  # fmt: skip
    share = page.root.get_by_role("region", name="By device").locator("td.share").first
    bar, words = share.locator(".bar").bounding_box(), share.bounding_box()
    assert words["height"] < 24 and abs(bar["y"] - words["y"]) < 12, "a share's number stands beside its bar"
    tops = page.root.get_by_role("region", name="By device").locator("tbody tr").first.evaluate(TOPS)
    assert tops[1] == tops[2] == tops[3], "how long, the idle share and the held one"
    tops = page.root.get_by_role("region", name="By function").locator("tbody tr").first.evaluate(TOPS)
    assert tops[0] < tops[1] == tops[2] == tops[3], "the numbers stand below the name"


def runs(lanes: int, now: float) -> dict[str, Any]:
    """On each device a run of its own and ten thousand short ones, all of which stay in sight for 45 seconds."""
    kinds = [{"index": 0, "function": "train", "cell": "[7] line 3", "job": 0, "state": "FINISHED"},
             {"index": 1, "function": "shard", "cell": "[8]", "job": 0, "state": "FAILED"}]  # fmt: skip
    ended = [{"lane": lane, "bars": [[0, 45_000, 4000, 1, 1], [1, 50_000, 8000, 10_000]]} for lane in range(lanes)]
    return {"seq": 9, "pause_s": 2, "time": now, "origin": now - 60, "whole": True, "grain_s": 0.06, "kinds": kinds,
            "lanes": {str(lane): f"n/GPU/{lane}" for lane in range(lanes)}, "ended": ended, "running": [],
            "waiting": [0, 3, 1], "waiting_from": now - 60, "waiting_step_s": 10, "hues": {}}  # fmt: skip


@pytest.mark.parametrize("width", [480, 1300])
def test_the_timeline_has_every_run_with_its_cell_and_a_card(loose: Callable[..., LoosePage], width: int) -> None:
    page = loose(cluster(64, 3), viewport={"width": width, "height": 800})
    page.root.get_by_role("tab", name="Timeline").click()
    page.page.wait_for_function("asked.some(each => each.ask === 'runs')")
    page.recall("runs", runs(64, page.page.evaluate("Date.now() / 1000")))
    page.root.get_by_role("img", name="640064 task runs on 64 lanes").wait_for()
    assert page.root.locator(".axis .band").count() == 2
    page.root.locator("rect.run.failed").first.hover()
    page.root.locator(".hover", has_text="10000 × shard").get_by_text("cell [8]").wait_for()

    axis = page.root.locator(".axis")
    before = axis.bounding_box()
    page.root.get_by_role("region", name="Timeline").evaluate("region => { region.scrollTop = 600; }")
    assert axis.bounding_box() == before, "the axis stays in sight"
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_closer_look_is_asked_for_by_its_own_window(loose: Callable[..., LoosePage]) -> None:
    page = loose(cluster(2, 3))
    page.root.get_by_role("tab", name="Timeline").click()
    page.page.wait_for_function("asked.some(each => each.ask === 'runs')")
    page.recall("runs", runs(2, page.page.evaluate("Date.now() / 1000")))
    page.root.get_by_role("button", name="Zoom in").click()
    page.page.wait_for_function("asked.at(-1).end - asked.at(-1).start > 29")
    assert page.page.evaluate("asked.at(-1).since") == 0
    page.root.get_by_role("button", name="Follow").wait_for()
