"""What the page drew last is in the saved notebook: the timeline of a cluster, the drawings of an experiment."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

START = "%load_ext nbaccel\n%accel_init num_cpus=2 num_gpus=2"
WORK = """
import time
import nbaccel as ray

@ray.remote(num_gpus=1)
def train(number):
    time.sleep(0.2)

print(len(ray.get([train.remote(number) for number in range(6)])), "trained")
"""
SEARCH = """
from nbaccel import tune

def objective(config):
    for step in range(4):
        tune.report({"loss": config["lr"] / (step + 1)})

tuner = tune.Tuner(
    objective,
    param_space={"lr": tune.grid_search([0.1, 0.2, 0.4]), "kind": tune.grid_search(["deep", "wide"])},
    tune_config=tune.TuneConfig(metric="loss", mode="min"),
    run_config=tune.RunConfig(name="search", storage_path=STORAGE),
)
results = tuner.fit()
print("the search", "is over")
"""
END = """
import os
while not os.path.exists(GO):
    time.sleep(0.05)
%accel_shutdown
"""
PARALLEL = "Parallel coordinates of 6 trials: lr, kind, loss"


def text_of(cell: dict[str, Any]) -> str:
    return "".join(part for each in cell["outputs"] for part in each.get("data", {}).get("text/html", ""))


def test_a_notebook_that_is_opened_again_has_the_timeline_and_the_trials_as_they_were_drawn(
    opened: Callable[..., Any], tmp_path: Any
) -> None:
    search = SEARCH.replace("STORAGE", repr(str(tmp_path)))
    page = opened(START, WORK, search, "%accel_dashboard", END.replace("GO", repr(str(tmp_path / "go")))).run_all()
    page.output("the search is over")
    page.page.get_by_role("img", name=PARALLEL).first.wait_for()
    cockpit = page.cockpit(1)
    cockpit.get_by_role("tab", name="Timeline").click()
    cockpit.get_by_role("button", name="Whole run").click()
    cockpit.get_by_role("img", name="task runs on 3 lanes").wait_for()
    cockpit.get_by_role("tab", name="Actors").click()  # what was drawn before one looks elsewhere is kept
    (tmp_path / "go").touch()
    page.page.get_by_role("img", name="task runs on 3 lanes").first.wait_for()
    text = page.save("task runs on 3 lanes")
    first, _, searched, *_ = json.loads(text)["cells"]
    assert "Shut down at" in text_of(first) and "train × 6" in text_of(first)
    for cell in (first, searched):
        html = text_of(cell)
        assert "<svg" in html and "<script" not in html and len(html) < 250_000
    page.end_kernel()
    again = opened(text=text)
    for name in (PARALLEL, "loss against lr of 6 trials", "task runs on 3 lanes"):
        again.page.get_by_role("img", name=name).first.wait_for()
    assert again.page.locator(".nbaccel-cockpit").count() == 0
