"""Keeps the records that drivers and workers publish until these end, and passes requests to the publishers.

```
  Publish(kind, id, record) ──► RecordBook ──► snapshots
  ReadRows(id, since)       ──► RecordBook ──► the rows of a record that have changed
  AskPublisher(id, what)    ──► RecordBook ──► PublisherAsked(id, what) to whoever has published it
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.connections import Send
from nbaccel.local_engine.head.peers import Peer
from nbaccel.local_engine.head.refusal import Refusal
from nbaccel.local_engine.wire import driver_questions as asks
from nbaccel.views.observer_lines import AskPublisher, ReadRows
from nbaccel.views.question import Row
from nbaccel.views.record_book import RecordBook
from nbaccel.views.record_rows import RowsAnswer
from nbaccel.views.snapshot import PublishedRow


class Published:
    """The published records of a head; a publisher is known by its client id."""

    def __init__(self, peers: Mapping[int, Peer], send: Send, changed: Callable[[], None]) -> None:
        self._peers = peers
        self._send = send
        self._changed = changed
        self._book: RecordBook[int] = RecordBook()

    def answers(self) -> list[Row[Peer]]:
        """The questions that this component answers."""
        return [
            asks.Publish.answered_by(self._publish),
            AskPublisher.answered_by(self._ask),
            ReadRows.answered_by(self._read_rows),
        ]

    def _publish(self, peer: Peer, asked: asks.Publish) -> None:
        if asked.record is None:
            self._book.withdraw(peer.client_id, asked.id)
        else:
            try:
                self._book.publish(peer.client_id, asked.kind, asked.id, asked.record, peer.job, asked.rows)
            except ValueError as error:
                raise Refusal("ValueError", str(error)) from None
        self._changed()

    def _ask(self, peer: Peer, asked: AskPublisher) -> None:
        try:
            publisher = self._peers.get(self._book.publisher_of(asked.id))
        except ValueError as error:
            raise Refusal("ValueError", str(error)) from None
        if publisher is not None and not publisher.closed:
            self._send(publisher, wire.PublisherAsked(asked.id, asked.what))

    def _read_rows(self, peer: Peer, asked: ReadRows) -> RowsAnswer:
        try:
            return self._book.read_rows(asked.id, asked.since)
        except ValueError as error:
            raise Refusal("ValueError", str(error)) from None

    def client_gone(self, client_id: int) -> None:
        """A client has gone: withdraw its records."""
        if self._book.publisher_gone(client_id):
            self._changed()

    def rows(self) -> list[PublishedRow]:
        return self._book.rows()
