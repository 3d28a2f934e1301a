"""Frames and links: what is sent arrives, windows hold, and damage ends one link."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbaccel.serve import link as link_module
from nbaccel.serve.link import (
    HEADER,
    LONGEST_BODY,
    WINDOW,
    BadFrame,
    Exchange,
    Frame,
    FrameKind,
    FrameLink,
    FrameParser,
    LinkLost,
    connect,
    listen,
    pack,
    whole,
)
from tests.serve.loop_thread import LoopThread


@given(
    st.lists(st.tuples(st.sampled_from([kind for kind in FrameKind if kind is not FrameKind.LOST]),
                       st.integers(0, 2**32 - 1), st.binary(max_size=40), st.binary(max_size=300))),
    st.lists(st.integers(1, 50)),
)  # fmt: skip
def test_frames_are_the_same_however_they_are_cut(frames: list[Any], cuts: list[int]) -> None:
    stream = b"".join(pack(*frame) for frame in frames)
    parser = FrameParser()
    found: list[Frame] = []
    for cut in cuts:
        found += parser.feed(stream[:cut])
        stream = stream[cut:]
    found += parser.feed(stream)
    assert [(frame.kind, frame.id, frame.meta, frame.body) for frame in found] == frames


@pytest.mark.parametrize(
    "head", [(0, 0, 1, 0), (0, 0, 1, 10), (0, 0, 1, 77), (LONGEST_BODY + 1, 0, 1, 1), (0, 1 << 31, 1, 1)]
)
def test_what_is_no_frame_is_refused(head: tuple[int, int, int, int]) -> None:
    with pytest.raises(BadFrame):
        FrameParser().feed(HEADER.pack(*head))


class End:
    """The end that answers: what it does is given by the text of a call."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []
        self.sent = 0
        self.links: list[FrameLink] = []
        self.frames: list[FrameKind] = []

    def make(self) -> FrameLink:
        self.links.append(_Noting(self))
        return self.links[-1]

    def opened(self, exchange: Exchange, frame: Frame) -> None:
        what = frame.meta.decode(errors="replace")
        task = asyncio.ensure_future(self.answer(what, exchange, frame))
        exchange.on_cancel = lambda: (self.cancelled.append(what), task.cancel())[0]

    async def answer(self, what: str, exchange: Exchange, frame: Frame) -> None:
        if what in ("first", "second"):
            await asyncio.sleep(600)
        elif what == "echo":
            await exchange.finish_with(b"", frame.body)
        elif what == "long":
            await exchange.finish_with(b"", await exchange.rest_of_body(frame.body))
        elif what in ("stream", "turns"):
            while True:
                await exchange.send_chunk(b"x" * 1000)
                self.sent += 1
                if what == "turns":
                    await asyncio.sleep(0)
        elif what == "full":
            exchange.finish(FrameKind.FULL)


class _Noting(FrameLink):
    """Notes what comes."""

    def __init__(self, end: End) -> None:
        super().__init__(end.opened)
        self._end_ = end

    def _dispatch(self, frame: Frame) -> None:
        self._end_.frames.append(frame.kind)
        super()._dispatch(frame)


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    made = LoopThread()
    yield made
    made.end()


def linked(work: Any, path: Path) -> Any:
    """Run `work(link, end)` with a link whose other end is an `End`."""

    async def program() -> Any:
        end = End()
        server = await listen(str(path), end.make)
        link = await connect(str(path), FrameLink)
        try:
            return await asyncio.wait_for(work(link, end), 30)
        finally:
            link.close()
            server.close()
            for each in end.links:
                each.close()
            await asyncio.sleep(0)

    return asyncio.run(program())


