"""The states of a link: its life, the request to its writer, and whether the writer checks without being woken.

```
  life      OPEN ── close ──► CLOSING ── end ──► CLOSED
              └───── end ───► LOST ──── close ─────▲          only an end that we did not ask for is told (`on_lost`)
  request   NOTHING ── nudge ──► SOON ── say ──► NOW           NOTHING ── say ──► NOW
              ▲── flush ──────────┴── flush ──────┘            a flush takes everything that waits, whoever flushes
  writer    LOOKS ── nothing for IDLE_S ──► SLEEPS ── kick ──► LOOKS
```
Threads share these states without a lock. A request is set before its kick is put into the queue, and taken back before
the outbox is emptied: so a request that stands has a kick on its way, and what was queued before is written. A flush
that finds the kick itself, among what has ended, takes the request back once more.
`MOVES` is the whole table; a test drives a link and compares each of its moves with it.
"""

from __future__ import annotations

from enum import Enum


class LinkLife(Enum):
    """The life of a link."""

    OPEN = "open"
    CLOSING = "closing"  # by ourselves: its end is no news
    CLOSED = "closed"
    LOST = "lost"  # it ended before we closed it


class Request(Enum):
    """The writer's task that it has not begun yet."""

    NOTHING = "nothing"
    SOON = "soon"  # to write within LAZY_S
    NOW = "now"


class Writer(Enum):
    """The writer's behaviour without a request."""

    LOOKS = "looks"  # within IDLE_S
    SLEEPS = "sleeps"


State = LinkLife | Request | Writer
MOVES: dict[tuple[State, str], State] = {
    (LinkLife.OPEN, "close"): LinkLife.CLOSING,
    (LinkLife.OPEN, "end"): LinkLife.LOST,
    (LinkLife.CLOSING, "close"): LinkLife.CLOSING,
    (LinkLife.CLOSING, "end"): LinkLife.CLOSED,
    (LinkLife.CLOSED, "close"): LinkLife.CLOSED,
    (LinkLife.CLOSED, "end"): LinkLife.CLOSED,
    (LinkLife.LOST, "close"): LinkLife.CLOSED,
    (LinkLife.LOST, "end"): LinkLife.LOST,
    (Request.NOTHING, "nudge"): Request.SOON,
    (Request.NOTHING, "say"): Request.NOW,
    (Request.NOTHING, "flush"): Request.NOTHING,
    (Request.SOON, "nudge"): Request.SOON,
    (Request.SOON, "say"): Request.NOW,
    (Request.SOON, "flush"): Request.NOTHING,
    (Request.NOW, "nudge"): Request.NOW,
    (Request.NOW, "say"): Request.NOW,
    (Request.NOW, "flush"): Request.NOTHING,
    (Writer.LOOKS, "quiet"): Writer.SLEEPS,
    (Writer.LOOKS, "kick"): Writer.LOOKS,
    (Writer.SLEEPS, "kick"): Writer.LOOKS,
}
LEFT = (LinkLife.CLOSING, LinkLife.CLOSED)
