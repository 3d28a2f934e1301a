"""A crowded panel: many devices with the processes of others, two notebooks, a training run, long names, what waits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_panel import START, assert_accessible, holders, holding

MANY = "%load_ext nbaccel\n%accel_init num_cpus=16 simulate=nvidia:8xH100"
LONG = "train_the_large_model_on_all_shards_again"
BUSY = f"""
import time
import nbaccel as ray

@ray.remote(num_gpus=1, num_cpus=0)
def {LONG}(seconds):
    time.sleep(seconds)

@ray.remote(num_gpus=0.5, num_cpus=0)
def evaluate(seconds):
    time.sleep(seconds)

@ray.remote(num_gpus=1, num_cpus=0)
class Retriever:
    def is_ready(self):
        return True

retriever = Retriever.remote()
assert ray.get(retriever.is_ready.remote())
refs = [{LONG}.remote(3600) for _ in range(2)] + [evaluate.remote(3600) for _ in range(2)]
refs += [{LONG}.options(num_gpus=6).remote(3600) for _ in range(3)]
refs.append(evaluate.options(num_gpus=16, name="too_big").remote(1))
"""
RUN = """
import os
from nbaccel import train
from nbaccel.train import RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

def train_func(config):
    for epoch in range(8):
        train.report({"epoch": epoch, "loss": 2 / 3**epoch})
    while not os.path.exists(config["end"]):
        time.sleep(0.05)

trainer = DataParallelTrainer(
    train_func,
    train_loop_config={"epochs": 20, "end": os.path.abspath("run.may_end")},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    run_config=RunConfig(name="mnist", storage_path=os.path.abspath("runs")),
)
result = trainer.fit()
"""
GIB = 1 << 30
MODEL = "NVIDIA H100 80GB HBM3"
# What sticks out of the panel to the right, or is wider than its box and cannot be scrolled.
STICKS_OUT = """panel => {
    const right = panel.getBoundingClientRect().right + 0.5;
    const found = [...panel.querySelectorAll('*')].filter(each => !each.closest('.scroll, .unseen, svg, style')
        && each.getBoundingClientRect().width && each.getBoundingClientRect().right > right);
    return found.map(each => each.outerHTML.slice(0, 200));
}"""


@pytest.fixture
def of_another_user() -> Iterator[int]:
    """A process of another user, where this one may start any; else a process that cannot be seen."""
    if os.getuid():
        yield 2**22 + 1
        return
    folder = Path(tempfile.mkdtemp(prefix="nb"))
    folder.chmod(0o755)
    program = shutil.copy(shutil.which("sleep") or "", folder / "train_llm")
    with subprocess.Popen([program, "3600"], user="nobody") as process:
        yield process.pid
        process.kill()
    shutil.rmtree(folder)


def devices(other: int) -> list[dict[str, Any]]:
    """Eight devices; another user's process is on two of them."""
    made = []
    for number in range(8):
        free = number > 5
        processes = [] if free else [[other if number in (2, 3) else os.getpid(), (12 + 5 * number) * GIB]]
        used = sum(size for _, size in processes)
        facts = {"name": MODEL, "load": 0 if free else 97 - 13 * number, "watts": 512, "celsius": 61}
        made.append({**facts, "used": used, "total": 80 * GIB, "processes": processes})
    return made


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_crowded_panel_holds_all_that_is_in_it(
    opened: Callable[..., Any], servers: Callable[..., Any], of_another_user: int, dark: bool
) -> None:
    servers(panel=True, machine=True, dark=dark).have_devices(devices(of_another_user))
    look: dict[str, Any] = {"panel": True, "machine": True, "dark": dark}
    other = opened(START, holding("left"), **look).run_all()
    page = opened(MANY, BUSY, RUN, **look).run_all()
    panel = page.open_panel()
    ours = panel.locator(".nbaccel-runtime", has_text=page.name)
    theirs = panel.locator(".nbaccel-runtime", has_text=other.name)
    page.until(lambda: holders(theirs) == ["left"])
    ours.get_by_text("mnist").first.wait_for()
    ours.get_by_text("8 reports").first.wait_for()
    page.until(lambda: holders(ours).count(LONG) == 2 and holders(ours).count("evaluate") == 2)
    ours.get_by_text(f"{LONG} waits").wait_for()
    ours.get_by_text("too_big").first.wait_for()

    machine = panel.get_by_role("region", name="Devices of this machine")
    machine.locator(".devices > li").nth(7).wait_for()  # they come from the sampler, and not with a snapshot
    assert machine.locator(".devices > li").count() == 8
    assert machine.get_by_text(f"8 × {MODEL}").count() == 1
    assert machine.get_by_role("meter", name="GPU 1 load").get_attribute("aria-valuetext") == "84 %"
    assert machine.get_by_role("meter", name="GPU 1 memory").get_attribute("aria-valuetext") == "17 / 80 GiB"
    assert machine.locator(".other", has_text=f"pid {of_another_user}").count() == 2
    assert machine.locator(".other .chip").first.inner_text() == ("another user's" if os.getuid() else "of nobody")

    page.screenshot("panel-crowded-dark" if dark else "panel-crowded", page.page)
    item = page.page.locator(".nbaccel-status")
    page.until(lambda: re.fullmatch(r"GPU 12/16 · \d+ % · \d+ running\s+⚠ \d+", item.inner_text().strip()))
    assert not panel.evaluate(STICKS_OUT)
    assert_accessible(page, ".nbaccel-panel")
    ours.get_by_role("button", name="Details").click()
    for tab in ours.get_by_role("tab").all():
        tab.click()
        assert not panel.evaluate(STICKS_OUT), tab.inner_text()
    ours.get_by_role("tab", name="Waiting").click()
    waiting = ours.locator("tr:has(td.why)")
    why = waiting.filter(has_text="6 GPU", has_not_text="too_big").locator(".why").inner_text()
    held = why.partition("the rest is held by ")[2]  # by whoever has run the longest first: they start at the same time
    assert f"{LONG} × 2 on GPU " in held and "evaluate × 2 on GPU " in held, why
    assert waiting.filter(has_text="too_big").locator(".why").inner_text() == "never: see Alerts"
    ours.get_by_role("tab", name="Runs").click()
    ours.get_by_role("button", name="Stop mnist").first.click()
    ours.get_by_text("stopping").first.wait_for()
    panel.get_by_role("button", name=f"Go to {other.name}").click()
    theirs.get_by_text("this notebook").wait_for()
    page.file("run.may_end").touch()
    assert not page.refused


