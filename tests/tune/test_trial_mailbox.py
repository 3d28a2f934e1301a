"""The meeting point of trials and driver: which messages the driver takes together."""

from __future__ import annotations

import asyncio

import pytest

from nbaccel.tune import trial_session
from nbaccel.tune.trial_session import TrialMailbox


@pytest.fixture(autouse=True)
def long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages for which nobody waits are gathered for as long as the test runs."""
    monkeypatch.setattr(trial_session, "GATHER_S", 3_600.0)


async def _soon() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def _after_a_first_message(mailbox: TrialMailbox) -> asyncio.Task[list[str]]:
    """The driver's second question; the first one is answered immediately."""
    await mailbox.put("trial", 1, "begun", 0, None)
    assert [each[2] for each in (await mailbox.take(60))[1]] == ["begun"]

    async def taken() -> list[str]:
        return [each[4] for each in (await mailbox.take(60))[1]]

    asked = asyncio.ensure_future(taken())
    await mailbox.put("trial", 1, "report", 0, "a")
    await _soon()
    assert not asked.done()
    return asked


def test_reports_for_which_nobody_waits_are_taken_together_with_the_next_one_that_is_waited_for() -> None:
    async def scenario() -> None:
        mailbox = TrialMailbox()
        asked = await _after_a_first_message(mailbox)
        waits = asyncio.ensure_future(mailbox.put("trial", 1, "report", 1, "b", waits=True))
        assert await asked == ["a", "b"]
        await mailbox.answer({("trial", 1): True})
        assert await waits

    asyncio.run(scenario())


def test_a_report_that_is_waited_for_is_taken_at_once() -> None:
    async def scenario() -> None:
        mailbox = TrialMailbox()
        await mailbox.put("trial", 1, "begun", 0, None)
        await mailbox.take(60)
        waits = asyncio.ensure_future(mailbox.put("trial", 1, "report", 0, "a", waits=True))
        await _soon()
        assert [each[4] for each in (await mailbox.take(60))[1]] == ["a"]
        await mailbox.answer({("trial", 1): False})
        assert not await waits

    asyncio.run(scenario())


def test_the_driver_that_wants_no_more_news_and_the_one_that_wants_the_last_are_answered_at_once() -> None:
    async def scenario() -> None:
        mailbox = TrialMailbox()
        asked = await _after_a_first_message(mailbox)
        assert [each[4] for each in (await mailbox.take(0))[1]] == ["a"]
        await mailbox.wake()
        assert await asked == []

    asyncio.run(scenario())
