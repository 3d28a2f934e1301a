"""The WebSocket of a tab: what it is sent, when nothing is, and that a hundred tabs cost a head one connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nbaccel_lab.stream import Turns
from tornado.httpclient import HTTPClientError

from tests.extension.fake_head import ANSWERS, FakeHead, until
from tests.extension.server.conftest import Fetch


class Browser:
    """A tab."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.heard: list[dict[str, Any]] = []

    async def say(self, **message: Any) -> None:
        await self._connection.write_message(json.dumps(message))

    async def say_text(self, text: str) -> None:
        await self._connection.write_message(text)

    async def next(self, kind: str, is_it: Callable[[dict[str, Any]], bool] = lambda message: True) -> dict[str, Any]:
        """The next message of a kind; those before it are in `heard`."""
        async with asyncio.timeout(120):
            while True:
                text = await self._connection.read_message()
                assert text is not None, "the server has closed the tab's connection"
                message: dict[str, Any] = json.loads(text)
                self.heard.append(message)
                if message["type"] == kind and is_it(message):
                    return message

    async def first(self, kind: str, is_it: Callable[[dict[str, Any]], bool] = lambda message: True) -> dict[str, Any]:
        """The first message of a kind, whether it has come already or not."""
        came = [message for message in self.heard if message["type"] == kind and is_it(message)]
        return came[0] if came else await self.next(kind, is_it)

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def browser(jp_ws_fetch: Fetch) -> Any:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Browser]:
        tab = Browser(await jp_ws_fetch("nbaccel", "api", "v1", "watch"))
        try:
            yield tab
        finally:
            tab.close()

    return opened


async def test_a_tab_gets_the_list_at_once_and_a_snapshot_of_what_it_watches_with_every_change(
    browser: Any, head: FakeHead, watching: Any
) -> None:
    async with browser() as tab:
        hello = await tab.next("hello")
        assert hello["api"] == 1 and hello["may_execute"] is True
        assert [each["id"] for each in (await tab.next("runtimes"))["runtimes"]] == [head.session]
        assert head.connections == 0  # it watches nothing yet
        await tab.say(type="watch", runtimes=["*"], rows=50)
        assert (await tab.next("snapshot"))["snapshot"]["counts"] == {"RUNNING": 2}
        assert head.asked == [{"ask": "watch", "on": True, "rows": 50}]
        head.tell(counts={"RUNNING": 3})
        changed = await tab.next("snapshot")
        assert (changed["runtime"], changed["snapshot"]["counts"]) == (head.session, {"RUNNING": 3})
        await tab.first("runtimes", lambda message: message["runtimes"][0]["state"] == "connected")
    await until(lambda: watching.rests and head.open == 0, "the server to rest")


async def test_a_snapshot_cannot_pretend_to_be_of_another_runtime(browser: Any, head: FakeHead) -> None:
    async with browser() as tab:
        await tab.say(type="watch", runtimes=["*"])
        await tab.next("snapshot")
        for writer in head._watchers:
            head._write(writer, {"kind": "snapshot", "snapshot": {"seq": 9}, "type": "runtimes", "runtime": "<other>"})
        said = await tab.next("snapshot", lambda message: message["snapshot"].get("seq") == 9)
        assert said["runtime"] == head.session


async def test_a_hundred_tabs_cost_a_head_one_connection(browser: Any, head: FakeHead, watching: Any) -> None:
    async def look() -> None:
        async with browser() as tab:
            await tab.say(type="watch", runtimes=[head.session])
            await tab.next("snapshot")
            arrived.append(tab)
            await tab.next("snapshot", lambda message: message["snapshot"]["seq"] == 77)

    arrived: list[Browser] = []
    tabs = [asyncio.create_task(look()) for _ in range(100)]
    await until(lambda: len(arrived) == 100 or any(tab.done() for tab in tabs), "a hundred tabs")
    assert (head.connections, head.open, len(watching.connections)) == (1, 1, 1)
    head.tell(seq=77)
    await asyncio.gather(*tabs)
    assert head.connections == 1
    await until(lambda: watching.rests and head.open == 0, "the server to rest")


async def test_between_two_tabs_messages_the_loop_does_what_else_is_due() -> None:
    turns, passes, sent_in = Turns(), 0, list[int]()

    async def send() -> None:
        await turns.come()
        sent_in.append(passes)

    async def count() -> None:
        nonlocal passes
        while True:
            passes += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await asyncio.gather(*(send() for _ in range(20)))
    counting.cancel()
    assert len(set(sent_in)) == 20, "each in a pass of its own"


