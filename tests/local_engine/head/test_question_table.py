"""The table of questions: one row for each that drivers or observers may ask, typed at both ends."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Peer, QuestionTable
from nbaccel.local_engine.wire import driver_questions
from nbaccel.scheduling.terms import Choice
from nbaccel.views import observer_lines
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.observer_lines import QUESTIONS, Explain, Question, ReadLogs, WatchSnapshots, question_of, table_of
from tests.local_engine.head_world import HeadWorld


def questions_in(module: Any) -> list[type[Question[Any]]]:
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Question)]
    return [
        kind
        for kind in kinds
        if kind.__module__ == module.__name__ and kind.__name__ not in ("ObserverQuestion", "Question")
    ]


def test_the_head_answers_every_question_that_there_is() -> None:
    asked = [*questions_in(driver_questions), *questions_in(observer_lines)]
    names = [kind.tag() for kind in asked]
    assert len(set(names)) == len(names)
    world = HeadWorld()
    try:
        flowing = {WatchSnapshots.tag()}  # snapshots that come and come: watchers.py sends them
        assert set(world.wiring.questions.table) == set(names) - flowing
    finally:
        world.end()


def test_every_question_of_observers_is_in_their_dialect() -> None:
    assert set(QUESTIONS.values()) == set(questions_in(observer_lines))


def test_a_driver_and_an_observer_ask_the_same_question_in_two_dialects() -> None:
    rows = table_of(ReadLogs.answered_by(lambda asker, asked: f"{asker} wants {asked.tail} of {asked.task_id}"))
    question = ReadLogs("ab", 3)
    answer = rows["logs"].encoded_answer("the driver", question.body())
    assert question.read_answer(answer) == "the driver wants 3 of ab"
    line = json.loads(b'{"ask": "logs", "task_id": "ab", "tail": 3, "filler": 1}')
    assert question_of(line) == question
    assert json.loads(question.line("words").encoded()) == {"kind": "logs", "text": "words"}


def test_a_question_without_a_body_has_its_defaults() -> None:
    rows = table_of(ReadLogs.answered_by(lambda asker, asked: str(asked.tail)))
    assert msgspec.msgpack.decode(rows["logs"].encoded_answer(None, b"")) == "100"


def test_answers_come_back_as_what_they_are() -> None:
    explanation = Explanation("ab", "train", "WAITING", "train waits.", ever=True)
    rows = table_of(Explain.answered_by(lambda asker, asked: [explanation]))
    assert Explain().read_answer(rows["explain"].encoded_answer(None, Explain().body())) == [explanation]
    probe = driver_questions.ProbeChoice.answered_by(lambda asker, asked: explanation.as_probe())
    choice = Choice((("CPU", 10_000),))
    asked = driver_questions.ProbeChoice(choice)
    assert asked.read_answer(probe.encoded_answer(None, asked.body())) == Probe(Verdict.BUSY, "train waits.")


def test_that_output_is_shown_is_answered_when_it_has_been_sent() -> None:
    sent: list[Any] = []
    printing: list[Callable[[], None]] = []
    table = QuestionTable(lambda peer, message: sent.append(message), drain=printing.append)
    (ours, theirs), asked = socket.socketpair(), driver_questions.AwaitOutput
    with ours, theirs:
        table.ask(Peer(ours, "news", 1), wire.QuestionMessage(7, asked.tag(), asked().body()))
        assert sent == []
        (drained,) = printing
        drained()
    assert [(answer.request, answer.error) for answer in sent] == [(7, "")]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"ask": "kill"}, "The question 'kill' needs the field 'actor_id'."),
        ({"ask": "watch", "on": "perhaps"}, "The question 'watch' takes true or false for on: 'perhaps'."),
        ({"ask": "tasks", "filter": {"limit": "x"}}, "has a wrong value for filter: Expected `int`, got `str`"),
        ({"ask": "state"}, "This head does not know the question 'state'."),  # a driver's
    ],
)
def test_a_mistake_in_a_question_is_told_in_words(request_: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as raised:
        question_of(request_)
    assert words in str(raised.value)
