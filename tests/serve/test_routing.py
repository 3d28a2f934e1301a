"""One caller's route: who is chosen, who waits, and what happens to links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from nbaccel.serve import routing
from nbaccel.serve.exceptions import BackPressureError, DeploymentUnavailableError, ReplicaUnavailableError
from nbaccel.serve.link import Exchange, Frame, FrameKind, FrameLink, listen
from nbaccel.serve.records import Membership, Target
from nbaccel.serve.routing import Route


class FakeReplica:
    """Answers when the test lets it; with a limit that it keeps as a replica does."""

    def __init__(self, folder: Path, tag: str, limit: int = 10) -> None:
        self.tag = tag
        self.limit = limit
        self.path = str(folder / tag)
        self.held: list[Exchange] = []
        self.links: list[FrameLink] = []
        self.refused: set[FrameLink] = set()
        self.answers_at_once = True

    async def begin(self) -> None:
        self.server = await listen(self.path, self.make)

    def make(self) -> FrameLink:
        self.links.append(FrameLink(self.opened))
        return self.links[-1]

    def opened(self, exchange: Exchange, frame: Frame) -> None:
        if len(self.held) >= self.limit:
            self.refused.add(exchange.link)
            exchange.finish(FrameKind.FULL)
            return
        self.held.append(exchange)
        if self.answers_at_once:
            self.release()

    def release(self) -> None:
        """Answer the oldest, and let those who were refused know."""
        self.held.pop(0).finish(FrameKind.DONE, b"", self.tag.encode())
        for link in self.refused:
            link.send(FrameKind.CREDIT, 0)
        self.refused.clear()

    def target(self, limit: int = 10) -> Target:
        return Target(self.tag, self.path, limit)

    def end(self) -> None:
        self.server.close()
        for link in self.links:
            link.close()


Work = Callable[[Route, list[FakeReplica]], Coroutine[Any, Any, None]]


def routed(folder: Path, work: Work, **limits: int) -> None:
    """Run `work(route, replicas)` with a replica for each of `limits`."""

    async def program() -> None:
        replicas = [FakeReplica(folder, tag, limit) for tag, limit in limits.items()]
        for each in replicas:
            await each.begin()
        route = Route("x of y")
        route.set(Membership([each.target() for each in replicas]))
        try:
            await asyncio.wait_for(work(route, replicas), 30)
        finally:
            route.close()
            for each in replicas:
                each.end()
            await asyncio.sleep(0)

    asyncio.run(program())


async def asked(route: Route, **options: Any) -> str:
    sent, frame = await route.send(b"", b"", **options)
    sent.release()
    return frame.body.decode()


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_the_replica_with_the_least_under_way_is_chosen(tmp_path: Path) -> None:
    async def work(route: Route, replicas: list[FakeReplica]) -> None:
        for each in replicas:
            each.answers_at_once = False
        calls = [asyncio.ensure_future(asked(route)) for _ in range(6)]
        await until(lambda: [len(each.held) for each in replicas] == [3, 3])
        for each in replicas:
            for _ in range(3):
                each.release()
        assert sorted(await asyncio.gather(*calls)) == ["a", "a", "a", "b", "b", "b"]

    routed(tmp_path, work, a=10, b=10)


def test_refusals_and_credits_that_come_together_forget_nobody(tmp_path: Path) -> None:
    async def work(route: Route, replicas: list[FakeReplica]) -> None:
        assert await asyncio.gather(*(asked(route) for _ in range(200))) == ["a"] * 200

    class Hasty(FakeReplica):
        def opened(self, exchange: Exchange, frame: Frame) -> None:
            if exchange.id % 3:  # a refusal, and in the same write the word that there is room again
                exchange.finish(FrameKind.FULL)
                exchange.link.send(FrameKind.CREDIT, 0)
            else:
                super().opened(exchange, frame)

    async def program() -> None:
        replica = Hasty(tmp_path, "a")
        await replica.begin()
        route = Route("x of y")
        route.set(Membership([replica.target()]))
        await asyncio.wait_for(work(route, [replica]), 30)
        route.close()
        replica.end()
        await asyncio.sleep(0)

    asyncio.run(program())


def test_what_no_replica_has_room_for_waits_in_its_order_and_a_full_queue_refuses(tmp_path: Path) -> None:
    async def work(route: Route, replicas: list[FakeReplica]) -> None:
        replica = replicas[0]
        assert await asked(route) == "a"  # the link is there
        replica.answers_at_once = False
        route.set(Membership([replica.target(limit=1)], max_queued_requests=2))
        order: list[int] = []

        async def call(number: int) -> None:
            await asked(route)
            order.append(number)

        calls = [asyncio.ensure_future(call(number)) for number in range(3)]
        await until(lambda: route.queued == 2 and replica.held)
        with pytest.raises(BackPressureError, match="2 requests wait"):
            await asked(route)
        for _ in range(3):
            await until(lambda: replica.held)
            replica.release()
        await asyncio.gather(*calls)
        assert order == [0, 1, 2]

    routed(tmp_path, work, a=10)


def test_a_request_that_leaves_the_queue_gives_its_turn_on(tmp_path: Path) -> None:
    async def work(route: Route, replicas: list[FakeReplica]) -> None:
        replica = replicas[0]
        replica.answers_at_once = False
        route.set(Membership([replica.target(limit=1)]))
        calls = [asyncio.ensure_future(asked(route)) for _ in range(3)]
        await until(lambda: route.queued == 2 and replica.held)
        calls[1].cancel()
        for _ in range(2):
            await until(lambda: replica.held)
            replica.release()
        assert [await calls[0], await calls[2]] == ["a", "a"]
        assert route.queued == 0 and route.under_way == 0

    routed(tmp_path, work, a=10)


def test_a_lost_link_repeats_what_may_be_repeated_and_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routing, "RELINK_S", 0.01)

    async def work(route: Route, replicas: list[FakeReplica]) -> None:
        replica = replicas[0]
        replica.answers_at_once = False
        once, again = (asyncio.ensure_future(asked(route, may_repeat=repeat)) for repeat in (False, True))
        await until(lambda: len(replica.held) == 2)
        replica.held.clear()
        replica.links[0].close()
        with pytest.raises(ReplicaUnavailableError, match="may have run"):
            await once
        await until(lambda: replica.held)
        replica.release()
        assert await again == "a" and route.retries == 1

    routed(tmp_path, work, a=10)


def test_who_waits_learns_that_nobody_comes(tmp_path: Path) -> None:
    async def work(route: Route, replicas: list[FakeReplica]) -> None:
        route.set(Membership([]))
        waiting = asyncio.ensure_future(asked(route))
        await until(lambda: route.queued == 1)
        route.set(Membership([], unavailable="it was deleted"))
        with pytest.raises(DeploymentUnavailableError, match="it was deleted"):
            await waiting
        route.set(Membership([]))
        with pytest.raises(DeploymentUnavailableError, match="No replica of x of y has been there"):
            await asked(route, patience_s=0.01)

    routed(tmp_path, work, a=10)
