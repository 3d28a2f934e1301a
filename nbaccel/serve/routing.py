"""The choice of a replica for each request, and one caller's queue of requests that none has room for.

A caller takes the replica with the least of its own requests under way, at random among equals. Limits are kept by the
replicas: one that is at its limit refuses (FULL), and sends CREDIT when it has room again. A replica that is about to
end refuses as well (GOING), and the request goes to another.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

from nbaccel.serve.exceptions import BackPressureError, DeploymentUnavailableError, ReplicaUnavailableError
from nbaccel.serve.link import WINDOW, Exchange, Frame, FrameKind, FrameLink, LinkLost, connect
from nbaccel.serve.records import Membership, Target

if TYPE_CHECKING:
    from asyncio import Future

MOST_TRIES = 3  # of a request whose replicas die
_MODELS = 16  # that a caller remembers of one replica
RELINK_S = 1.0  # before a link that was lost is made anew
_CONNECT_PAUSE_S = 0.05


class Candidate:
    """A replica, as one caller knows it."""

    __slots__ = ("blocked", "connecting", "full", "going", "limit", "link", "models", "path", "tag", "under_way")

    def __init__(self, target: Target) -> None:
        self.tag = target.tag
        self.path = target.path
        self.limit = target.max_ongoing_requests
        self.link: FrameLink | None = None
        self.connecting: asyncio.Task[None] | None = None
        self.under_way = 0
        self.models: dict[str, None] = {}  # that this caller has asked of it, the latest last
        self.full = False  # it has refused, and has not had room since
        self.going = False
        self.blocked = False  # its code does not let its loop run

    def has_room(self) -> bool:
        return (
            self.link is not None
            and not (self.full or self.going or self.blocked or self.link.lost_because)
            and self.under_way < self.limit
        )


def _lives(replica: Candidate) -> bool:
    return replica.link is not None and not replica.link.lost_because


class Sent:
    """A request that a replica has taken. `release` it when its last frame has come or it is given up."""

    __slots__ = ("_released", "_route", "exchange", "pump", "replica")

    def __init__(self, route: Route, replica: Candidate, exchange: Exchange) -> None:
        self._route = route
        self._released = False
        self.replica = replica
        self.exchange = exchange
        self.pump: asyncio.Future[None] | None = None

    def release(self) -> None:
        if not self._released:
            self._released = True
            if self.pump is not None:
                self.pump.cancel()
            if not self.exchange.ended:
                self.exchange.cancel()
            self.replica.under_way -= 1
            self._route.released(self.replica)


class Route:
    """One caller's way to one deployment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.replicas: dict[str, Candidate] = {}
        self.max_queued = -1
        self.retry_on_death = False
        self.unavailable = ""
        self.retries = 0
        self.queue_grew: Callable[[], None] | None = None
        self._queue: deque[Future[None]] = deque()
        self._closed = False

    # ---- who answers

    def set(self, members: Membership) -> None:
        """Take these replicas from now on. Calls that others have are answered by them."""
        self.max_queued, self.retry_on_death = members.max_queued_requests, members.retry_on_death
        self.unavailable = members.unavailable
        wanted = {target.tag: target for target in members.targets}
        for tag in [tag for tag in self.replicas if tag not in wanted]:
            self._drop(self.replicas.pop(tag))
        for tag, target in wanted.items():
            known = self.replicas.get(tag)
            if known is None:
                known = self.replicas[tag] = Candidate(target)
                known.connecting = asyncio.ensure_future(self._connect(known))
            known.limit = target.max_ongoing_requests
        self.has_room()

    def _drop(self, replica: Candidate) -> None:
        """A replica that is no member any more: its link ends with its last answer."""
        replica.going = True
        if replica.connecting is not None:
            replica.connecting.cancel()
        if replica.link is not None and not replica.under_way:
            replica.link.close()

    def released(self, replica: Candidate) -> None:
        """One request less is under way there."""
        if replica.under_way == 0 and replica.link is not None and self.replicas.get(replica.tag) is not replica:
            replica.link.close()
        self.has_room()

    async def _connect(self, replica: Candidate, pause_s: float = 0.0) -> None:
        """Try until it works, or until the replica is no member: one that dies is dropped by its controller."""
        await asyncio.sleep(pause_s)
        while not replica.going:
            try:
                replica.link = await connect(
                    replica.path,
                    lambda: FrameLink(
                        lost=lambda link: self._link_lost(replica),
                        about_link=lambda link, frame: self._about(replica, frame),
                    ),
                )
                break
            except OSError:
                await asyncio.sleep(_CONNECT_PAUSE_S)
        self.has_room()

    def _about(self, replica: Candidate, frame: Frame) -> None:
        if frame.kind is FrameKind.CREDIT:
            replica.full = False
            self.has_room()
        elif frame.kind is FrameKind.FULL:
            replica.full = True
        elif frame.kind is FrameKind.GOING:
            replica.going = True

    def _link_lost(self, replica: Candidate) -> None:
        """Try again later, for as long as it is a member. If its process has ended, its controller drops it meanwhile;
        and a process that is being killed may close its listening socket after this one.
        """
        if not self._closed and not replica.going and self.replicas.get(replica.tag) is replica:
            replica.full = False
            replica.connecting = asyncio.ensure_future(self._connect(replica, RELINK_S))

    # ---- the choice

    def _pick(self, model: str = "") -> Candidate | None:
        """The one with the least under way; of several models, one that had this model lately, if it has room."""
        if model:
            chosen = self._least([each for each in self.replicas.values() if model in each.models])
            chosen = chosen or self._least(self.replicas.values())
            if chosen is not None:
                chosen.models.pop(model, None)
                chosen.models[model] = None
                if len(chosen.models) > _MODELS:
                    del chosen.models[next(iter(chosen.models))]
            return chosen
        return self._least(self.replicas.values())

    def _least(self, replicas: Collection[Candidate]) -> Candidate | None:
        best: list[Candidate] = []
        least = 1 << 60
        for replica in replicas:
            if replica.under_way <= least and replica.has_room():
                if replica.under_way < least:
                    least = replica.under_way
                    best = [replica]
                else:
                    best.append(replica)
        if len(best) > 1:
            return random.choice(best)
        return best[0] if best else None

    @property
    def queued(self) -> int:
        return len(self._queue)

    @property
    def under_way(self) -> int:
        return sum(replica.under_way for replica in self.replicas.values())

    def pick_now(self, model: str = "") -> Candidate | None:
        """A replica with room, unless others wait for one."""
        return self._pick(model) if not self._queue else None

    async def turn(self, patience_s: float | None = None, model: str = "") -> Candidate:
        """A replica with room; the oldest request gets it first.

        `patience_s`: so long a request may wait while no replica lives. Raises BackPressureError,
        DeploymentUnavailableError.
        """
        replica = self.pick_now(model)
        if replica is not None:
            return replica
        if self.unavailable:
            raise DeploymentUnavailableError(self.unavailable)
        if 0 <= self.max_queued <= len(self._queue):
            raise BackPressureError(len(self._queue), self.max_queued)
        return await self._wait(patience_s, model)

    async def _wait(self, patience_s: float | None, model: str) -> Candidate:
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        if self.queue_grew is not None:
            self.queue_grew()
        while True:
            try:
                if patience_s is None:
                    await place
                else:
                    await asyncio.wait_for(asyncio.shield(place), patience_s)
            except TimeoutError:
                if any(map(_lives, self.replicas.values())):
                    continue  # they are busy, which may last
                self._leave(place)
                raise DeploymentUnavailableError(
                    f"No replica of {self.name} has been there for {patience_s:g} s."
                ) from None
            except BaseException:
                self._leave(place)
                raise
            if self.unavailable:
                raise DeploymentUnavailableError(self.unavailable)
            replica = self._pick(model)
            if replica is not None:
                self.has_room()  # there may be room for the next one
                return replica
            place = asyncio.get_running_loop().create_future()
            self._queue.appendleft(place)

    def _leave(self, place: Future[None]) -> None:
        """A request gives its place up. If its turn had come, another one gets it."""
        if place in self._queue:
            self._queue.remove(place)
        else:
            self.has_room()

    def has_room(self) -> None:
        """Something has changed: the oldest request looks again."""
        while self._queue and (self.unavailable or self._pick() is not None):
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                if not self.unavailable:
                    return

    # ---- requests

    async def send(
        self,
        meta: bytes,
        body: bytes,
        upload: Upload | None = None,
        *,
        may_repeat: bool = False,
        patience_s: float | None = None,
        begun: tuple[Sent, Frame] | None = None,
        model: str = "",
    ) -> tuple[Sent, Frame]:
        """Have a replica take a request, and wait for its first frame: DONE, ERROR or the first CHUNK.

        `may_repeat`: if the replica dies, another one gets the request. `begun`: it has been sent already, and this
        frame has come. Raises ReplicaUnavailableError, and as `turn`.
        """
        deaths = 0
        while True:
            sent, frame = begun or await self._send_once(meta, body, upload, patience_s, model)
            begun, replica = None, sent.replica
            if frame.kind is FrameKind.FULL or frame.kind is FrameKind.GOING:
                sent.release()
            elif frame.kind is FrameKind.LOST:
                sent.release()
                deaths += 1
                await self._answer_death(replica, deaths, upload, may_repeat=may_repeat)
            else:
                return sent, frame

    async def _send_once(
        self, meta: bytes, body: bytes, upload: Upload | None, patience_s: float | None, model: str
    ) -> tuple[Sent, Frame]:
        while True:
            replica = await self.turn(patience_s, model)
            try:
                sent = self.open(replica, meta, body, upload)
            except LinkLost:
                continue  # nothing was sent
            try:
                return sent, await sent.exchange.next()
            except BaseException:
                sent.release()
                raise

    def open(self, replica: Candidate, meta: bytes, body: bytes, upload: Upload | None) -> Sent:
        assert replica.link is not None
        exchange = replica.link.call(meta, body)
        replica.under_way += 1
        sent = Sent(self, replica, exchange)
        if upload is not None:
            sent.pump = asyncio.ensure_future(upload.pump(exchange))
        return sent

    async def _answer_death(self, replica: Candidate, deaths: int, upload: Upload | None, *, may_repeat: bool) -> None:
        """A replica has gone with a request: return if another may have it, raise if not."""
        if upload is not None and upload.failed is not None:
            raise upload.failed
        may_repeat = (may_repeat or self.retry_on_death) and (upload is None or upload.can_repeat)
        if may_repeat and deaths < MOST_TRIES:
            self.retries += 1
            return
        why = await self.why_it_died(replica.tag)
        if may_repeat:
            raise ReplicaUnavailableError(
                f"{deaths} replicas of {self.name} ended while they had this request, which may be the reason: {why}",
                deaths,
            )
        raise ReplicaUnavailableError(f"{why} The request had been sent and may have run.")

    async def why_it_died(self, tag: str) -> str:
        """Words for callers; a controller knows more."""
        return f"Replica {tag} ended."

    def close(self) -> None:
        """Give all of it up."""
        self._closed = True
        self.unavailable = self.unavailable or f"{self.name} is closed."
        self.has_room()
        for replica in self.replicas.values():
            self._drop(replica)
            if replica.link is not None:
                replica.link.close()
        self.replicas.clear()


class Upload:
    """The part of a request's body that follows its first frame. What a replica may not have taken yet is kept."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        """`read` returns the next part, b"" at the end."""
        self._read = read
        self._kept: list[bytes] = []
        self._size = 0
        self._complete = False
        self.can_repeat = True
        self.failed: BaseException | None = None

    async def pump(self, exchange: Exchange) -> None:
        """Send all of it; again from the start for another replica."""
        try:
            for part in list(self._kept):
                await exchange.send_chunk(part)
            while not self._complete:
                part = await self._read()
                self._keep(part)
                self._complete = not part
                if part:
                    await exchange.send_chunk(part)
            exchange.link.send(FrameKind.END, exchange.id)
        except LinkLost:
            return  # whoever waits for the answer knows as well
        except Exception as error:  # of whoever reads the body: it is raised where the answer is awaited
            self.failed = error
            exchange.received(Frame(FrameKind.LOST, exchange.id, b"", b""))

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > WINDOW:  # a replica that lets more come has taken the request
            self.can_repeat = False
            self._kept.clear()
        elif part:
            self._kept.append(part)
