"""Messages are read in the mailbox's order, however its answers arrive."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from nbaccel.train.mailbox import Batch, Inbox, MailReader


class Asked:
    """A question to the mailbox whose answer comes when the test gives it."""

    def __init__(self) -> None:
        self.answer: Future[Batch] = Future()

    def future(self) -> Future[Batch]:
        return self.answer


class Driver:
    """A reader of news without a mailbox: the test answers."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.said: list[Any] = []
        self.wants = True
        self.inbox = Inbox()
        self.news = MailReader(self.inbox, self._take, self._read, self.said.append, lambda: self.wants)

    def _take(self, wait_s: float) -> Asked:
        self.asked.append(Asked())
        return self.asked[-1]

    def _read(self, messages: Sequence[Any]) -> None:
        self.said += messages

    def answer(self, number: int, *batch: Any) -> None:
        self.asked[number].answer.set_result(batch)  # type: ignore[arg-type]
        while (happened := self.inbox.next(until=0.0)) is not None:
            happened()


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.news.follow()
    driver.news.after_all(lambda: driver.said.append("the end"))
    return driver


def test_a_large_answer_that_arrives_late_is_read_before_what_was_sent_after_it(driver: Driver) -> None:
    driver.answer(1, 2, ["returned"])
    assert driver.said == []
    driver.answer(0, 0, ["report 0", "report 1"])
    assert driver.said == ["report 0", "report 1", "returned", "the end"]


def test_an_end_without_a_message_of_its_own_waits_for_those_before(driver: Driver) -> None:
    driver.answer(1, 1, [])
    assert driver.said == []
    driver.answer(0, 0, ["report 0"])
    assert driver.said == ["report 0", "the end"]
    driver.answer(2, 1, ["report 1"])  # asked again after the first answer
    assert driver.said[-1] == "report 1" and len(driver.asked) == 4


def test_nothing_is_read_that_nobody_wants_any_more(driver: Driver) -> None:
    driver.news.after_all(lambda: setattr(driver, "wants", False))
    driver.answer(2, 1, [])
    driver.answer(1, 1, ["of an ended worker group"])
    driver.answer(0, 0, ["report 0"])
    assert driver.said == ["report 0"]


def test_a_mailbox_that_is_gone_is_told(driver: Driver) -> None:
    gone = RuntimeError("gone")
    driver.asked[0].answer.set_exception(gone)
    driver.answer(1, 0, [])
    assert driver.said == [gone, "the end"]