def test_bodies_of_any_size_go_both_ways(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        for size in (0, 1, LONGEST_BODY, LONGEST_BODY + 1, 3 * WINDOW + 5):
            body = random.Random(size).randbytes(size)
            assert (await link.ask(b"echo" if size <= LONGEST_BODY else b"long", body)).body == body

    linked(work, tmp_path / "socket")


def test_an_answer_ends_its_call_and_nothing_more_is_sent_about_it(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        exchanges = [link.call(what) for what in (b"echo", b"full")]
        for exchange in exchanges:
            assert (await exchange.next()).kind in (FrameKind.DONE, FrameKind.FULL)
            exchange.cancel()
        await link.ask(b"echo")
        assert not link.exchanges and not end.links[0].exchanges
        assert end.frames == [FrameKind.CALL] * 3

    linked(work, tmp_path / "socket")


def test_a_long_path_works_as_well(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> bytes:
        return (await link.ask(b"echo", b"x")).body

    assert linked(work, tmp_path / ("d" * 100) / ("s" * 60)) == b"x"


def test_a_stream_stops_when_its_window_is_full_and_goes_on_when_it_is_read(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        exchange = link.call(b"stream")
        await exchange.next()
        before = -1
        while before != end.sent:
            before = end.sent
            await asyncio.sleep(0.02)
        assert end.sent <= WINDOW // (1 << 14) + 1
        assert (await link.ask(b"echo", b"others go on")).body == b"others go on"
        for _ in range(200):
            assert (await exchange.next()).kind is FrameKind.CHUNK
        assert end.sent > before
        exchange.cancel()
        while not end.cancelled:
            await asyncio.sleep(0)

    linked(work, tmp_path / "socket")


def test_chunks_that_have_come_meanwhile_are_read_as_one_and_give_their_credit(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        exchange = link.call(b"stream")
        first = await exchange.next()
        while end.sent < WINDOW // (1 << 14):
            await asyncio.sleep(0)
        await link.ask(b"echo")  # answered after all that was sent before
        assert len(exchange.also(first.body)) == 1000 * end.sent
        before = end.sent
        await exchange.next()
        assert end.sent > before
        exchange.cancel()

    linked(work, tmp_path / "socket")


def test_short_chunks_that_follow_fast_leave_with_what_leaves_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "CHUNKS_WAIT_S", 1e9)  # the last write, at 0 on the clock, is not so long ago

    async def work(link: FrameLink, end: End) -> None:
        exchange = link.call(b"turns")
        while end.sent < 10:
            await asyncio.sleep(0)
        assert exchange.also(b"") == b""
        await link.ask(b"echo")
        assert len(exchange.also(b"")) >= 10_000
        exchange.cancel()

    linked(work, tmp_path / "socket")


def test_a_body_that_nobody_reads_ends_when_the_call_is_refused(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> FrameKind:
        return (await link.ask(b"full", b"x" * (5 * WINDOW))).kind

    assert linked(work, tmp_path / "socket") is FrameKind.FULL


def test_a_lost_link_ends_its_calls_at_both_ends(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        waiting = link.call(b"stream")
        frame = await waiting.next()
        end.links[0].close()
        while frame.kind is FrameKind.CHUNK:
            frame = await waiting.next()
        assert frame.kind is FrameKind.LOST
        with pytest.raises(LinkLost):
            await whole(waiting, frame)
        with pytest.raises(LinkLost):
            link.call(b"echo")
        assert end.cancelled == ["stream"]
        assert not link.exchanges and not end.links[0].exchanges

    linked(work, tmp_path / "socket")


def test_a_call_to_an_end_that_answers_none_closes_the_link(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        await link.ask(b"echo")
        end.links[0].call(b"back")
        while not link.lost_because:
            await asyncio.sleep(0)

    linked(work, tmp_path / "socket")


def test_a_cancel_of_a_call_by_its_answerer_ends_the_link_and_the_call(tmp_path: Path) -> None:
    """Nobody sends it; a caller that let the call go without an answer would wait for ever."""

    async def work(link: FrameLink, end: End) -> None:
        waiting = link.call(b"stream")
        await waiting.next()
        end.links[0].send(FrameKind.CANCEL, waiting.id)
        while (await waiting.next()).kind is FrameKind.CHUNK:
            pass
        assert "damaged" in link.lost_because and link.bad_frames == 1

    linked(work, tmp_path / "socket")


def test_a_link_that_is_closed_opens_no_call_that_came_with_the_reason(tmp_path: Path) -> None:
    async def work(link: FrameLink, end: End) -> None:
        await link.ask(b"echo")
        link.call(b"first")
        for id in (2, 7):  # the first is open already
            link.send(FrameKind.CALL, id, b"second")
        while not link.lost_because:
            await asyncio.sleep(0)
        assert end.cancelled == ["first"] and not end.links[0].exchanges

    linked(work, tmp_path / "socket")


def test_random_bytes_end_their_link_and_nothing_else(tmp_path: Path) -> None:
    chance = random.Random(2)

    async def work(link: FrameLink, end: End) -> None:
        seen: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, facts: seen.append(facts))
        for _ in range(300):
            kind = chance.randrange(12)
            frame = bytearray(
                struct.pack("<IIIB", chance.randrange(40), chance.randrange(20), chance.randrange(4), kind)
            )
            frame += chance.randbytes(chance.randrange(80))
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(tmp_path / "socket"))
                client.sendall(bytes(frame))
            await asyncio.sleep(0)
        assert (await link.ask(b"echo", b"here")).body == b"here"
        assert seen == []

    linked(work, tmp_path / "socket")
