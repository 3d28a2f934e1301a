"""The card of a slow start: one output under the cell, changed in place, which ends as a quiet line."""

from __future__ import annotations

from nbaccel.notebook import output
from nbaccel.notebook.output import CellOutput
from nbaccel.notebook.settings import NotebookSettings
from nbaccel.views.sinks import StartSteps
from tests.notebook.levels import LEVELS, Reading
from tests.notebook.test_output import _parent
from tests.test_start_steps import Start


def test_the_steps_are_one_output_of_the_waiting_cell() -> None:
    start, sent = Start(), []
    output = CellOutput(lambda *message: sent.append(message), NotebookSettings(), parent_now=lambda: _parent("a"))
    with output.starting("Ray", ["Import Ray", "Start its processes"], start.later) as steps:
        steps.next()
        start.tick(1.0)
        steps.next()
    assert [kind for kind, _, _ in sent] == ["display_data", "update_display_data", "update_display_data"]
    assert len({content["transient"]["display_id"] for _, content, _ in sent}) == 1
    assert {parent["cell_id"] for _, _, parent in sent} == {"a"}
    first, _, last = (Reading(content["data"]["text/html"]) for _, content, _ in sent)
    assert [row[:2] for row in first.rows] == [
        ["Step", "State"],
        ["Import Ray", "● running"],
        ["Start its processes", "◌ waiting"],
    ]
    assert last.rows == [] and last.words.startswith("Ray started in ")


def test_it_says_the_same_at_every_level_also_when_a_step_has_failed() -> None:
    start = Start()
    shown: list[str] = []

    def draw(drawn: StartSteps) -> None:
        shown.append(output.start_card(drawn)["text/html"])

    planned = ["Import Ray", "Join 10.0.0.7:6379"]
    steps = StartSteps("Ray", planned, draw, clock=lambda: start.now, later=start.later)
    try:
        with steps:
            steps.next()
            start.tick(1.0)
            steps.next()
            raise ConnectionError
    except ConnectionError:
        pass
    full, *others = (Reading(level(shown[-1])) for level in LEVELS.values())
    assert full.words.startswith("Ray did not start: 1 s")
    assert full.rows[1:] == [["Import Ray", "✓ finished", "1.0 s"], ["Join 10.0.0.7:6379", "✕ failed", "0.0 s"]]
    assert all((other.words, other.rows) == (full.words, full.rows) for other in others)
