"""What a person does with the cockpit, in JupyterLab and in Notebook 7: one notebook of each is looked at by all tests.

Each test opens its own view and ends only its own tasks, so that their order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("playwright")

from tests.accelerators.fake_nvml import FakeNvml, Gpu
from tests.browser.pages import NotebookPage

FRONT_ENDS = pytest.mark.parametrize("classic", [False, True], ids=["lab", "notebook7"])
START = "%load_ext nbaccel\n%accel_init num_cpus=2 num_gpus=10"
# Of `shard` ten tasks end and two go on, with both CPUs; so those of `grow` wait. They are asked for once both run: two
# that were sent to one worker are on their way back for a moment, in which the other CPU is free for whoever comes.
# The page gets the task as one that began a minute earlier than it did.
BEGAN_A_MINUTE_AGO = """
from nbaccel.notebook import publishing

def with_a_long_task(snapshot, *others, of_snapshot=publishing.of_snapshot):
    for row in snapshot.tasks:
        if row.name == "takes_a_minute" and row.started_at is not None:
            row.started_at -= 61
    return of_snapshot(snapshot, *others)

publishing.of_snapshot = with_a_long_task
"""
WORK = """
import os, time
import nbaccel as ray

def wait_for(name, folder=os.getcwd()):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.05)

@ray.remote(num_gpus=1, num_cpus=0, max_retries=0)
def hold():
    wait_for("never")

@ray.remote(max_retries=0)
def shard(number):
    if number > 9:
        open(f"shard.{number}.runs", "w").close()
        wait_for("never")

@ray.remote
def grow():
    pass

@ray.remote(num_cpus=0)
def talk():
    ray.report_progress(3, 10)
    for epoch in range(20):
        print("epoch", epoch, flush=True)
    wait_for("talk.may_go_on")
    print("and the last word", flush=True)
    wait_for("never")

@ray.remote(num_cpus=0)
def takes_a_minute():  # of which its end is told
    wait_for("minute.may_end")

@ray.remote(num_cpus=0, max_retries=0)
def breaks():
    raise ValueError("this batch is empty")

@ray.remote(num_cpus=0)
class lasting:
    def ready(self):
        pass
if "actor" not in globals():  # a front end that is slow to answer may be asked to run this twice
    actor = lasting.remote()
    ray.get(actor.ready.remote())
    minute = takes_a_minute.remote()
    refs = [hold.options(name=name).remote() for name in ("kept", "lonely")]
    talks, broken = talk.remote(), breaks.remote()
    shards = [shard.remote(number) for number in range(12)]
    ray.wait(shards, num_returns=10)
    for number in (10, 11):
        wait_for(f"shard.{number}.runs")
    grown = [grow.remote() for _ in range(10)]
    all_gpus = hold.options(name="asks_for_all", num_gpus=10).remote()
