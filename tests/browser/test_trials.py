"""The trials of an experiment: drawn by itself with a thousand of them, and in a real notebook while its cell runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.loose import LoosePage
from tests.browser.test_drawing import _SIDEWAYS, NOW, cluster
from tests.browser.test_looks import AXE
from tests.browser.test_runs import START, _runs, _serious

EXPERIMENT = {
    "id": "experiment-1", "name": "search", "path": "/runs/search", "hue": 2, "state": "running", "started_at": NOW,
    "counts": {"running": 998, "error": 2}, "total": 1000, "metric": "loss", "shown": "loss", "mode": "min",
    "best": {"id": "ab_00000", "value": 0.0, "config": {"lr": "0"}},
}  # fmt: skip


def answer(first: int, last: int, **changed: Any) -> dict[str, Any]:
    """The rows of these trials; two of each hundred have failed."""
    curve = {"first": 0, "last": 19, "low": 0.1, "high": 2.0, "letters": "/0wsokgcYUQMIFDCBBAA"}
    rows = {
        f"ab_{number:05}": {
            "number": number, "state": "running", "config": {"lr": number / 1000, "kind": f"kind {number % 3}"},
            "value": number / 7, "reports": 20, "curve": curve, "devices": {"GPU": [str(number % 8)]}, "pid": 100,
            "started_at": NOW, **changed,
        }
        for number in range(first, last)
    }  # fmt: skip
    return {"seq": last, "pause_s": 0.0 if last < 1000 else 1.0, "total": 1000, "rows": rows}


def shown(loose: Callable[..., LoosePage], **options: Any) -> LoosePage:
    """The Runs view of an experiment of a thousand trials, all of which have arrived."""
    page = loose(cluster(), runs={"experiments": [EXPERIMENT]}, **options)
    page.root.get_by_role("tab", name="Runs").click()
    for first in range(0, 1000, 250):
        page.page.wait_for_function(
            "first => asked.some(each => each.ask === 'rows' && each.since === first)", arg=first
        )
        page.recall("rows", answer(first, first + 250))
    page.root.locator("tr[data-trial=ab_00000]").wait_for()
    return page


def test_of_a_thousand_trials_those_in_sight_are_drawn(loose: Callable[..., LoosePage]) -> None:
    page = shown(loose)
    region = page.root.get_by_role("region", name="Trials of search")
    assert region.locator("table").get_attribute("aria-rowcount") == "1001"
    assert page.root.locator("tr[data-trial]").count() < 60
    shadow = page.root.locator("td.trend").first.evaluate("cell => getComputedStyle(cell).boxShadow")
    assert shadow == "none", "below a row there is one line"
    region.evaluate("region => { region.scrollTop = region.scrollHeight; }")
    page.root.locator("tr[data-trial=ab_00999]").wait_for()
    assert page.root.locator("tr[data-trial]").count() < 60
    label = page.root.locator("figure.wide svg").get_attribute("aria-label")
    assert label is not None and label.startswith("loss over 20 reports of 300 trials, the best in front: 00000")


def test_stop_of_a_trial_names_it_and_a_config_is_copied(loose: Callable[..., LoosePage]) -> None:
    page = shown(loose)
    page.page.evaluate("answered()")  # a kernel that is busy is said to be, in the place of what has been copied
    page.root.get_by_role("button", name="Stop trial 00001", exact=True).click()
    assert page.sent()[-1] == {"say": "stop", "id": "experiment-1/0/ab_00001"}
    page.root.get_by_role("button", name="Copy the config of trial 00002").click()
    page.root.get_by_text("Copied the config of trial 00002.").wait_for()
    page.root.get_by_role("button", name="Stop search").click()
    assert page.sent()[-1] == {"say": "stop", "id": "experiment-1/0"}


@pytest.mark.parametrize("width", [480, 900])
def test_the_drawings_after_the_end_fit_the_page(loose: Callable[..., LoosePage], width: int) -> None:
    page = shown(loose, viewport={"width": width, "height": 900})
    assert page.root.get_by_role("img", name="Parallel coordinates").count() == 0
    page.push_runs({"experiments": [EXPERIMENT | {"state": "finished", "ended_at": NOW + 60}]})
    page.root.get_by_role("img", name="Parallel coordinates of 300 trials: lr, kind, loss").wait_for()
    assert page.root.get_by_role("img", name="loss against").count() == 2
    assert page.root.get_by_role("button", name="Stop search").count() == 0
    assert page.root.evaluate(_SIDEWAYS) == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_experiment_that_is_opened_asks_for_its_trials_also_where_nothing_changes(
    loose: Callable[..., LoosePage],
) -> None:
    over = EXPERIMENT | {"state": "finished", "ended_at": NOW + 60}
    page = loose(cluster(), runs={"experiments": [over, over | {"id": "experiment-2", "name": "other"}]})
    page.root.get_by_role("tab", name="Runs").click()
    page.page.wait_for_function("() => asked.some(each => each.record === 'experiment-1')")
    page.recall("rows", answer(0, 4, state="done"))
    page.root.locator("button.opens[data-function=experiment-2]").click()
    page.page.wait_for_function("() => asked.some(each => each.record === 'experiment-2')")


# ---- in a real notebook

# Every trial reports twelve times at once and goes on until it is stopped; number 5 fails.
TUNE = """
import time
from nbaccel import tune

