"""The cockpit in real JupyterLab and Notebook 7: what it shows is what the tasks say, and its buttons work."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.census import Place

START = "%load_ext nbaccel\n%accel_init num_cpus=4 num_gpus=2"
JOIN = "%load_ext nbaccel\n%accel_init shared=true"
# A task that says which device it has and as which process, and goes on until it may end.
HOLD = """
import os, time
import nbaccel as ray

@ray.remote(num_gpus=1, max_retries=0)
def hold(name, folder=os.getcwd()):
    ids = ray.get_runtime_context().get_accelerator_ids()["GPU"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ",".join(ids)
    print(f"{name} has GPU {ids[0]} as pid {os.getpid()}", flush=True)
    while not os.path.exists(os.path.join(folder, f"{name}.may_end")):
        time.sleep(0.02)
    return ids

def held(*names):
    return [hold.options(name=name).remote(name) for name in names]
"""
SAID = re.compile(r"(\w+) has (GPU \d) as pid (\d+)")
# The row of a task whose line of reasons, the row below, contains {}.
WITH_REASON = 'tr[data-task]:has(+ tr.reason:has-text("{}"))'


def said(page: Any, number: int) -> dict[str, tuple[str, int]]:
    """What the tasks printed: {"alpha": ("GPU 0", pid)}, once so many have."""
    page.until(lambda: len(set(SAID.findall(page.printed()))) >= number)
    return {name: (device, int(pid)) for name, device, pid in SAID.findall(page.printed())}


@pytest.mark.parametrize("classic", [False, True], ids=["lab", "notebook7"])
def test_rows_show_the_ids_that_tasks_printed_also_after_a_kill(opened: Callable[..., Any], classic: bool) -> None:
    a, b = ("alpha", "beta") if classic else ("gamma", "delta")
    page = opened(START, HOLD + f"refs = held({a!r}, {b!r})", "%accel_dashboard", classic=classic).run_all()
    facts = said(page, 2)
    page.until(lambda: page.holders(1) == {facts[a][0]: a, facts[b][0]: b})
    page.until(lambda: page.holders(0) == page.holders(1))  # the card and the dashboard
    page.until(lambda: page.cockpit(0).get_by_text("cell [2]").count() == 2)

    os.kill(facts[a][1], signal.SIGKILL)
    page.until(lambda: page.holders(1) == {facts[a][0]: "", facts[b][0]: b})
    page.file(f"{b}.may_end").touch()
    page.until(lambda: set(page.holders(1).values()) == {""})

    page.cockpit(1).get_by_role("tab", name="Tasks").click()
    rows = page.cockpit(1).locator("tr[data-task]")
    failed, finished = rows.filter(has_text=a).inner_text(), rows.filter(has_text=b).inner_text()
    assert "failed" in failed and facts[a][0] in failed
    assert a in page.cockpit(1).locator(WITH_REASON.format("SIGKILL")).inner_text()
    assert "finished" in finished and facts[b][0] in finished
    assert not page.refused


def test_on_ray_rows_show_the_same_and_cancel_works(opened: Callable[..., Any]) -> None:
    pytest.importorskip("ray")
    page = opened(f"{START} engine=ray", HOLD + "refs = held('left', 'right')", "%accel_dashboard").run_all()
    facts = said(page, 2)
    page.until(lambda: page.holders(1) == {facts["left"][0]: "left", facts["right"][0]: "right"})
    page.until(lambda: page.holders(0) == page.holders(1))
    page.until(lambda: page.cockpit(1).get_by_text("cell [2]").count() == 2)

    device = facts["left"][0]
    page.cockpit(1).get_by_role("button", name=f"Cancel left on {device}").click()
    page.until(lambda: page.holders(1) == {device: "", facts["right"][0]: "right"})
    page.file("right.may_end").touch()
    page.until(lambda: set(page.holders(1).values()) == {""})
    assert not page.refused


FAILS_ONCE = """
import os, tempfile
import nbaccel as ray
tried = os.path.join(tempfile.mkdtemp(), "tried")

@ray.remote(max_retries=0)
def fails_once(values):
    if not os.path.exists(tried):
        open(tried, "w").close()
        raise ValueError("not yet")
    return sum(values)

ref = fails_once.remote([1, 2, 3])
ray.wait([ref])
"""
TALL = "print('one line\\n' * 80)"
IN_SIGHT = """prompt => [...document.querySelectorAll('.jp-InputPrompt')].some(each => {
    const { top, bottom } = each.getBoundingClientRect();
    return each.innerText === prompt && top >= 0 && bottom <= window.innerHeight;
})"""


@pytest.mark.parametrize("classic", [False, True], ids=["lab", "notebook7"])
def test_a_failed_task_is_retried_and_leads_to_its_cell(opened: Callable[..., Any], classic: bool) -> None:
    page = opened(START, FAILS_ONCE, TALL, TALL, "%accel_dashboard", classic=classic).run_all()
    cockpit = page.page.locator(".nbaccel-cockpit:has([role=tab])")  # the page has let go of the card: it is far away
    cockpit.get_by_role("tab", name="Tasks").click()
    cockpit.get_by_role("button", name="Retry fails_once").click()
    cockpit.get_by_role("status").filter(has_text="Retried fails_once #").wait_for()
    again = cockpit.locator(WITH_REASON.format("retry of #"))
    again.filter(has_text="finished").wait_for()
    assert cockpit.locator("tr[data-task]", has_text="failed").count() == 1, "the old task stays as it was"
    assert not page.page.evaluate(IN_SIGHT, "[2]:")
    again.get_by_role("button", name="[2]").click()
    page.page.wait_for_function(IN_SIGHT, arg="[2]:")


@pytest.mark.parametrize("busy", ["time.sleep(600)", "while True: pass"], ids=["sleeps", "spins"])
def test_cancel_works_while_the_cell_is_busy(opened: Callable[..., Any], busy: str) -> None:
    name = "sleeper" if "sleep" in busy else "spinner"
    page = opened(START, HOLD + f"refs = held({name!r})", busy).run_all()
    device, _pid = said(page, 1)[name]
    page.until(lambda: page.holders().get(device) == name)
    assert page.is_busy
    page.cockpit().get_by_role("button", name="Details").click()
    page.cockpit().get_by_role("button", name=f"Cancel {name} on {device}").click()
    page.until(lambda: page.holders()[device] == "")
    assert page.is_busy, "the cell itself goes on"


def test_a_reloaded_page_shows_what_is(opened: Callable[..., Any]) -> None:
    page = opened(START, HOLD + "refs = held('long')").run_all()
    device, _pid = said(page, 1)["long"]
    page.until(lambda: page.holders().get(device) == "long")
    page.reload()
    page.until(lambda: page.holders().get(device) == "long")
    page.file("long.may_end").touch()
    page.until(lambda: page.holders()[device] == "")


def test_five_hundred_tasks_are_counted_asked_for_and_filtered(opened: Callable[..., Any]) -> None:
    submit = "refs = held('first', 'second') + [hold.options(name=f'many_{i}').remote('x') for i in range(498)]"
    page = opened(START, HOLD + submit, "%accel_dashboard").run_all()
    said(page, 2)
    cockpit = page.cockpit(1)
    cockpit.get_by_text("2 running · 498 waiting").wait_for()
    cockpit.get_by_role("tab", name="Tasks").click()
    cockpit.get_by_text("0 of 500 · 2 running · 498 waiting").wait_for()  # of all, though few rows are here
    cockpit.get_by_role("button", name="hold", expanded=False).click()
    page.until(lambda: cockpit.locator("tr[data-task]").count() > 10)
    region = cockpit.get_by_role("region", name="Tasks")
    region.evaluate("region => region.scrollTop = region.scrollHeight")  # what comes into view is asked for
    page.until(lambda: any(row.startswith("many_0\n") for row in cockpit.locator("tr[data-task]").all_inner_texts()))
    # Beyond the twenty waiting tasks of a snapshot: the kernel filters, of all that the engine knows.
    cockpit.get_by_label("Text").fill("many_497")
    page.until(lambda: ["many_497" in row for row in cockpit.locator("tr[data-task]").all_inner_texts()] == [True])
    cockpit.get_by_label("Text").fill("")
    cockpit.get_by_label("State").select_option("running")
    page.until(lambda: cockpit.locator("tr[data-task]").count() == 2)
    cockpit.get_by_role("tab", name="Waiting").click()
    cockpit.get_by_role("button", name="Cancel all that wait…").click()
    cockpit.get_by_role("button", name="Cancel all that wait", exact=True).click()
    cockpit.get_by_text("Cancelled 498 tasks.").wait_for()
    cockpit.get_by_text("498 cancelled").wait_for()


# Another notebook's kernel. Its two tasks hold the only GPU; it says how they have ended.
STRANGER = """
import sys, time
import nbaccel as ray

ray.init(address="auto")

@ray.remote(num_gpus=0.5, max_retries=0)
def hold():
    time.sleep(600)

kept, ended = hold.options(name="kept").remote(), hold.options(name="ended").remote()
try:
    ray.get(ended)
except ray.exceptions.TaskCancelledError:
    print("ended was cancelled,", "kept runs" if ray.wait([kept], timeout=0)[1] else "kept as well", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def stranger(place: Place) -> Iterator[subprocess.Popen[str]]:
    """Another notebook on a shared head of two CPUs and one GPU."""
    assert place.command("start", "--head", "--num-cpus=2", "--num-gpus=1").returncode == 0
    process = place.start(STRANGER, JPY_SESSION_NAME="stranger.ipynb")
    yield process
    process.communicate()
    place.command("stop", "--all", "--force")


def test_a_task_of_another_notebook_is_cancelled_only_after_a_question(
    stranger: subprocess.Popen[str], place: Place, opened: Callable[..., Any]
) -> None:
    page = opened(
        f"import os\nos.environ['JUPYTER_RUNTIME_DIR'] = {place.environ['JUPYTER_RUNTIME_DIR']!r}\n{JOIN}"
    ).run_all()
    cockpit = page.cockpit()
    page.until(lambda: page.holders() == {"GPU 0": "kept ended"})
    cockpit.get_by_role("button", name="Details").click()
    ask = cockpit.get_by_role("button", name="Cancel kept on GPU 0 of stranger.ipynb")
    ask.click()
    cockpit.get_by_role("button", name="Keep kept of stranger.ipynb").click()
    ask.wait_for()
    cockpit.get_by_role("button", name="Cancel ended on GPU 0 of stranger.ipynb").click()
    cockpit.get_by_role("button", name="Cancel it: ended of stranger.ipynb").click()
    page.until(lambda: page.holders() == {"GPU 0": "kept"})
    assert stranger.stdout is not None
    ended = next(line for line in stranger.stdout if line.startswith("ended"))
    assert ended == "ended was cancelled, kept runs\n"


def test_the_keyboard_alone_suffices(opened: Callable[..., Any]) -> None:
    page = opened(START, HOLD + "refs = held('keys')").run_all()
    device, _pid = said(page, 1)["keys"]
    page.until(lambda: page.holders().get(device) == "keys")

    def focused() -> str:
        words = "focus.getAttribute('aria-label') ?? focus.textContent"
        inside = "focus.closest('.nbaccel-cockpit')"
        read = f"() => {{ const focus = document.activeElement; return {inside} ? {words} : '' }}"
        return str(page.page.evaluate(read))

    def tab_to(words: str) -> None:
        for _ in range(200):
            if focused().startswith(words):
                return
            page.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never came to {words!r}")

    page.cockpit().locator("button").first.focus()
    tab_to("Details")
    page.page.keyboard.press("Enter")
    page.cockpit().get_by_role("tablist").wait_for()
    tab_to("Devices")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("ArrowRight")
    page.until(lambda: focused() == "Tasks")
    tab_to("Cancel keys")
    page.page.keyboard.press("Enter")
    page.cockpit().locator("tr[data-task]", has_text="cancelled").wait_for()
    assert page.page.locator(".jp-Notebook .jp-Cell").count() == 2, "no key reached the notebook's own commands"


def test_nothing_is_sent_to_a_tab_that_is_hidden(opened: Callable[..., Any]) -> None:
    churn = """
import threading
@ray.remote(num_gpus=1)
def short(): pass
def run():
    while True:
        ray.get(short.remote())
        time.sleep(0.1)
threading.Thread(target=run, daemon=True).start()
"""
    page = opened(START, HOLD + churn).run_all()
    page.until(lambda: page.messages("comm_msg") > 5)
    page.menu("File", "New Launcher")
    page.page.locator(".jp-Launcher").wait_for()
    before = page.until_quiet(lambda: page.messages("comm_msg"), 5.0)  # what was on its way arrives first
    page.page.locator(".lm-TabBar-tab", has_text=page.name).first.click()
    page.until(lambda: page.messages("comm_msg") > before)


def test_sixty_idle_seconds_with_a_view_in_sight_are_silent(opened: Callable[..., Any]) -> None:
    page = opened(START, "%accel_dashboard")
    page.page.clock.install()
    page.run_all()
    page.cockpit(1).get_by_text("0 of 2 GPUs busy").wait_for()
    before = page.until_quiet(lambda: len(page.frames), 8.0)  # what was on its way arrives first
    page.page.clock.run_for(60_000)  # of the page; the kernel has had eight
    page.page.wait_for_timeout(1000)
    assert len(page.frames) == before, page.frames[before:][:3]


def test_a_shut_down_cluster_leaves_its_last_card_and_a_new_one_has_its_own(opened: Callable[..., Any]) -> None:
    run = HOLD + "refs = held('one', 'two', 'three')\ninput()"
    page = opened(START, run, "%accel_shutdown", "%accel_init num_gpus=3 num_cpus=1").run_all()
    page.cockpit().get_by_text("2 running · 1 waiting").wait_for()
    page.page.locator(".jp-Stdin-input").press("Enter")
    page.cockpit().get_by_text("0 of 3 GPUs busy").wait_for()
    page.until(lambda: page.page.locator(".nbaccel-cockpit").count() == 1)
    last = page.page.locator(".jp-CodeCell").nth(0).locator(".nbaccel")
    last.get_by_text("Shut down at").first.wait_for()
    assert "3 ended with it" in last.inner_text()
    assert "running" not in last.inner_text() and last.locator("button").count() == 0


def test_a_cluster_that_ends_while_its_card_is_out_of_sight_is_not_shown_alive(opened: Callable[..., Any]) -> None:
    far = "print('\\n' * 400)"
    page = opened(START, HOLD + "refs = held('far')", far, "import nbaccel\nnbaccel.shutdown()\nprint('it is', 'over')")
    page.run_all().output("it is over")
    last = page.page.locator(".jp-CodeCell").nth(0).locator(".nbaccel")
    last.get_by_text("Shut down at").first.wait_for(state="attached")
    last.scroll_into_view_if_needed()
    assert "1 ended with it" in last.inner_text()
    page.until(lambda: page.page.locator(".nbaccel-cockpit").count() == 0)


def test_a_view_whose_kernel_has_gone_says_so(opened: Callable[..., Any]) -> None:
    page = opened(START, HOLD + "refs = held('orphan')").run_all()
    device, _pid = said(page, 1)["orphan"]
    page.until(lambda: page.holders().get(device) == "orphan")
    page.menu("Kernel", "Restart Kernel…")
    page.cockpit().get_by_text("the kernel has gone").wait_for()
    assert page.cockpit().get_by_role("button", name="Cancel").count() == 0


def test_a_hostile_name_stays_text(opened: Callable[..., Any]) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    page = opened(START, HOLD + f"ref = hold.options(name={hostile!r}).remote('bad')").run_all()
    said(page, 1)
    page.cockpit().get_by_text(hostile).first.wait_for()
    assert page.cockpit().locator("img").count() == 0
