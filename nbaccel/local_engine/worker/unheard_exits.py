"""exit_actor() in code that no call waits for: what asyncio and threading would print of it is our own control flow."""

from __future__ import annotations

import logging
import threading
from typing import Any

from nbaccel.local_engine.worker.execution import ActorExit


def silence() -> None:
    """From now on no loop and no thread of this process reports an ActorExit that nobody has caught."""
    logging.getLogger("asyncio").addFilter(_is_news)  # adding the same filter twice has no effect
    before = threading.excepthook
    if not isinstance(before, _ExceptHook):
        threading.excepthook = _ExceptHook(before)


def _is_news(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], ActorExit))


class _ExceptHook:
    """What a thread's uncaught exception is given to; the hook that was there before gets all others."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, args: Any) -> None:
        if not issubclass(args.exc_type, ActorExit):
            self._before(args)