"""
CELL_TO_CANCEL = "of_cell = [hold.options(name=f'of_cell_{number}').remote() for number in range(2)]"
CELL = re.compile("^Cell")  # the name of a field has its choices in it
FOCUSED = "document.activeElement.textContent.replace(/[^a-zA-Z]/g, '')"


@pytest.fixture(scope="module", params=[False, True], ids=["lab", "notebook7"])
def page(request: pytest.FixtureRequest, browser: Any, servers: Callable[..., Any]) -> Iterator[NotebookPage]:
    server = servers(classic=request.param)
    shown = NotebookPage(
        browser,
        server,
        [START + BEGAN_A_MINUTE_AGO, WORK, CELL_TO_CANCEL, "%accel_dashboard"],
        permissions=["notifications"],
    )
    try:
        shown.run_all()
        shown.until(lambda: shown.page.locator(".nbaccel-cockpit:has([role=tab])").count() == 1)
        yield shown
    finally:
        shown.close()


@pytest.fixture
def cockpit(page: NotebookPage) -> Any:
    """The whole cockpit, with no filter, and the pointer away from it."""
    whole = page.page.locator(".nbaccel-cockpit:has([role=tab])")
    whole.get_by_role("tab", name="Tasks").click()
    whole.get_by_label("State").select_option("")
    whole.get_by_role("combobox", name=CELL).select_option("")
    whole.get_by_label("Text").fill("")
    page.page.mouse.move(0, 0)
    return whole


def view(cockpit: Any, name: str) -> Any:
    cockpit.get_by_role("tab", name=name).click()
    opened = cockpit.get_by_role("tabpanel", name=name)
    opened.wait_for()
    return opened


def row(cockpit: Any, name: str) -> Any:
    """The row of a task, in the Tasks view."""
    return cockpit.locator("tr[data-task]", has=cockpit.page.get_by_text(name, exact=True))


def function_row(cockpit: Any, name: str) -> Any:
    return cockpit.locator(f'tr[data-function="{name}"]')


def test_a_count_of_the_first_line_shows_its_tasks(page: NotebookPage, cockpit: Any) -> None:
    view(cockpit, "Devices")
    cockpit.get_by_role("button", name=re.compile(r"^\d+ running$")).click()
    cockpit.get_by_role("tab", name="Tasks", selected=True).wait_for()
    assert cockpit.get_by_label("State").input_value() == "running"
    rows = cockpit.locator("tr[data-task]")
    page.until(lambda: rows.count() > 3 and all("running" in each for each in rows.all_inner_texts()))
    row(cockpit, "kept").wait_for()


def test_keys_go_from_tab_to_tab(page: NotebookPage, cockpit: Any) -> None:
    cockpit.get_by_role("tab", name="Devices").click()
    for key, name in (("ArrowRight", "Waiting"), ("End", "Alerts"), ("ArrowRight", "Devices"), ("ArrowLeft", "Alerts"),
                      ("Home", "Devices")):  # fmt: skip
        page.page.keyboard.press(key)
        cockpit.get_by_role("tab", name=name, selected=True).wait_for()
        assert page.page.evaluate(FOCUSED) == name, key
    assert page.page.locator(".jp-Notebook .jp-CodeCell").count() == 4, "no key has reached the notebook"


def test_a_column_sorts_the_tasks(page: NotebookPage, cockpit: Any) -> None:
    names = cockpit.locator("tr[data-task] .name")
    cockpit.get_by_role("button", name="Task", exact=True).click()
    cockpit.locator("th[aria-sort=ascending]", has_text="Task").wait_for()
    up = names.all_inner_texts()
    assert up == sorted(up) and up[0] == "asks_for_all"
    cockpit.get_by_role("button", name="Task", exact=True).click()
    cockpit.locator("th[aria-sort=descending]", has_text="Task").wait_for()
    down = names.all_inner_texts()
    assert down == sorted(down, reverse=True) and down[0] == "talk"
    cockpit.get_by_role("button", name="In the usual order").click()
    function_row(cockpit, "shard").wait_for()


def test_the_row_of_a_function_says_how_far_it_is_and_opens(page: NotebookPage, cockpit: Any) -> None:
    function_row(cockpit, "shard").get_by_text("10 of 12 · 2 running").wait_for()
    cockpit.get_by_role("button", name="shard", expanded=False).click()
    page.until(lambda: row(cockpit, "shard").count() == 12)
    cockpit.get_by_role("button", name="shard", expanded=True).click()
    page.until(lambda: row(cockpit, "shard").count() == 0)


def test_a_row_has_the_progress_of_its_task_its_stack_and_a_log_that_goes_on_and_is_searched(
    page: NotebookPage, cockpit: Any
) -> None:
    row(cockpit, "talk").get_by_text("30 %").wait_for()
    cockpit.get_by_role("button", name="Stack of talk").click()
    stack = cockpit.get_by_role("region", name="Stack of talk")
    stack.get_by_label("Stack", exact=True).get_by_text("in talk").wait_for()
    assert "cell [" in stack.inner_text()
    cockpit.get_by_role("button", name="Log of talk").click()
    stack.wait_for(state="detached")
    log = cockpit.get_by_role("region", name="Log of talk")
    printed = log.get_by_label("What it has printed")
    printed.get_by_text("epoch 19").wait_for()
    log.get_by_text("live", exact=True).wait_for()
    page.file("talk.may_go_on").touch()
    printed.get_by_text("and the last word").wait_for()
    log.get_by_label("Search the log").fill("EPOCH 1")
    log.get_by_text("11 of 21 lines").wait_for()
    page.until(lambda: all("epoch 1" in line for line in printed.locator("span").all_inner_texts()))
    page.page.keyboard.press("Escape")
    log.wait_for(state="detached")


def test_the_log_of_a_failed_task_begins_with_the_error(cockpit: Any) -> None:
    cockpit.get_by_role("button", name="Log of breaks").click()
    log = cockpit.get_by_role("region", name="Log of breaks")
    log.locator("pre").first.get_by_text("ValueError: this batch is empty").wait_for()
    log.get_by_role("button", name="Close the log").click()
    log.wait_for(state="detached")


def test_a_task_of_a_row_is_cancelled(cockpit: Any) -> None:
    cockpit.get_by_role("button", name="Cancel lonely").click()
    cockpit.get_by_role("status").get_by_text("Cancelled lonely #").wait_for()
    row(cockpit, "lonely").get_by_text("cancelled").wait_for()


def test_an_actor_is_killed_only_after_a_question(page: NotebookPage, cockpit: Any) -> None:
    actors = view(cockpit, "Actors")
    ask = actors.get_by_role("button", name="Kill lasting")
    ask.dblclick()
    actors.get_by_role("button", name="Keep lasting").wait_for()
    page.page.keyboard.press("Escape")
    ask.wait_for()
    page.page.keyboard.press("Enter")
    page.until(lambda: page.page.evaluate(FOCUSED) == "Keep")
    cockpit.get_by_role("status").get_by_text("lasting would lose its state").wait_for()
    actors.get_by_role("row", name="lasting").get_by_text("alive").wait_for()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    cockpit.get_by_role("status").get_by_text("Killed lasting").wait_for()
    ask.wait_for(state="detached")


def test_the_tasks_of_a_cell_are_cancelled(page: NotebookPage, cockpit: Any) -> None:
    cockpit.get_by_role("combobox", name=CELL).select_option("[3]")
    page.until(lambda: cockpit.locator("tr[data-task]").count() == 2)
    cockpit.get_by_role("button", name="Cancel all of these…").click()
    cockpit.get_by_role("button", name="Cancel all of these", exact=True).click()
    cockpit.get_by_role("status").get_by_text("Cancelled 2 tasks").wait_for()
    for number in range(2):
        row(cockpit, f"of_cell_{number}").get_by_text("cancelled").wait_for()


def test_the_tasks_of_a_function_are_cancelled(cockpit: Any) -> None:
    cockpit.get_by_role("button", name="Cancel all grow…").click()
    cockpit.get_by_role("button", name="Cancel all grow", exact=True).click()
    cockpit.get_by_role("status").get_by_text("Cancelled 10 tasks").wait_for()
    function_row(cockpit, "grow").get_by_text("10 cancelled").wait_for()


def test_many_devices_are_tiles_with_a_card_and_a_row(page: NotebookPage, cockpit: Any) -> None:
    devices = view(cockpit, "Devices")
    assert devices.get_by_role("list", name="Devices").get_by_role("button").count() == 10
    tile = devices.get_by_role("button", name=re.compile("^GPU .*: kept"))
    tile.hover()
    devices.locator(".hover").get_by_text("kept").wait_for()
    tile.click()
    devices.get_by_role("row").get_by_role("button", name="Cancel kept on GPU").wait_for()


def test_what_waits_says_why_and_what_failed_is_an_alert(page: NotebookPage, cockpit: Any) -> None:
    waits = view(cockpit, "Waiting").locator("tr[data-task]", has_text="asks_for_all")
    waits.get_by_role("cell", name="10 GPU", exact=True).wait_for()
    waits.get_by_text("kept on GPU").wait_for()
    view(cockpit, "Alerts").get_by_text("this batch is empty").wait_for()
    cockpit.get_by_role("button", name="Show failed tasks").focus()
    page.page.keyboard.press("Enter")
    cockpit.get_by_role("tab", name="Tasks, 1 failed", selected=True).wait_for()
    row(cockpit, "breaks").get_by_text("failed").wait_for()
    assert cockpit.get_by_label("State").input_value() == "failed"


def test_device_seconds_are_counted_for_functions_and_cells(cockpit: Any) -> None:
    accounts = view(cockpit, "Accounting")
    accounts.get_by_role("row", name="hold").or_(accounts.get_by_role("row", name="kept")).first.wait_for()
    accounts.get_by_role("row", name="[2]").first.wait_for()


# A bar moves to the left each second: a short one is not there any more when the pointer comes.
MIDDLE_OF_LONGEST = """bars => {
    const boxes = bars.map(bar => bar.getBoundingClientRect());
    const {x, y, width, height} = boxes.reduce((one, other) => other.width > one.width ? other : one);
    return [x + width / 2, y + height / 2];
}"""


def test_the_timeline_is_moved_by_pointer_and_keys(page: NotebookPage, cockpit: Any) -> None:
    view(cockpit, "Timeline")
    lanes = cockpit.get_by_role("region", name="Timeline")
    picture = lanes.get_by_role("img")
    picture.locator("rect.run").first.wait_for()
    picture.scroll_into_view_if_needed()

    def length() -> str:
        return str(picture.get_attribute("aria-label")).rpartition(" in ")[2]

    def at(share: float) -> tuple[float, float]:
        box = picture.bounding_box()
        return box["x"] + share * box["width"], box["y"] + 30

    page.page.mouse.move(*picture.locator("rect.run").evaluate_all(MIDDLE_OF_LONGEST))
    cockpit.locator(".hover").get_by_text("cell [2]").wait_for()

    assert length() == "1 min"
    page.page.mouse.move(*at(0.4))
    page.page.mouse.down()
    page.page.mouse.move(*at(0.6))
    page.page.mouse.up()
    cockpit.get_by_role("button", name="Follow").wait_for()
    page.until(lambda: length() not in ("1 min", ""))
    page.page.mouse.move(*at(0.5))
    page.page.keyboard.down("Control")
    before = length()
    page.page.mouse.wheel(0, 100)
    page.until(lambda: length() != before)
    page.page.keyboard.up("Control")

    lanes.focus()
    page.page.keyboard.press("0")
    page.until(lambda: length() == "1 min")
    page.page.keyboard.press("+")
    page.until(lambda: length() == "30 s")
    for _ in range(12):  # of six seconds, to a time that has not come and has no bar
        page.page.keyboard.press("ArrowRight")
    picture.locator("rect.run").first.wait_for(state="detached")
    page.page.keyboard.press("-")
    page.until(lambda: length() == "1 min")
    cockpit.get_by_role("button", name="Follow").click()
    cockpit.get_by_role("button", name="Follow").wait_for(state="detached")


# The notices that the browser would show.
NOTICES = """() => {
    window.told = [];
    window.Notification = class { constructor(title) { told.push(title); } static permission = "granted" };
    Notification.requestPermission = async () => "granted";
}"""


def test_the_browser_tells_the_end_of_a_long_task_once_it_is_asked_to(page: NotebookPage, cockpit: Any) -> None:
    page.page.evaluate(NOTICES)
    row(cockpit, "takes_a_minute").get_by_text("running").wait_for()
    cockpit.get_by_role("button", name="Notify me", pressed=False).click()
    cockpit.get_by_role("button", name="Notify me", pressed=True).wait_for()
    cockpit.get_by_role("status").get_by_text("The browser will tell you").wait_for()
    page.file("minute.may_end").touch()
    page.until(lambda: page.page.evaluate("told.length"))
    (told,) = page.page.evaluate("told")
    assert re.fullmatch(r"takes_a_minute #\S+ has finished", told)
    cockpit.get_by_role("button", name="Notify me", pressed=True).click()
    cockpit.get_by_role("button", name="Notify me", pressed=False).wait_for()


HOLDS = """
import time
import nbaccel as ray

