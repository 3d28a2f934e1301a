"""The panel of nbaccel-lab in real JupyterLab and Notebook 7, on a server with a prefix, a token and XSRF checks."""

from __future__ import annotations

import contextlib
import json
import socket
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.browser.test_cockpit import FAILS_ONCE, WITH_REASON
from tests.browser.test_looks import AXE
from tests.extension.fake_head import FakeHead
from tests.rig import is_alive

START = "%load_ext nbaccel\n%accel_init num_cpus=3 num_gpus=2"
HOLD = """
import os, time
import nbaccel as ray

@ray.remote(num_gpus=1, max_retries=0)
def hold(name, folder=os.getcwd()):
    print(name, "has begun", flush=True)
    with open(os.path.join(folder, name.replace("/", "") + ".pid"), "w") as file:
        file.write(str(os.getpid()))
    while not os.path.exists(os.path.join(folder, f"{name}.may_end")):
        time.sleep(0.02)

refs = [hold.options(name=name).remote(name) for name in ("NAMES",)]
print("they are", "submitted")
"""
# C code that holds the interpreter: no thread of the kernel runs meanwhile.
SPIN = """
while not os.path.exists("spin.may_begin"):
    time.sleep(0.02)
open("spin.has_begun", "w").close()
sum(range(10**12))
"""


def holding(*names: str) -> str:
    return HOLD.replace('"NAMES",', "".join(f"{name!r}, " for name in names))


def holders(runtime: Any) -> list[str]:
    """Who holds devices, as the runtime's rows say."""
    return list(runtime.locator(".holders .name").all_inner_texts())


def test_the_panel_and_the_widget_act_on_a_kernel_that_takes_no_message(opened: Callable[..., Any]) -> None:
    page = opened(START, holding("alpha", "beta", "gamma"), SPIN, panel=True)
    panel = page.open_panel()
    panel.get_by_text("does not use nbaccel yet").wait_for()

    page.run_all()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    runtime.get_by_text("2 of 2 GPUs busy").wait_for()
    page.until(lambda: holders(runtime) == ["alpha", "beta"])
    page.until(lambda: page.page.locator(".nbaccel-status button").inner_text().startswith("GPU 2/2"))
    page.cockpit_in_notebook().get_by_role("button", name="Details").click()
    of_widget = page.cockpit_in_notebook().get_by_role("button", name="Cancel beta")
    of_widget.wait_for()
    page.screenshot("panel", panel, down_to=runtime)
    page.file("spin.may_begin").touch()
    page.until(lambda: page.file("spin.has_begun").exists())

    runtime.get_by_role("button", name="Cancel alpha").click()
    page.until(lambda: "gamma" in holders(runtime))  # it has got the device
    of_widget.click()  # the widget's own way is through the kernel
    page.until(lambda: holders(runtime) == ["gamma"])
    assert page.is_busy, "the cell itself goes on"

    runtime.get_by_role("button", name="Details").click()
    runtime.get_by_role("tab", name="Tasks").click()
    runtime.locator("tr[data-task]", has_text="gamma").get_by_role("button", name="[2]").click()
    active = page.page.locator(".jp-Notebook .jp-mod-active")
    page.until(lambda: "they are" in active.first.inner_text())
    assert not page.refused

    runtime.get_by_role("button", name="Shut down").click()
    page.page.locator(".jp-Dialog").get_by_role("button", name="Shut down").click()
    runtime.wait_for(state="detached")

    page.server.stop()
    panel.get_by_text("The connection to the Jupyter server is lost").wait_for()
    page.server.start()
    panel.get_by_text("The connection to the Jupyter server is lost").wait_for(state="detached")


def assert_accessible(page: Any, *selectors: str) -> None:
    """No serious finding of axe's in these parts of the page, where axe is installed."""
    if not AXE.exists():
        return
    page.page.evaluate(AXE.read_text())
    for selector in selectors:
        found = page.page.evaluate("selector => axe.run(selector, {resultTypes: ['violations']})", selector)
        assert not [each for each in found["violations"] if each["impact"] in ("serious", "critical")]