async def test_while_no_tab_is_shown_nothing_runs(browser: Any, head: FakeHead, watching: Any) -> None:
    async with browser() as one, browser() as other:
        for tab in (one, other):
            await tab.say(type="watch", runtimes=["*"])
            await tab.next("snapshot")
        await one.first("machine")
        await one.say(type="hidden")
        await until(lambda: sum(tab.shown for tab in watching._tabs) == 1, "one tab to be hidden")
        head.tell(seq=5)
        await other.next("snapshot", lambda message: message["snapshot"]["seq"] == 5)
        assert head.watchers == 1 and watching.sampler.runs
        await other.say(type="hidden")
        await until(lambda: watching.rests and head.open == 0, "the server to rest")
        await one.say(type="shown")
        one.heard.clear()
        seen = await one.next("snapshot")
        assert seen["snapshot"]["seq"] == 1  # the hidden tab was never sent the fifth
        await one.first("machine")


async def test_a_tab_asks_a_head_and_gives_no_orders(browser: Any, head: FakeHead) -> None:
    async with browser() as tab:
        await tab.say(type="ask", id=1, runtime=head.session, question={"ask": "logs", "task_id": "a1"})
        assert (await tab.next("answer")) == {
            "type": "answer", "id": 1, "runtime": head.session, "answer": ANSWERS["logs"],
        }  # fmt: skip
        for number, what in enumerate(
            ("cancel", "kill", "stop", "ask_publisher", "add_node", "watch", "snapshot", None)
        ):
            await tab.say(type="ask", id=number, runtime=head.session, question={"ask": what, "task_id": "a1"})
            assert "Orders are POST requests" in (await tab.next("answer"))["error"]
        await tab.say(type="ask", id=9, runtime="nobody", question={"ask": "logs"})
        assert "no such runtime" in (await tab.next("answer"))["error"]
        head.answers["logs"] = "end"
        await tab.say(type="ask", id=10, runtime=head.session, question={"ask": "logs"})
        assert "has ended" in (await tab.next("answer"))["error"]
    assert [asked["ask"] for asked in head.asked] == ["logs", "logs"]


async def test_a_message_without_a_meaning_is_answered_and_ends_nothing(browser: Any, head: FakeHead) -> None:
    async with browser() as tab:
        for text in ("{", "[]", "7", "[" * 50_000, '{"type": "reboot"}', '{"type": "watch", "runtimes": "*"}',
                     '{"type": "watch", "runtimes": [7]}', '{"type": "watch", "runtimes": [], "rows": "x"}',
                     '{"type": "ask", "id": "x", "runtime": "ab12", "question": {"ask": "logs"}}',
                     '{"type": "ask", "id": 1, "runtime": "ab12", "question": "logs"}', "x" * 70_000):  # fmt: skip
            await tab.say_text(text)
            assert (await tab.next("error"))["message"].endswith(".")
        await tab.say(type="watch", runtimes=["*"])
        await tab.next("snapshot")


async def test_a_runtime_that_ends_is_gone_and_one_that_falls_silent_is_tried_again(
    browser: Any, head: FakeHead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbaccel_lab.feed.PAUSES_S", (0.01,))
    async with browser() as tab:
        await tab.say(type="watch", runtimes=[head.session, "never"])
        assert (await tab.next("gone"))["runtime"] == "never"
        await tab.next("snapshot")
        head.close()  # it is tried again soon: it would not be seen to be silent if it were back at once
        silent = await tab.next("runtimes", lambda message: message["runtimes"][0]["state"] == "silent")
        assert silent["runtimes"][0]["reason"].endswith(".")
        await head.listen()
        await tab.next("snapshot")
        assert head.connections >= 2
        head.file.unlink()
        gone = await tab.next("gone", lambda message: message["runtime"] == head.session)
        assert gone["reason"].endswith(".")
        await tab.next("runtimes", lambda message: not message["runtimes"])


async def test_who_watches_all_hears_of_the_end_too(browser: Any, head: FakeHead) -> None:
    async with browser() as tab:
        await tab.say(type="watch", runtimes=["*"])
        await tab.next("snapshot")
        head.close()
        head.file.unlink()
        assert (await tab.next("gone"))["runtime"] == head.session


async def test_a_runtime_of_another_version_is_in_the_list_with_its_sentence(browser: Any, head: FakeHead) -> None:
    head.record["protocol"] = 7
    head.write_file()
    async with browser() as tab:
        await tab.say(type="watch", runtimes=["*"])
        [runtime] = (await tab.next("runtimes"))["runtimes"]
        assert runtime["state"] == "other_version" and "version 7" in runtime["reason"]
    assert head.connections == 0


async def test_a_page_of_another_origin_gets_no_connection(jp_ws_fetch: Fetch) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch(
            "nbaccel", "api", "v1", "watch", headers={"Origin": "http://evil.example", "Authorization": ""}
        )
    assert refused.value.code == 403
