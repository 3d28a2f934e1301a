"""Training runs in a real notebook: the Runs view draws what the ranks report, and Stop works while the cell runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.test_looks import AXE

START = "%load_ext nbaccel\n%accel_init num_cpus=4 num_gpus=2"
# Twelve reports of two metrics and four checkpoints; then the function goes on until it is interrupted.
RUN = """
import os, time
from nbaccel import train
from nbaccel.train import Checkpoint, CheckpointConfig, RunConfig, ScalingConfig
from nbaccel.train.data_parallel_trainer import DataParallelTrainer

def train_func(config):
    for epoch in range(12):
        best = epoch == 7
        metrics = {"epoch": epoch, "loss": 2 / 3**epoch, "accuracy": 0.9 if best else epoch / 15}
        save = epoch % 3 == 1 and train.get_context().get_world_rank() == 0
        train.report(metrics, checkpoint=Checkpoint.save({"epoch": epoch}) if save else None)
    while True:
        time.sleep(0.05)

trainer = DataParallelTrainer(
    train_func,
    train_loop_config={"epochs": 20},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),
    run_config=RunConfig(
        name="mnist",
        storage_path=STORAGE,
        checkpoint_config=CheckpointConfig(checkpoint_score_attribute="accuracy"),
    ),
)
"""
FIT = "result = trainer.fit()\nprint('the result says stopped:', result.stopped)"


def _runs(page: Any, number: int = 1) -> Any:
    """The Runs view of the cockpit at this place, opened."""
    cockpit = page.cockpit(number)
    cockpit.get_by_role("tab", name="Runs").click()
    view = cockpit.get_by_role("tabpanel", name="Runs")
    view.wait_for()
    return view


def _under_way(page: Any) -> Any:
    """The Runs view of a run that has reported all that it will, while its cell runs."""
    view = _runs(page)
    view.get_by_text("12 reports").wait_for()
    view.get_by_text("4 checkpoints, best checkpoint_000007").wait_for()
    assert page.is_busy
    return view


def _serious(page: Any, within: str) -> list[Any]:
    page.page.evaluate(AXE.read_text())
    found = page.page.evaluate(f"() => axe.run('{within}', {{resultTypes: ['violations']}})")
    return [
        (each["id"], [node["html"][:200] for node in each["nodes"]], each["nodes"][0]["failureSummary"])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]


@pytest.fixture
def run() -> Iterator[str]:
    """The cell that makes the trainer, whose results are in a folder of their own with a short name."""
    with tempfile.TemporaryDirectory(prefix="results-") as folder:
        yield RUN.replace("STORAGE", repr(folder))


@pytest.mark.parametrize("front", [{"dark": True}, {"classic": True}], ids=["dark lab", "notebook 7"])
def test_the_view_shows_a_run_and_its_stop_works_while_the_cell_runs(
    opened: Callable[..., Any], run: str, front: dict[str, bool]
) -> None:
    page = opened(START, "%accel_dashboard", run, FIT, **front).run_all()
    view = _under_way(page)
    said = " ".join(view.text_content().split())
    for words in ("12 of 20 epochs", "2 workers on GPU", "rank 0 ● running", "rank 1 ● running"):
        assert words in said, words
    assert 'nbaccel.train.Checkpoint("' in view.locator("code").text_content()
    labels = view.get_by_role("img").evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
    assert [label.split(":")[0] for label in labels] == ["loss over 12 reports", "accuracy over 12 reports"]
    assert all("4 checkpoints, the best one at report 7" in label for label in labels)
    assert view.locator(".star").count() == 2
    assert "mnist" in page.cockpit(0).locator(".runs").inner_text(), "the compact form has a line for it"
    theme = "-dark" if front.get("dark") else ""
    page.screenshot(f"training-runs{theme}", page.cockpit(1))
    # The card under the cell of fit, whose saved form is plain HTML. The page may let go of the first, far away.
    card = page.page.locator(".nbaccel-cockpit").last
    page.screenshot(f"training-card{theme}", card)
    if AXE.exists():
        assert _serious(page, ".nbaccel-cockpit") == []
    _assert_it_fits_a_narrow_page(page)

    card.get_by_role("button", name="Stop mnist").click()
    view.get_by_text("stopping").wait_for()
    view.get_by_role("button", name="Interrupt mnist").click()
    page.output("the result says stopped: True")
    view.locator(".head .state.stopped").wait_for()
    assert not page.refused


def _assert_it_fits_a_narrow_page(page: Any) -> None:
    """Nothing is wider than 480 pixels, and with forced colours a curve is still told from its ground."""
    root = page.cockpit(1)
    root.evaluate("root => root.style.width = '480px'")
    assert root.evaluate("root => root.scrollWidth <= root.clientWidth + 1")
    widths = root.locator(".curve svg").evaluate_all("all => all.map(each => each.getBoundingClientRect().width)")
    assert len(widths) == 2 and min(widths) >= 200, widths
    page.screenshot("training-runs-narrow", root)
    page.page.emulate_media(forced_colors="active")
    drawn = root.locator(".curve-line").first.evaluate("line => getComputedStyle(line).stroke")
    assert drawn != root.evaluate("root => getComputedStyle(root).backgroundColor")
    page.screenshot("training-runs-forced", root)
    page.page.emulate_media(forced_colors="none")
    root.evaluate("root => root.style.width = ''")


def test_a_run_is_read_in_a_saved_notebook_without_its_kernel(opened: Callable[..., Any], run: str) -> None:
    page = opened(START, run.replace("while True:", "while False:"), FIT).run_all()
    page.output("the result says stopped: False")
    text = page.save("marked ★")
    assert "application/vnd.jupyter.widget-view+json" not in text
    page.end_kernel()
    again = opened(text=text)
    card = again.page.locator(".jp-CodeCell").nth(2).locator(".nbaccel").first
    card.get_by_text("finished").first.wait_for()
    assert "Load the best one:" in card.inner_text()
    assert card.get_by_role("img").count() == 2