def pid_of(page: Any, name: str) -> int:
    """The process that runs a task of `holding`."""
    page.until(lambda: page.file(f"{name}.pid").exists() and page.file(f"{name}.pid").read_text())
    return int(page.file(f"{name}.pid").read_text())


def shut_down_with_keys(page: Any, title: str) -> None:
    page.open_panel()
    page.tab_to(f"Shut down {title}")
    page.page.keyboard.press("Enter")
    dialog = page.page.locator(".jp-Dialog", has_text="Shut down nbaccel")
    dialog.wait_for()
    page.until(lambda: page.page.evaluate("document.activeElement.closest('.jp-Dialog') !== null"))
    page.page.keyboard.press("Enter")
    dialog.wait_for(state="detached")


def test_the_panel_runs_a_failed_task_again(opened: Callable[..., Any]) -> None:
    page = opened(START, FAILS_ONCE, panel=True)
    panel = page.open_panel()
    page.run_all()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    runtime.get_by_role("button", name="Details").click()
    runtime.get_by_role("tab", name="Tasks").click()
    runtime.get_by_role("button", name="Log of fails_once").click()
    runtime.get_by_role("region", name="Log of fails_once").get_by_text("not yet").first.wait_for()
    runtime.get_by_role("button", name="Retry fails_once").click()
    runtime.locator(WITH_REASON.format("retry of #")).filter(has_text="finished").wait_for()
    assert runtime.locator("tr[data-task]", has_text="failed").count() == 1, "the old task stays as it was"


def test_who_may_only_look_is_offered_no_start_and_no_end_and_told_so_when_they_cancel(
    opened: Callable[..., Any],
) -> None:
    page = opened(START, holding("solo"), panel=True, looks_only=True).run_all()
    panel = page.open_panel()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    page.until(lambda: holders(runtime) == ["solo"])
    panel.get_by_role("button", name="Only my notebook").wait_for()
    runtime.get_by_role("button", name=f"Timeline of {page.name}").wait_for()
    assert not panel.get_by_role("button", name="Start a shared head").count()
    assert not runtime.get_by_role("button", name="Shut down").count()

    runtime.get_by_role("button", name="Cancel solo").click()
    runtime.get_by_role("status").get_by_text("Your login on this Jupyter server may not change anything").wait_for()
    assert holders(runtime) == ["solo"] and is_alive(pid_of(page, "solo"))
    assert not page.refused


def test_two_kernels_are_listed_and_one_is_shut_down_with_the_keyboard_alone(opened: Callable[..., Any]) -> None:
    other = opened(START, holding("left"), panel=True).run_all()
    page = opened(START, holding("one", "two"), panel=True).run_all()
    panel = page.open_panel()
    ours = panel.locator(".nbaccel-runtime", has_text=page.name)
    theirs = panel.locator(".nbaccel-runtime", has_text=other.name)
    page.until(lambda: sorted(holders(ours)) == ["one", "two"] and holders(theirs) == ["left"])
    ours.get_by_text("this notebook").wait_for()
    page.until(lambda: page.page.locator(".nbaccel-status button").inner_text().startswith("GPU 2/2 · 3 running"))

    badge = page.page.locator(".jp-CodeCell", has_text="they are").locator(".nbaccel-badge")
    badge.get_by_text("0 1", exact=True).wait_for()
    assert badge.get_attribute("aria-label") == "This cell holds GPU 0 (one), GPU 1 (two)"
    assert page.page.locator(".nbaccel-badge").count() == 1
    notebook = page.page.locator(".jp-Notebook")
    page.screenshot("panel-badge", notebook, down_to=notebook.locator(".jp-CodeCell").last)
    assert_accessible(page, ".nbaccel-panel", ".nbaccel-status", ".nbaccel-badge")

    page.tab_to("Only my notebook")
    page.page.keyboard.press("Enter")
    theirs.wait_for(state="detached")
    page.page.keyboard.press("Enter")
    theirs.wait_for()

    pid = pid_of(other, "left")
    shut_down_with_keys(page, other.name)
    theirs.wait_for(state="detached")
    page.until(lambda: not is_alive(pid))
    page.until(lambda: page.page.locator(".nbaccel-status button").inner_text().startswith("GPU 2/2"))
    assert sorted(holders(ours)) == ["one", "two"], "the other one goes on"

    assert not page.refused


