"""All runs of a storage folder, without a head: in the panel, on a page of JupyterLab and on the one without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.browser.servers import STORED
from tests.browser.test_looks import AXE


def store(storage: Path, name: str, *, end: str = "finished", error: str = "", started: float, rate: float) -> None:
    """A run's folder, as its driver leaves it."""
    (storage / name).mkdir(parents=True)
    config = {"lr": rate, "net": {"layers": 2, "width": int(640 * rate)}, "seed": 7}
    lines: list[dict[str, Any]] = [{"v": 1, "run": name, "config": config, "started": started}]
    for at in range(40):
        metrics = {"loss": 2 / (1 + rate * at) + 0.02 * (at % 3), "accuracy": 1 - 0.6 / (1 + rate * at)}
        lines.append({"report": at, "rank": 0, "time": started + 9 * at, "metrics": metrics})
    lines.append({"end": end, "error": error, "time": started + 370})
    (storage / name / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def search(storage: Path, name: str, started: float) -> None:
    """An experiment's folder with two trials, as its driver leaves it."""
    (storage / name).mkdir(parents=True)
    lines: list[dict[str, Any]] = [{"v": 1, "experiment": name, "metric": "loss", "mode": "min", "started": started}]
    for number, rate in enumerate((0.1, 0.6)):
        trial = f"a_{number:05d}"
        lines += [{"trial": trial, "number": number, "config": {"lr": rate}}, {"trial": trial, "attempt": 1}]
        for at in range(9):
            metrics = {"loss": 2 / (1 + rate * at), "time_total_s": 5.0 * at, "timestamp": started + 5 * at}
            lines.append({"trial": trial, "report": at, "metrics": metrics})
        lines.append({"trial": trial, "state": "done", "error": "", "time": started + 40})
    lines.append({"end": "finished", "time": started + 41})
    (storage / name / "experiment.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def stored(storage: Path) -> None:
    search(storage, "search", started=1.6e9)
    store(storage, "mnist-slow", started=1.7e9, rate=0.1)
    store(storage, "mnist-fast", started=1.7e9 + 900, rate=0.6)
    store(storage, "broken", end="failed", error="rank 1: ValueError: no room", started=1.7e9 + 1800, rate=0.3)


def names(view: Any) -> list[str]:
    return list(view.locator("tr[data-run] th .name").all_inner_texts())


def test_runs_are_listed_compared_and_deleted_while_no_head_runs(opened: Callable[..., Any]) -> None:
    page = opened(panel=True)
    storage = page.server.folder / STORED
    stored(storage)
    panel = page.open_panel()
    panel.get_by_role("button", name="All runs").click()
    page.until(lambda: names(panel) == ["broken", "mnist-fast", "mnist-slow", "search"])
    panel.get_by_role("combobox", name="State").select_option("failed")
    panel.get_by_text("1 of 4 runs").wait_for()
    assert names(panel) == ["broken"] and "ValueError: no room" in panel.inner_text()

    panel.get_by_role("button", name="Open as a page").click()
    view = page.page.locator(".nbaccel-page")
    view.get_by_role("checkbox", name="Choose mnist-slow to compare").check()
    view.get_by_role("checkbox", name="Choose mnist-fast to compare").check()
    view.get_by_role("button", name="Compare 2 runs").click()
    comparison = view.get_by_role("region", name="Comparison")
    drawing = comparison.get_by_role("img", name="loss of 2 runs")
    drawing.hover()
    comparison.get_by_text("at report").first.wait_for()
    differing = comparison.get_by_role("region", name="What differs in their configs")
    assert differing.locator("tbody tr").all_inner_texts() == ["lr\n0.1\n0.6", "net/width\n64\n384"]
    if AXE.exists():
        page.page.evaluate(AXE.read_text())
        found = page.page.evaluate("axe.run('.nbaccel-page').then(({violations}) => violations.map(({id}) => id))")
        assert found == []

    view.get_by_role("button", name="End comparing").click()
    view.get_by_role("button", name="Trials of search").click()
    page.until(lambda: names(view) == ["00001", "00000"])
    view.get_by_role("checkbox", name="Choose 00000 to compare").check()
    view.get_by_role("checkbox", name="Choose 00001 to compare").check()
    view.get_by_role("button", name="Compare 2 trials").click()
    comparison.get_by_role("img", name="loss of 2 trials").hover()
    comparison.get_by_text("at report").first.wait_for()
    assert differing.locator("tbody tr").all_inner_texts() == ["lr\n0.1\n0.6"]
    view.get_by_role("button", name="Back to all runs").click()

    view.get_by_role("button", name="Details of broken").click()
    view.get_by_role("textbox", name="Note").fill("too few workers\nsee the log")
    view.get_by_role("button", name="Save the note").click()
    view.get_by_role("status").get_by_text("Saved the note of broken.").wait_for()
    assert (storage / "broken" / "note.txt").read_text() == "too few workers\nsee the log"
    assert "too few workers" in view.get_by_role("row", name="broken").first.inner_text()
    (storage / "broken" / ".note.txt").mkdir()  # nothing can be written there
    view.get_by_role("textbox", name="Note").fill("other")
    view.get_by_role("button", name="Save the note").click()
    view.get_by_role("status").get_by_text("The folder of broken cannot be written").wait_for()
    assert (storage / "broken" / "note.txt").read_text() == "too few workers\nsee the log"

    view.get_by_role("button", name="Delete broken").click()
    view.get_by_role("button", name="Delete it: broken with its checkpoints").click()
    view.get_by_role("status").get_by_text("Deleted broken.").wait_for()
    assert names(view) == ["mnist-fast", "mnist-slow", "search"] and not (storage / "broken").exists()

    page.page.goto(page.server.url("nbaccel/"))
    page.page.get_by_text("All runs and experiments").click()
    page.until(lambda: names(page.page) == ["mnist-fast", "mnist-slow", "search"])
    page.page.get_by_role("button", name="Details of mnist-fast").click()
    page.page.get_by_role("textbox", name="Note").fill("the best")
    page.page.get_by_role("button", name="Save the note").click()
    page.page.get_by_role("status").get_by_text("Saved the note of mnist-fast.").wait_for()
    assert (storage / "mnist-fast" / "note.txt").read_text() == "the best"