def test_a_device_that_is_lost_says_so_beside_the_others(
    opened: Callable[..., Any], servers: Callable[..., Any]
) -> None:
    servers(panel=True, machine=True, dark=False).have_devices([{"lost": "GPU is lost <b>"}, devices(1)[7]])
    page = opened("", panel=True, machine=True)
    machine = page.open_panel().get_by_role("region", name="Devices of this machine")
    machine.get_by_text("not to be reached: GPU is lost <b>").wait_for()
    machine.get_by_role("meter", name="GPU 1 memory").wait_for()
    machine.get_by_text(f"1 × {MODEL}").wait_for()
    page.until(lambda: page.page.locator(".nbaccel-status button").inner_text().startswith("GPU 0/1"))
    page.server.have_devices([])
    machine.get_by_text("Start a head to see devices of other vendors.").wait_for()
    page.page.goto(page.server.url("nbaccel/"))
    page.page.get_by_text("Start a head to see devices of other vendors.").wait_for()
    page.server.have_devices([{"lost": "GPU is lost <b>"}])
    page.page.get_by_text("not to be reached: GPU is lost <b>").wait_for()
    assert not page.refused


SEARCH = """
from nbaccel import tune

@ray.remote(num_cpus=0, max_retries=0)
def broken():
    raise ValueError("no data")

bad = broken.remote()

def objective(config):
    for step in range(8):
        tune.report({"loss": config["learning_rate"] / (step + 1)})

space = {"learning_rate": tune.grid_search([0.0001, 0.001, 0.01]), "width_of_the_hidden_layers": tune.choice([64, 128])}
found = tune.Tuner(
    tune.with_resources(objective, {"cpu": 1}),
    param_space=space,
    tune_config=tune.TuneConfig(metric="loss", mode="min"),
    run_config=tune.RunConfig(name="search", storage_path=os.path.abspath("runs")),
).fit()
"""
# Texts that are drawn over each other; and the lowest of the letters, in pixels.
OVERLAP = """panel => {
    const texts = [...panel.querySelectorAll('.curve figcaption > *, .curve text:not(.star), .axis text')];
    const boxes = texts.filter(each => each.textContent).map(each => [each, each.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], index) => boxes.slice(index + 1).filter(([other, b]) =>
        a.width && b.width && one.ownerSVGElement === other.ownerSVGElement
        && a.left + 1 < b.right && b.left + 1 < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)
        .map(([other]) => `${one.textContent} | ${other.textContent}`));
}"""
LOWEST = (
    "panel => Math.min(...[...panel.querySelectorAll('.curve text')].map(each => each.getBoundingClientRect().height))"
)
TOPS = "counts => counts.map(each => each.getBoundingClientRect().top)"


def test_a_narrow_panel_can_be_read(opened: Callable[..., Any]) -> None:
    page = opened(
        "%load_ext nbaccel\n%accel_init num_cpus=3 num_gpus=2", holding("one", "two", "three"), SEARCH, panel=True
    )
    panel = page.open_panel()
    page.run_all()
    runtime = panel.locator(".nbaccel-runtime", has_text=page.name)
    for words in ("1 waiting", "1 failed", "finished"):  # signs stand for the words of the first line
        runtime.get_by_role("button", name=words).first.wait_for()
    runtime.locator(".alerts li").wait_for()
    assert panel.bounding_box()["width"] == 320
    running, waiting = runtime.locator(".first .count").evaluate_all(TOPS)[:2]
    assert running == waiting, "they stand beside each other"
    runtime.get_by_role("button", name="Details").click()
    runtime.get_by_role("tab", name="Timeline").click()
    runtime.locator(".axis text").first.wait_for()
    assert panel.evaluate(OVERLAP) == []
    runtime.get_by_role("tab", name="Runs").click()
    runtime.get_by_text("Parameters", exact=True).wait_for()
    assert panel.evaluate(OVERLAP) == [] and panel.evaluate(LOWEST) >= 9
    value = runtime.locator("tr[data-trial] td[data-head=loss]").first
    assert "loss" in value.evaluate("cell => getComputedStyle(cell, '::before').content")
    assert not panel.evaluate(STICKS_OUT)
    assert not page.refused
