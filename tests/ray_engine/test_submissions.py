"""What was submitted is known by task, in order, and with its cell for longer than the rest."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import deque

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.submission import submissions
from nbaccel.ray_engine.submission.submissions import CallFacts, Submission, Submissions
from nbaccel.scheduling.terms import TaskKind


class Ref:
    """Whatever a weak reference can be made of."""


REF = Ref()
TRAIN = CallFacts("train", TaskKind.TASK, demand={"GPU": 1.0})
STEP = CallFacts("Trainer.step", TaskKind.ACTOR_CALL)


def note(known, number, parent=b"cell", about=TRAIN):
    noted = Submission(number.to_bytes(24), about, "[1]", 0.0, None, weakref.ref(REF), parent)
    (known.note_call if about is STEP else known.note)(noted)


def test_those_after_a_number_come_in_order():
    known = Submissions()
    for number in range(3):
        note(known, number)
    last, first_three = known.since(0)
    note(known, 3)
    assert [each.task_id[-1] for each in first_three] == [0, 1, 2]
    assert known.any_waits_after(last)
    last, one = known.since(last)
    assert [each.task_id[-1] for each in one] == [3] and not known.any_waits_after(last)


def test_one_that_another_thread_takes_in_is_a_later_one():
    known, answers = Submissions(), []
    asking = threading.Thread(target=lambda: answers.append(known.any_waits_after(0)))

    class Asked(deque):
        """While one is on its way out, another thread asks."""

        def popleft(self):
            first = super().popleft()
            asking.start()
            asking.join(0.3)
            return first

    known._new = Asked()
    note(known, 1)
    assert len(known.all()) == 1
    asking.join(90)
    assert answers == [True]


def test_the_cell_is_known_for_longer_than_the_rest():
    known = Submissions()
    for number in range(submissions.MOST_KEPT + 10):
        note(known, number)
    first = (0).to_bytes(24)
    assert known.get(first) is None and known.parent(first) == b"cell"


def test_a_cell_is_known_of_a_task_that_views_have_forgotten():
    known = Submissions()
    note(known, 1)
    known.forget((1).to_bytes(24))
    assert known.parent((1).to_bytes(24)) == b"cell"
    assert known.parent((2).to_bytes(24)) is None


def test_who_sleeps_is_woken_by_the_next_until_it_says_no_more():
    known, woken = Submissions(), []
    note(known, 1)
    known.wake_at_next(lambda: woken.append(True))
    note(known, 2)
    known.wake_at_next(None)
    note(known, 3)
    assert woken == [True]


def test_calls_of_actors_ask_for_no_resources_and_wake_nobody():
    known, woken = Submissions(), []
    known.wake_at_next(lambda: woken.append(True))
    note(known, 1, about=STEP)
    assert not woken and not known.any_waits_after(0)
    note(known, 2)
    note(known, 3, about=STEP)
    assert woken == [True] and known.any_waits_after(0)


def test_the_garbage_collector_does_not_visit_what_is_noted():
    known = Submissions()
    note(known, 1, about=STEP)
    assert not any(gc.is_tracked(each) for each in (*known._new, *known.all()))