def test_the_panel_and_a_timeline_are_where_they_were_after_the_page_is_loaded_again(
    opened: Callable[..., Any],
) -> None:
    page = opened(START, holding("once", "again"), panel=True).run_all()
    panel = page.open_panel()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    for _ in range(2):
        runtime.get_by_role("button", name=f"Timeline of {page.name}").click()
        timeline = page.page.locator(".nbaccel-page")
        timeline.get_by_role("tab", name="Timeline", selected=True).wait_for()
    timeline.get_by_text("GPU 1").first.wait_for()
    assert timeline.count() == 1, "it is opened once"
    tab = page.page.locator(".lm-TabBar-tab", has_text=f"Devices of {page.name}")
    page.until(lambda: page.layout_has("nbaccel-panel") and page.layout_has("nbaccel-timeline"))

    page.page.reload()
    panel.wait_for()
    tab.wait_for()
    timeline.get_by_role("tab", name="Timeline", selected=True).wait_for()
    timeline.get_by_text("GPU 1").first.wait_for()
    page.until(lambda: sorted(holders(runtime)) == ["again", "once"])
    assert timeline.count() == 1 and tab.count() == 1
    assert not page.refused


def set_status_bar(page: Any, shown: bool) -> None:
    """What the settings editor writes."""
    address = page.server.url("lab/api/settings/@nbaccel/lab:panel")
    body = json.dumps({"raw": json.dumps({"statusBar": shown})}).encode()
    headers = {**page.server.headers, "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(address, body, headers, method="PUT")) as answer:
        assert answer.status == 204


def test_the_palette_has_the_panels_commands_and_the_status_bars_item_is_a_setting(opened: Callable[..., Any]) -> None:
    page = opened(START, holding("solo"), panel=True).run_all()
    runtime = page.open_panel().locator(".nbaccel-runtime", has_text=page.name)
    page.until(lambda: holders(runtime) == ["solo"])
    item = page.page.locator(".nbaccel-status")
    page.until(lambda: "GPU 1/2" in item.inner_text())
    page.command("Timeline of This Notebook's Devices")
    page.page.locator(".nbaccel-page").get_by_role("tab", name="Timeline", selected=True).wait_for()
    page.page.locator(".lm-TabBar-tab", has_text=page.name).first.click()
    page.command("Shut Down This Notebook's nbaccel")
    page.page.locator(".jp-Dialog").get_by_role("button", name="Shut down").click()
    runtime.wait_for(state="detached")
    page.command("Insert %accel_init")  # the notebook has it: it is shown
    page.until(lambda: "%accel_init" in page.page.locator(".jp-Notebook .jp-mod-active").first.inner_text())
    assert page.page.locator(".jp-CodeCell", has_text="%accel_init").count() == 1

    set_status_bar(page, False)
    try:
        page.page.reload()
        page.open_panel().get_by_text("does not use nbaccel yet").wait_for()  # by now the server has answered
        page.until(lambda: not item.count())
    finally:
        set_status_bar(page, True)


def test_a_runtime_of_another_version_and_ignored_files_are_told_as_text(
    opened: Callable[..., Any], servers: Callable[..., Any]
) -> None:
    folder = servers(panel=True).runtime
    readable = folder / "nbaccel-readable.json"
    readable.write_text("{}")
    readable.chmod(0o644)
    newer = FakeHead(folder, "newer", protocol=9, title="<img src=x onerror=document.body.remove()>")
    with socket.socket(socket.AF_UNIX) as nobody_listens, contextlib.ExitStack() as at_the_end:
        at_the_end.callback(newer.remove)
        at_the_end.callback(readable.unlink)
        nobody_listens.bind(newer.record["socket"])
        newer.write_file()
        page = opened("", panel=True)
        panel = page.open_panel()
        panel.get_by_text("The file nbaccel-readable.json is ignored: Others may read or write it").wait_for()
        runtime = panel.locator(".nbaccel-runtime", has_text="<img src=x")
        runtime.get_by_text("speaks version 9 of the observers' protocol").wait_for()
        assert not panel.locator("img").count()
        assert not runtime.get_by_text("Waiting for the first snapshot").is_visible(), "none will come"
        page.page.goto(page.server.url("nbaccel/"))
        page.page.get_by_text("speaks version 9 of the observers' protocol").wait_for()
        page.page.get_by_text("nbaccel-readable.json").wait_for()
        assert not page.page.locator("img").count() and not page.refused


def test_a_hidden_tab_is_sent_nothing_until_it_is_shown_again(opened: Callable[..., Any]) -> None:
    page = opened(START, holding("first", "second"), panel=True).run_all()
    looker = opened("", panel=True)
    seen, hidden = (each.open_panel().locator(".nbaccel-runtime", has_text=page.name) for each in (page, looker))
    for runtime in (seen, hidden):
        page.until(lambda runtime=runtime: sorted(holders(runtime)) == ["first", "second"])
    looker.show("hidden")
    page.file("first.may_end").touch()
    page.until(lambda: holders(seen) == ["second"])  # by now the server has read that the other tab is hidden
    sent = looker.until_quiet(lambda: looker.watched, 1.5)
    page.file("second.may_end").touch()
    page.until(lambda: holders(seen) == [])
    assert looker.watched == sent and "second" in holders(hidden)
    looker.show("visible")
    looker.until(lambda: holders(hidden) == [])


def test_a_shared_head_is_started_and_ended_from_the_panel(opened: Callable[..., Any]) -> None:
    page = opened("", panel=True)
    panel = page.open_panel()
    panel.get_by_role("button", name="Start a shared head").click()
    head = panel.locator(".nbaccel-runtime", has_text="nbaccel start --head")
    head.get_by_text("shared").first.wait_for()
    page.until_said("A shared head runs.")
    shut_down_with_keys(page, "nbaccel start --head")
    head.wait_for(state="detached")


def test_a_notebook_gets_its_runtime_from_the_panel_in_notebook_7(opened: Callable[..., Any]) -> None:
    page = opened("", classic=True, dark=True, panel=True)
    panel = page.open_panel()
    panel.get_by_role("button", name="Insert %accel_init").click()
    page.page.locator(".jp-CodeCell", has_text="%accel_init").wait_for()

    page.run_all()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    runtime.get_by_text("CPUs busy").wait_for()
    assert_accessible(page, ".nbaccel-panel")
    runtime.get_by_role("button", name=f"Timeline of {page.name}").click()
    page.page.locator(".nbaccel-page").get_by_role("tab", name="Timeline", selected=True).wait_for()
    assert not page.refused


def test_the_servers_own_page_shows_the_cockpit_and_connects_again(opened: Callable[..., Any]) -> None:
    page = opened(START, holding("<b>solo</b>", "other"), panel=True).run_all()
    page.output("they are submitted")
    page.page.goto(page.server.url("nbaccel/"))
    cockpit = page.cockpit()
    cockpit.get_by_text("2 of 2 GPUs busy").wait_for()
    page.until(lambda: sorted(page.holders().values()) == ["<b>solo</b>", "other"])
    cockpit.get_by_role("tab", name="Tasks").click()
    cockpit.get_by_role("button", name="Log of other").click()
    cockpit.get_by_role("region", name="Log of other").get_by_text("other has begun").wait_for()
    cockpit.locator("tr[data-task]", has_text="other").get_by_role("button", name="Cancel").click()
    cockpit.locator("tr[data-task]", has_text="other").get_by_text("⊘ cancelled").wait_for()

    page.server.stop()  # its kernels end with it
    page.server.start()
    page.page.get_by_text("No nbaccel runs on this machine").wait_for()
    page.page.get_by_role("status").get_by_text("Connected.").wait_for()
    assert page.page.locator(".nbaccel-cockpit").count() == 0
    assert not page.refused
