"""Reads a mailbox's messages in their order.

Two questions for messages may be under way at once: the one that waits for news, and one at a function's end. The
mailbox answers them in order, but a large answer may arrive after a small one that was given later.

```
  take ──► (0, [five large reports]) ─────────────────────┐
  take ──► (5, ["returned"]) ──► kept until the five are read ──► read, and then the rank's end
```
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from nbaccel.train.inbox import Inbox

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
        self.asked: Any = None  # the question that waits for news
        self._inbox, self._take, self._read, self._failed, self._still = inbox, take, read, failed, still
        self._next = 0
        self._early: list[tuple[int, Sequence[Any], Callable[[], None]]] = []

    def follow(self) -> None:
        """Read all messages from now on."""
        self.asked = self._take(_TAKE_S)
        self._when(self.asked, self.follow)

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
