"""Which cell a task belongs to: its own, else that of the task that submitted it, as soon as that is known."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

from nbaccel import engine as engines
from nbaccel.ray_engine.reports.reports import Reports
from nbaccel.ray_engine.submission.submissions import CallFacts, Submission, Submissions
from nbaccel.scheduling.terms import TaskKind

OWN, CHILD, GRANDCHILD, STRANGER = (letter * 48 for letter in "abcd")


@pytest.fixture
def engine() -> Iterator[SimpleNamespace]:
    """One task submitted here; its child and grandchild have reported who submitted them."""
    ref = type("Ref", (), {})()
    submissions = Submissions()
    about = CallFacts("train", TaskKind.TASK)
    submissions.note(Submission(bytes.fromhex(OWN), about, "[1]", 0.0, None, weakref.ref(ref), b"cell 1"))
    notes = {CHILD: {"parent": OWN}, GRANDCHILD: {"parent": CHILD}}
    before, engines.cell_source = engines.cell_source, lambda: ("[9]", b"the last")
    yield SimpleNamespace(_submissions=submissions, notes=notes)
    engines.cell_source = before


@pytest.mark.parametrize(
    ("task_id", "cell"),
    [(OWN, b"cell 1"), (CHILD, b"cell 1"), (GRANDCHILD, b"cell 1"), (STRANGER, None), ("", None)],
)
def test_a_task_belongs_to_the_cell_of_who_submitted_it(
    engine: SimpleNamespace, task_id: str, cell: bytes | None
) -> None:
    assert Reports.parent_of(engine, task_id) == cell


def test_outside_of_a_notebook_there_is_no_cell(engine: SimpleNamespace) -> None:
    engines.cell_source = None
    assert Reports.parent_of(engine, STRANGER) == b""
