"""The records that this process publishes, and the functions that handle requests to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.wire.driver_questions import Publish
from nbaccel.views import record_rows
from nbaccel.views.record_book import Asked, Rows, check


class PublishedRecords:
    """The records of one driver or worker."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._asked: dict[str, Asked] = {}
        link.receivers[wire.PublisherAsked] = self._was_asked

    def publish(
        self, kind: str, id: str, record: Mapping[str, Any] | None, asked: Asked | None, rows: Rows | None
    ) -> None:
        """Publish a record, as the engine promises."""
        if record is None:
            self._link.ask(Publish(kind, id))
            self._asked.pop(id, None)
            return
        check(kind, id, record)
        record_rows.check(rows or {})
        if asked is not None:
            self._asked[id] = asked
        sent = {key: dict(row) for key, row in (rows or {}).items()}
        self._link.ask(Publish(kind, id, dict(record), sent))

    def _was_asked(self, message: wire.PublisherAsked) -> None:
        """Handle a request; called in the reader thread."""
        asked = self._asked.get(message.id)
        if asked is not None:
            asked(message.what)