@ray.remote(num_gpus=1)
def hold():
    time.sleep(600)

held = hold.remote()
"""


@FRONT_ENDS
def test_measured_devices_have_lines_of_the_last_two_minutes(
    opened: Callable[..., Any], nvml: FakeNvml, classic: bool
) -> None:
    cards = [Gpu(f"GPU-00000000-0000-4000-8000-00000000000{number}", util=33 + 15 * number) for number in range(2)]
    nvml.has(*cards)
    driver = nvml.environment(NBACCEL_MACHINE_ROOT=str(nvml.root), NBACCEL_DETECTION_TIMEOUT_S="600")
    start = f"import os\nos.environ.update({driver!r})\n%load_ext nbaccel\n%accel_init num_cpus=1"
    page = opened(start, HOLDS, "%accel_dashboard", classic=classic).run_all()
    devices = view(page.cockpit(1), "Devices")
    first, second = (devices.locator(f'tr[data-device="GPU {number}"]') for number in range(2))
    first.get_by_text("33 %").wait_for()
    for words in ("1 GiB of 40 GiB", "123 W"):
        first.get_by_text(words).wait_for()
    first.get_by_title("utilisation: between 33 % and 33 % in the last two minutes").wait_for()
    cards[0].util = 90
    nvml.has(*cards)
    first.get_by_title("utilisation: between 33 % and 90 % in the last two minutes").wait_for()
    assert first.get_by_role("meter", name="GPU 0 utilisation").locator("path.area").count() == 1
    assert first.locator("svg.spark").count() == second.locator("svg.spark").count() == 3  # load, memory, power
    first.locator(".holders").get_by_text("hold", exact=True).wait_for()
    second.get_by_text("48 %").wait_for()


WAITS = """
import time
import nbaccel as ray

