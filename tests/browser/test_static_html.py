"""The HTML that a saved notebook keeps, in a page: at every width it holds what is in it, and its reasons are whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from nbaccel.notebook import blocks, card, reprs, static_tables, view
from nbaccel.notebook.accounting import accounting_view
from nbaccel.views import tables, task_lines
from nbaccel.views.explanations import Explanation
from nbaccel.views.snapshot import ActorRow, Alert, DeviceRow, Holder, JobRow, Snapshot, TaskRow
from tests.browser import sights
from tests.notebook.test_accounting import accounting_answer

LONG = "train_the_large_language_model_on_all_of_the_data_of_the_year"
WORD = "/a/path/without/any/space/" + "x" * 200
WHY = f"Both GPUs are busy: {LONG} × 2 on GPU 0 and GPU 1 (cell [12] of a_notebook_with_a_name.ipynb, 3 h)"
WIDTHS = (480, 700, 701, 950, 1400)
_PROBLEMS = """
() => {
  const box = document.querySelector(".nbaccel"), found = [];
  const right = box.getBoundingClientRect().right;
  if (box.scrollWidth > box.clientWidth) found.push(`${box.scrollWidth} of ${box.clientWidth} px`);
  for (const each of box.querySelectorAll("*")) {
    if (each.closest(".nbaccel-unseen, thead, style, svg")) continue;
    if (each.parentElement.closest(".nbaccel-strip > span")) continue; // which cuts what is in it
    const { right: end, width } = each.getBoundingClientRect();
    if (width && end > right) found.push(`${each.tagName} ${each.textContent.slice(0, 30)} is too wide`);
  }
  return found;
}
"""


def crowded(snapshot: Snapshot) -> Snapshot:
    """The snapshot with everything in it that is long."""
    snapshot.jobs = [JobRow(7, "a_notebook_with_a_long_name_of_somebody_else.ipynb")]
    for number, state in enumerate(("RUNNING", "PENDING_NODE_ASSIGNMENT", "FAILED", "FAILED")):
        why = {"PENDING_NODE_ASSIGNMENT": WHY, "FAILED": f"FileNotFoundError: {WORD}"}.get(state, "")
        snapshot.tasks.append(
            TaskRow(
                f"{number:048x}", LONG, "task", state, demand={"CPU": 1, "GPU": 0.25}, why=why, job=7, pid=4_194_304,
                device_ids={"GPU": [str(n) for n in range(8)]} if state == "RUNNING" else {}, cell="[12] line 104",
                submitted_at=snapshot.time - 9000, started_at=None if "P" in state[:1] else snapshot.time - 8000,
                peak_memory_bytes=40 << 30,
            )
        )  # fmt: skip
    held = [Holder(LONG, 0.5, pid=4_194_304, cell="[12] line 104", since=snapshot.time - 8000, job=7)] * 2
    gpu = DeviceRow("n1", "GPU", 2, "2", "nvidia", "NVIDIA GPU", "real", name="NVIDIA A100-SXM4-80GB", holders=held)
    snapshot.devices += [gpu, msgspec.structs.replace(gpu, id="3", holders=[], free_reason=f"held by {WORD}")]
    snapshot.actors = [ActorRow("a1" * 16, LONG, "ALIVE", name="main", device_ids={"GPU": ["0"]}, why=WHY, restarts=3)]
    snapshot.alerts.append(Alert("failed", f"{LONG} failed: {WORD}", snapshot.time))
    return snapshot


def _shown(snapshot: Snapshot) -> dict[str, str]:
    waits = [
        Explanation(row.task_id, row.name, row.state, f"{row.name} waits for 1 GPU. {row.why}", "1 CPU and 1 GPU")
        for row in snapshot.tasks
    ]
    group = {"name": LONG, "state": "PENDING", "strategy": "SPREAD", "bundles": {n: {"GPU": 1.0} for n in range(6)}}
    many = [
        TaskRow(f"{n:048x}", "score", "task", "FAILED", why=f"OSError: {WORD}", job=7, cell="[2]") for n in range(9)
    ]
    lines = task_lines.ordered([*snapshot.tasks, *many])
    return {
        "card": card.html(snapshot, "as of 2026-11-22 14:03:22"),
        "status": view.status_html(snapshot, "as of 2026-11-22 14:03:22"),
        "tasks": view.boxed(snapshot, "", static_tables.tasks(snapshot, lines)).html,
        "devices": view.boxed(snapshot, "", static_tables.devices(snapshot)).html,
        "actors": view.boxed(snapshot, "", static_tables.actors(snapshot)).html,
        "why": blocks.box([reprs.explanations(waits)]),
        "group": blocks.box([reprs.group_table(group, WHY)]),
        "accounting": accounting_view(accounting_answer()).html,
        "table": view.of_table(tables.Table("Nodes", ("Node", "Why"), [(LONG, WORD), (WORD, LONG)])).html,
    }  # fmt: skip


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(offline=True)
    yield context.new_page()
    context.close()


def test_nothing_is_wider_than_its_box_at_any_width(page: Any, busy_snapshot: Snapshot) -> None:
    problems = []
    for name, html in _shown(crowded(busy_snapshot)).items():
        page.set_content(f"<!doctype html><html lang='en'><body>{html}</body></html>")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            problems += [f"{name} at {width}: {found}" for found in page.evaluate(_PROBLEMS)]
    assert not problems, "\n".join(problems[:20])


# The facts of the first line, each as (words, number of lines that a number and its words take).
_FIRST_LINE = """
() => {
  const line = document.querySelector(".nbaccel-header");
  const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const reach = document.createRange(), found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const pair of node.data.matchAll(/\\d+\\s[a-z]+/gi)) {
      reach.setStart(node, pair.index);
      reach.setEnd(node, pair.index + pair[0].length);
      found.push([pair[0], new Set([...reach.getClientRects()].map(box => Math.round(box.top))).size]);
    }
  }
  return found;
}
"""


@pytest.mark.parametrize("kind", ["card", "last card"])
def test_no_line_ends_between_a_number_and_its_word(page: Any, kind: str) -> None:
    shown = sights.snapshot(64, "failing")
    html = card.last_mimebundle(shown)["text/html"] if kind == "last card" else card.html(shown, "as of 2023-11-14")
    page.set_content(f"<!doctype html><html lang='en'><body>{html}</body></html>")
    for width in range(240, 640, 8):
        page.set_viewport_size({"width": width, "height": 900})
        facts = page.evaluate(_FIRST_LINE)
        assert len(facts) >= 4
        assert not [words for words, lines in facts if lines > 1], width


def test_on_a_wide_page_the_measurements_of_a_device_stand_side_by_side(page: Any) -> None:
    html = view.boxed(shown := sights.snapshot(8, "busy"), "", static_tables.devices(shown)).html
    page.set_content(f"<!doctype html><html lang='en'><body>{html}</body></html>")
    for width, lines in ((900, 3), (1400, 1)):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [each.bounding_box() for each in page.locator("tr", has_text="GPU 0").locator(".nbaccel-measure").all()]
        assert len(boxes) == 3 and len({box["y"] for box in boxes}) == lines, width


def test_a_reason_has_room_beside_the_other_cells(page: Any, busy_snapshot: Snapshot) -> None:
    page.set_content(f"<!doctype html><html lang='en'><body>{_shown(crowded(busy_snapshot))['tasks']}</body></html>")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        cells = page.get_by_role("cell").filter(has_text="Both GPUs are busy")
        cell = cells.last.bounding_box()
        assert cell["width"] >= 96, width
