"""The meeting point of a worker group and its driver: one service actor for each run.

```
  rank ── put(report 7) ──► mailbox ── take() ──► driver
       ◄── when to stop ──┘          ◄── stop() ─┘
  ranks ── meet("barrier/1", value) ──► all of them get what rank 0 gave
  rank ── when_committed(7) ──► waits ◄── committed(7) ── driver
```
A rank sends a report and goes on; before its next one it reads the answer to the last. A rank never has more than one
report on its way, no rank waits for another, and *all ranks stop after the same report*: when the driver asks to stop
while report m is the latest that any rank has sent, the answer to every later one says "stop after m + 2". No rank can
have called report m + 2 yet, because that needs the answer to m + 1.

Where only some checkpoints are kept, a rank brings its next one when its last is committed: a rank that runs ahead of
the others, or of the driver, does not fill the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

Message = tuple[int, str, int, Any]  # rank, kind, number, contents


class Mailbox:
    """An asyncio actor. Calls that name a worker group which has ended are answered and dropped."""

    def __init__(self) -> None:
        self._worker_group = -1
        self._size = 0
        self._latest = -1
        self._stop_after: int | None = None
        self._messages: list[Message] = []
        self._taken = 0  # messages of this worker group that the driver has got
        self._news = asyncio.Event()
        self._meetings: dict[str, _Meeting] = {}
        self._committed: float = -1  # the last report whose checkpoint is; infinite: nobody waits any more
        self._commits = asyncio.Condition()

    async def begin(self, worker_group: int, size: int, first: int) -> None:
        """A worker group of so many ranks starts; its first report has the number `first`."""
        self._worker_group, self._size, self._latest, self._stop_after = worker_group, size, first - 1, None
        self._taken = 0
        self._messages.clear()
        self._news.set()  # a question for news of the earlier worker group gets none
        for meeting in self._meetings.values():
            meeting.dissolve()
        self._meetings.clear()
        await self._committed_up_to(first - 1)

    async def put(self, worker_group: int, rank: int, kind: str, number: int, contents: Any) -> int | None:
        """Leave a message for the driver; returns the number of the report after which to stop, or None."""
        if worker_group != self._worker_group:
            return None
        if kind == "report":
            self._latest = max(self._latest, number)
        self._messages.append((rank, kind, number, contents))
        self._news.set()
        return self._stop_after

    async def take(self, worker_group: int, max_wait_s: float) -> Batch:
        """The messages since the last call, with the number of the first; waits up to a timeout for one."""
        if not self._messages and max_wait_s:
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), max_wait_s)
        if worker_group != self._worker_group:
            return 0, []
        messages, self._messages = self._messages, []
        first, self._taken = self._taken, self._taken + len(messages)
        return first, messages

    async def stop(self, worker_group: int) -> None:
        """Have all ranks stop after the same report, as soon as possible."""
        if worker_group == self._worker_group and self._stop_after is None:
            self._stop_after = self._latest + 2
            await self._committed_up_to(math.inf)  # there are only a few more

    async def stop_after(self, worker_group: int) -> int | None:
        """The number of the report after which to stop; None while nobody has asked to stop."""
        return self._stop_after if worker_group == self._worker_group else None

    async def committed(self, worker_group: int, report: float) -> None:
        """The checkpoint of this report is committed; with an infinite number, no rank waits for a commit any more."""
        if worker_group == self._worker_group and report > self._committed:
            await self._committed_up_to(report)

    async def _committed_up_to(self, report: float) -> None:
        async with self._commits:
            self._committed = report
            self._commits.notify_all()

    async def when_committed(self, worker_group: int, report: int) -> None:
        """Wait until the checkpoint of this report is committed, or nobody is to wait for it."""
        async with self._commits:
            await self._commits.wait_for(lambda: worker_group != self._worker_group or report <= self._committed)

    async def meet(self, worker_group: int, name: str, rank: int, value: Any) -> Any:
        """Wait until all ranks have called this with the same name; returns rank 0's value."""
        if worker_group != self._worker_group:
            return None
        meeting = self._meetings.setdefault(name, _Meeting())
        answer = await meeting.join(rank, value, self._size)
        self._meetings.pop(name, None)
        return answer