@ray.remote(num_gpus=1, max_retries=0)
def hold():
    time.sleep(600)

running = [hold.options(name=f"running_{number}").remote() for number in range(2)]
waiting = [hold.options(name=f"waiting_{number}").remote() for number in range(3)]
print("all are", "submitted", flush=True)
ray.wait(running, num_returns=2)
"""


@FRONT_ENDS
def test_all_that_wait_are_cancelled_and_stop_says_what_it_did(opened: Callable[..., Any], classic: bool) -> None:
    page = opened("%load_ext nbaccel\n%accel_init num_cpus=8 num_gpus=2", WAITS, classic=classic).run_all()
    page.output("all are submitted")
    cockpit = page.cockpit()
    cockpit.get_by_text("2 running · 3 waiting").wait_for()
    cockpit.get_by_role("button", name="Details").click()
    view(cockpit, "Waiting")
    cockpit.get_by_role("button", name="Cancel all that wait…").click()
    cockpit.get_by_role("button", name="Cancel all that wait", exact=True).click()
    cockpit.get_by_role("status").get_by_text("Cancelled 3 tasks").wait_for()
    cockpit.get_by_text("2 running · 3 cancelled").wait_for()
    cockpit.get_by_text("Nothing waits.").wait_for()
    assert page.is_busy
    page.menu("Kernel", "Interrupt Kernel")
    page.output("Stopped: 2 tasks cancelled.")
    cockpit.get_by_text("5 cancelled").wait_for()
