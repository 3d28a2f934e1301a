"""Nodes that come and go, in a real browser: under the cell that asked, and in the cockpit's Nodes view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

START = """%load_ext nbaccel
import nbaccel as ray
types = {
    "gpu-a100": {"num_gpus": 1, "num_cpus": 4, "accelerator_type": "A100", "max": 2, "arrives_after_s": 3600},
    "gpu-t4": {"num_gpus": 1, "num_cpus": 4, "accelerator_type": "T4", "max": 1, "idle_s": 3600},
}
_ = ray.init(num_cpus=2, node_types=types)"""
WORK = """import os, time

@ray.remote(num_gpus=1)
def train(name, folder=os.getcwd()):
    while not os.path.exists(os.path.join(folder, f"{name}.may_end")):
        time.sleep(0.02)

now = train.options(accelerator_type="T4", name="now").remote("now")
later = [train.options(accelerator_type="A100").remote("later") for part in range(2)]"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_cockpit_shows_nodes_on_their_way_and_nodes_that_will_leave(opened: Callable[..., Any], dark: bool) -> None:
    page = opened(START, WORK, "%accel_dashboard", dark=dark).run_all()
    cockpit = page.cockpit()
    cockpit.get_by_role("tab", name="Nodes").click()
    arriving = cockpit.get_by_role("row").filter(has_text="gpu-a100")
    page.until(lambda: arriving.count() == 2)
    assert all("arriving" in words for words in arriving.all_inner_texts()), arriving.all_inner_texts()
    here = cockpit.get_by_role("row").filter(has_text="gpu-t4")
    page.until(lambda: here.count() == 1 and "alive" in here.inner_text())
    assert cockpit.evaluate("part => part.scrollWidth <= part.clientWidth")
    assert all(words.count("arriving") == 1 for words in arriving.all_inner_texts())
    page.screenshot("nodes-arriving-dark" if dark else "nodes-arriving", cockpit)

    page.file("now.may_end").touch()
    page.until(lambda: "leaves in" in here.inner_text())