class _Meeting:
    def __init__(self) -> None:
        self._present: set[int] = set()
        self._value: Any = None
        self._all_here = asyncio.Event()

    async def join(self, rank: int, value: Any, size: int) -> Any:
        self._present.add(rank)
        if rank == 0:
            self._value = value
        if len(self._present) == size:
            self._all_here.set()
        await self._all_here.wait()
        return self._value

    def dissolve(self) -> None:
        self._all_here.set()


# ---- reads a mailbox's messages in their order
#
# Two questions for messages may be under way at once: the one that waits for news, and one at a function's end. The
# mailbox answers them in order, but a large answer may arrive after a small one that was given later.
#
# ```
#   take ──► (0, [five large reports]) ─────────────────────┐
#   take ──► (5, ["returned"]) ──► kept until the five are read ──► read, and then the rank's end
# ```


Batch = tuple[int, Sequence[Any]]  # the number of its first message, and the messages
_TAKE_S = 30.0  # one question waits so long for news


class MailReader:
    """The messages of one mailbox, for the thread of an inbox.

    take    asks the mailbox; returns a ref of a Batch. It waits up to a number of seconds for a message
    read    is called with messages
    failed  is called with the exception of a mailbox that does not answer any more
    still   whether anybody wants the messages
    """

    def __init__(
        self,
        inbox: Inbox,
        take: Callable[[float], Any],
        read: Callable[[Sequence[Any]], None],
        failed: Callable[[BaseException], None],
        still: Callable[[], bool],
    ) -> None:
        self.request: Any = None  # the question that waits for news
        self._inbox, self._take, self._read, self._failed, self._still = inbox, take, read, failed, still
        self._next = 0
        self._early: list[tuple[int, Sequence[Any], Callable[[], None]]] = []

    def follow(self) -> None:
        """Read all messages from now on."""
        self.request = self._take(_TAKE_S)
        self._when(self.request, self.follow)

    def after_all(self, then: Callable[[], None]) -> None:
        """Call `then` once all messages are read that the mailbox has now."""
        self._when(self._take(0), then)

    def _when(self, ref: Any, then: Callable[[], None]) -> None:
        self._inbox.when(ref, lambda future: self._came(future, then), self._still)

    def _came(self, future: Future[Batch], then: Callable[[], None]) -> None:
        error = future.exception()
        if error is not None:
            self._failed(error)
            return
        self._early.append((*future.result(), then))
        while self._still() and (ready := [each for each in self._early if each[0] <= self._next]):
            self._early.remove(ready[0])
            _, messages, then_ = ready[0]
            self._next += len(messages)
            self._read(messages)
            if self._still():
                then_()


# ---- the events that a run's thread waits for: refs that become ready, calls from other threads, and a time


Happened = Callable[[], None]


class Inbox:
    """Every event is a function; the run's own thread calls them one after the other."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Happened] = queue.SimpleQueue()
        # Here and not in the futures' callbacks, which live as long as the engine knows of the futures.
        self._waiting: dict[int, tuple[Callable[[Future[Any]], None], Callable[[], bool]]] = {}
        self._numbers = itertools.count()
        self._is_closed = False

    def put(self, happened: Happened) -> None:
        """Add an event, from any thread."""
        if not self._is_closed:
            self._queue.put(happened)
        if self._is_closed:  # meanwhile: the closing thread may not have seen it
            self._drop_all()

    def next(self, until: float | None) -> Happened | None:
        """Wait for the next event; None if the time (of the monotonic clock) comes first."""
        timeout = None if until is None else max(0.0, until - time.monotonic())
        try:
            return self._queue.get(timeout=timeout)
        except queue.Empty:
            return None

    def when(self, ref: Any, received: Callable[[Future[Any]], None], still: Callable[[], bool]) -> None:
        """Call `told` once the ref is ready, if `still` is true then."""

        number = next(self._numbers)
        self._waiting[number] = (received, still)
        ref.future().add_done_callback(lambda future: self.put(lambda: self._ready(number, future)))

    def _ready(self, number: int, future: Future[Any]) -> None:
        received, still = self._waiting.pop(number, (None, None))
        if received is not None and still is not None and still():
            received(future)

    def close(self) -> None:
        """Drop all events, those to come as well.

        Waiting events are dropped because they hold errors, whose frames hold refs: a view that shows the ended run
        would keep the objects.
        """
        self._is_closed = True
        self._waiting.clear()
        self._drop_all()

    def _drop_all(self) -> None:
        try:
            while True:
                self._queue.get_nowait()
        except queue.Empty:
            return
