"""The panel when a head is killed, with a shared head, in Notebook 7 and in another language; its pages."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.test_panel import SPIN, START, assert_accessible, holders, holding, pid_of
from tests.rig import is_alive

JOIN = '%load_ext nbaccel\nimport nbaccel\nnbaccel.init("auto")'
SLEEP = """
import time

@nbaccel.remote(num_cpus=0)
def NAME():
    time.sleep(3600)

refs = [NAME.remote() for _ in range(2)]
"""


def kill_head(page: Any) -> None:
    """Kill the head of a notebook."""
    files = [json.loads(file.read_text()) for file in Path(page.server.runtime).glob("nbaccel-*.json")]
    [pid] = [record["pid"] for record in files if page.name in record["title"]]
    os.kill(pid, signal.SIGKILL)


def test_the_end_of_a_killed_head_is_told_and_the_cell_that_starts_another_is_found(opened: Callable[..., Any]) -> None:
    page = opened(START, holding("solo"), panel=True).run_all()
    panel = page.open_panel()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    page.until(lambda: holders(runtime) == ["solo"])
    runtime.get_by_role("button", name=f"Timeline of {page.name}").click()
    timeline = page.page.locator(".nbaccel-page")
    timeline.get_by_text("GPU 1").first.wait_for()
    page.until(lambda: page.layout_has("nbaccel-timeline"))
    kill_head(page)
    runtime.wait_for(state="detached")
    page.until_said(f"nbaccel of {page.name} has ended.")
    assert not panel.locator(".attention").count(), "its file needs no warning"
    timeline.get_by_text("GPU 1").first.wait_for()  # its last picture stays

    page.page.locator(".lm-TabBar-tab", has_text=page.name).first.click()
    panel.get_by_text(f"{page.name} does not use nbaccel any more.").wait_for()
    panel.get_by_role("button", name="Go to %accel_init").click()
    page.until_said("Run it to start nbaccel")
    active = page.page.locator(".jp-Notebook .jp-mod-active").first
    page.until(lambda: "%accel_init" in active.inner_text())
    assert page.page.locator(".jp-CodeCell", has_text="%accel_init").count() == 1

    page.page.reload()
    # JupyterLab shows the tab that was in front when it last saved the layout, which may be the notebook's.
    page.page.locator(".lm-TabBar-tab", has_text=f"Devices of {page.name}").click()
    timeline.get_by_text(f"nbaccel of {page.name} has ended.").wait_for()
    assert not timeline.get_by_text("Waiting for the first snapshot").is_visible(), "none will come"
    assert not page.refused


def test_of_a_shared_head_a_notebook_sees_its_own_tasks_alone_if_it_likes(opened: Callable[..., Any]) -> None:
    page = opened(JOIN, SLEEP.replace("NAME", "ours"), panel=True)
    panel = page.open_panel()
    panel.get_by_role("button", name="Start a shared head").click()
    head = panel.locator(".nbaccel-runtime", has_text="nbaccel start --head")
    head.get_by_text("shared").first.wait_for()
    page.run_all()
    opened(JOIN, SLEEP.replace("NAME", "theirs"), panel=True).run_all()
    head.get_by_text("4 running").wait_for()
    head.get_by_role("button", name="Details").click()
    head.get_by_role("tab", name="Tasks").click()
    rows = head.locator("tr[data-task]")
    page.until(lambda: [sum(name in row for row in rows.all_inner_texts()) for name in ("ours", "theirs")] == [2, 2])

    panel.get_by_role("button", name="Only my notebook").click()
    head.get_by_text("2 running").wait_for()
    page.until(lambda: rows.count() == 2 and all("ours" in row for row in rows.all_inner_texts()))
    panel.get_by_role("button", name="Only my notebook").click()
    head.get_by_text("4 running").wait_for()
    head.get_by_role("button", name="Shut down nbaccel start --head").click()
    page.page.locator(".jp-Dialog").get_by_role("button", name="Shut down").click()
    head.wait_for(state="detached")
    assert not page.refused


def test_in_notebook_7_a_busy_kernels_task_is_cancelled_its_cell_found_and_another_runtime_ended(
    opened: Callable[..., Any],
) -> None:
    other = opened(START, holding("left"), classic=True, panel=True).run_all()
    page = opened(START, holding("one", "two", "three"), SPIN, classic=True, panel=True).run_all()
    panel = page.open_panel()
    ours = panel.locator(".nbaccel-runtime", has_text=page.name)
    theirs = panel.locator(".nbaccel-runtime", has_text=other.name)
    page.until(lambda: holders(ours) == ["one", "two"] and holders(theirs) == ["left"])
    page.file("spin.may_begin").touch()
    page.until(lambda: page.file("spin.has_begun").exists())
    ours.get_by_role("button", name="Cancel one").click()
    page.until(lambda: "three" in holders(ours))
    assert page.is_busy, "the cell itself goes on"

    ours.get_by_role("button", name="Details").click()
    ours.get_by_role("tab", name="Tasks").click()
    ours.locator("tr[data-task]", has_text="three").get_by_role("button", name="[2]").click()
    active = page.page.locator(".jp-Notebook .jp-mod-active").first
    page.until(lambda: "they are" in active.inner_text())

    ours.get_by_role("button", name=f"Timeline of {page.name}").click()
    assert page.page.locator(".nbaccel-page").bounding_box()["height"] > 300, "there is room for it below the notebook"
    assert panel.bounding_box()["width"] >= 320
    pid = pid_of(other, "left")
    theirs.get_by_role("button", name=f"Shut down {other.name}").click()
    page.page.locator(".jp-Dialog").get_by_role("button", name="Shut down").click()
    theirs.wait_for(state="detached")
    page.until(lambda: not is_alive(pid))
    assert not page.refused


def test_the_timelines_page_looks_closer_and_is_saved_as_a_chrome_trace(
    opened: Callable[..., Any], tmp_path: Path
) -> None:
    page = opened(START, holding("once", "again"), panel=True).run_all()
    runtime = page.open_panel().locator(".nbaccel-runtime", has_text=page.name)
    page.until(lambda: sorted(holders(runtime)) == ["again", "once"])
    runtime.get_by_role("button", name=f"Timeline of {page.name}").click()
    timeline = page.page.locator(".nbaccel-page")
    timeline.get_by_text("GPU 1").first.wait_for()
    with page.page.expect_download() as download:
        timeline.get_by_role("button", name="Save as Chrome trace").click()
    download.value.save_as(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())
    assert {event["tid"] for event in events if event["pid"] == "devices"} == {"GPU 0", "GPU 1"}

    box = timeline.locator("svg.timeline").last.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 10)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 10, steps=4)
    page.page.mouse.up()
    follow = timeline.get_by_role("button", name="Follow")
    follow.click()  # it is there once the brush looks closer
    follow.wait_for(state="detached")
    assert not page.refused


CATALOGUE = {
    "": {"domain": "nbaccel_lab", "language": "de", "plural_forms": "nplurals=2; plural=(n != 1);"},
    "Show Accelerators": ["Beschleuniger zeigen"],
    "Only my notebook": ["Nur mein Notebook"],
    "%1 does not use nbaccel yet.": ["%1 nutzt nbaccel noch nicht."],
}


def test_commands_and_the_panel_speak_the_language_of_a_language_pack(opened: Callable[..., Any]) -> None:
    page = opened("", panel=True)
    answer = json.dumps({"data": {"nbaccel_lab": CATALOGUE}, "message": ""})
    page.page.route("**/api/translations/**", lambda route: route.fulfill(body=answer, content_type="application/json"))
    page.page.reload()
    panel = page.open_panel("Beschleuniger zeigen")
    panel.get_by_role("button", name="Nur mein Notebook").wait_for()
    panel.get_by_text(f"{page.name} nutzt nbaccel noch nicht.").wait_for()
    assert not page.refused


def test_the_servers_own_page_is_accessible_in_both_themes_and_falls_silent_where_nobody_sees_it(
    opened: Callable[..., Any],
) -> None:
    page = opened(START, holding("morning", "noon", "night"), panel=True).run_all()
    page.output("they are submitted")
    page.page.goto(page.server.url("nbaccel/"))
    page.until(lambda: sorted(page.holders().values()) == ["morning", "noon"])
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        assert_accessible(page, "html")
    page.show("hidden")
    sent = page.until_quiet(lambda: page.watched, 1.5)
    page.file("morning.may_end").touch()
    page.until(lambda: page.file("night.pid").exists())  # the freed device went to it, and a shown page would hear
    assert page.until_quiet(lambda: page.watched, 1.5) == sent
    page.show("visible")
    page.until(lambda: sorted(page.holders().values()) == ["night", "noon"])
