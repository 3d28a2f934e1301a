"""What a run's thread waits for, without any process."""

from __future__ import annotations

import gc
import weakref
from functools import partial

from nbaccel.train.mailbox import Inbox


class Held:
    """Something that an event holds."""


def test_an_inbox_that_is_closed_lets_go_of_what_nobody_looked_at() -> None:
    inbox, early, late = Inbox(), Held(), Held()
    kept = [weakref.ref(early), weakref.ref(late)]
    inbox.put(partial(id, early))
    inbox.close()
    inbox.put(partial(id, late))
    del early, late
    gc.collect()
    assert [each() for each in kept] == [None, None]
    assert inbox.next(until=0.0) is None