def train_model(config):
    if config["seed"] == 5:
        raise ValueError("the batch is empty")
    for epoch in range(12):
        tune.report({"loss": (config["lr"] + 0.02) / (epoch + 1) + 0.01 * config["layers"]})
    while GOES_ON:
        tune.report({"loss": (config["lr"] + 0.02) / 13 + 0.01 * config["layers"]})
        time.sleep(0.2)

tuner = tune.Tuner(
    tune.with_resources(train_model, {"gpu": 0.25}),
    param_space={
        "seed": tune.grid_search(list(range(10))),
        "lr": tune.sample_from(lambda config: 0.3 / (1 + config["seed"])),
        "layers": tune.sample_from(lambda config: 1 + config["seed"] % 3),
    },
    tune_config=tune.TuneConfig(metric="loss", mode="min"),
    run_config=tune.RunConfig(name="search", storage_path=STORAGE),
)
"""
FIT = "results = tuner.fit()\nprint('trials that ended:', results.num_terminated)\nresults"


@pytest.fixture
def tuning() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="results-") as folder:
        yield TUNE.replace("STORAGE", repr(folder))


def test_trials_are_seen_and_stopped_while_the_cell_runs(opened: Callable[..., Any], tuning: str) -> None:
    page = opened(
        START, "%accel_dashboard", tuning.replace("GOES_ON", "config['seed'] < 9"), FIT, dark=True, height=1900
    ).run_all()
    view = _runs(page)
    table = view.get_by_role("region", name="Trials of search")
    table.locator("tr[data-trial]", has_text="running").nth(7).wait_for()
    view.get_by_text("1 trial failed: ValueError: the batch is empty").wait_for()
    view.get_by_role("img", name="loss over").wait_for()
    assert page.is_busy
    table.get_by_role("button", name="Stop trial 00000").click()
    table.locator("tr[data-trial$='_00000']", has_text="stopped").wait_for()
    table.locator("tr[data-trial$='_00009']", has_text="done").wait_for()  # there was room for it
    assert page.is_busy
    page.screenshot("trials-dark", page.cockpit(1))
    if AXE.exists():
        assert _serious(page, ".nbaccel-cockpit") == []
    card = page.cockpit(2)  # under the cell of fit
    card.get_by_role("region", name="Trials of search").locator("tr[data-trial]").nth(9).wait_for()
    card.get_by_role("button", name="Stop search").click()
    page.output("trials that ended: 2")
    view.get_by_role("img", name="Parallel coordinates").wait_for()
    page.screenshot("trials-ended-dark", page.cockpit(1))
    assert not page.refused
