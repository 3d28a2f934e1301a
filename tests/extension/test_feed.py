"""A feed sends the first snapshot at once, and of many that follow only the last one."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jupyter_server", reason="jupyter_server is not installed")

from nbaccel_lab import runtimes
from nbaccel_lab.connection import Connections, HeadUnavailable
from nbaccel_lab.feed import LEAST_PAUSE_S, Feed
from nbaccel_lab.kernels import Kernels
from nbaccel_lab.watching import Watching

from tests.extension.fake_head import FakeHead, until

PATIENCE_S = 90.0  # of questions that are answered: head and asker are one process, which may stand still


def test_of_many_snapshots_in_a_moment_the_first_and_the_last_are_sent(tmp_path: Path) -> None:
    sent: list[str] = []

    async def look(pause_s: float) -> None:
        head = await FakeHead(tmp_path).listen()
        [record], _ = runtimes.scan(tmp_path)
        feed = Feed(
            record, Connections(PATIENCE_S), lambda id, text: sent.append(text), lambda: None, least_pause_s=pause_s
        )
        try:
            await until(lambda: feed.state == "connected", "the first snapshot")
            for seq in range(2, 12):
                head.tell(seq=seq)
            await until(lambda: feed.latest and feed.latest["seq"] == 11, "the last snapshot")
            if pause_s < 1:
                await until(lambda: '"seq": 11' in sent[-1], "the last snapshot to be sent")
        finally:
            await feed.end()
            head.close()
            head.remove()

    asyncio.run(look(3600.0))
    assert len(sent) == 1 and '"seq": 1,' in sent[0]
    asyncio.run(look(0.01))
    assert 1 / LEAST_PAUSE_S <= 4, "at most four times a second"


def test_a_head_that_says_nothing_is_silent_with_a_reason(tmp_path: Path) -> None:
    async def look() -> str:
        head = await FakeHead(tmp_path).listen()
        head.silent.add("watch")
        [record], _ = runtimes.scan(tmp_path)
        feed = Feed(record, Connections(PATIENCE_S), lambda id, text: None, lambda: None, first_timeout_s=0.05)
        try:
            await until(lambda: feed.state == "silent", "the feed to give up")
            return feed.reason
        finally:
            await feed.end()
            head.close()
            head.remove()

    assert asyncio.run(look()) == "The runtime has sent no snapshot within 0.05 s."


def test_one_connection_serves_all_who_ask_at_once_and_ends_with_the_last(tmp_path: Path) -> None:
    async def ask() -> None:
        head = await FakeHead(tmp_path).listen()
        [record], _ = runtimes.scan(tmp_path)
        connections = Connections(PATIENCE_S)
        questions: list[dict[str, Any]] = [{"ask": "logs"}, {"ask": "snapshot"}, {"ask": "tasks"}] * 5
        answers = await asyncio.gather(*(connections.ask(record, question) for question in questions))
        assert [answer["kind"] for answer in answers] == ["logs", "snapshot", "tasks"] * 5
        assert (head.connections, len(connections)) == (1, 0)
        head.record["token"] = "another"
        with pytest.raises(HeadUnavailable, match="refused the connection: The token is wrong"):
            await connections.ask(record, {"ask": "logs"})
        assert len(connections) == 0
        head.close()
        head.remove()

    asyncio.run(ask())


def test_a_look_that_ends_after_a_later_one_does_not_bring_back_what_was(tmp_path: Path) -> None:
    came, may_end = threading.Event(), threading.Event()

    def find() -> Any:
        found = runtimes.scan(tmp_path)
        if not came.is_set():  # the first look
            came.set()
            may_end.wait(PATIENCE_S)
        return found

    async def look() -> list[str]:
        watching = Watching(Kernels(None, None), find=find)
        early = asyncio.create_task(watching.look())
        await until(came.is_set, "the first look to have read the files")
        head = await FakeHead(tmp_path).listen()
        try:
            await watching.look()
            may_end.set()
            await early
            return [record.id for record in watching.records()]
        finally:
            may_end.set()
            head.close()
            head.remove()

    assert asyncio.run(look()) == ["ab12"]
