"""The WebSocket of a tab: what it wants to see, and what it asks. It gives no orders: those are POST requests."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

import nbaccel_lab
from nbaccel_lab.connection import HeadRefused, HeadUnavailable
from nbaccel_lab.handler import RESOURCE, may_execute
from nbaccel_lab.runtimes import PROTOCOL
from nbaccel_lab.watching import Watching

API = 1
MOST_ROWS = 1000
MOST_RUNTIMES = 256
MOST_QUESTIONS = 32  # of a tab, without an answer yet
MOST_CHARACTERS = 1 << 16  # of a message
LOOKING = frozenset(
    {"explain", "tasks", "logs", "notes", "runs", "accounting", "readings", "rows", "stack", "task_log"}
)


class Misunderstood(ValueError):
    """A message of the browser that has no meaning."""


class Outbox:
    """Messages that wait to be sent: the newest of each key, so that a slow tab is sent what is true now."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._filled = asyncio.Event()

    def put(self, key: str, text: str) -> None:
        self._waiting[key] = text
        self._filled.set()

    def clear(self) -> None:
        self._waiting.clear()

    async def take(self) -> str:
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.pop(next(iter(self._waiting)))


class Turns:
    """Lets one tab send in each pass of the event loop: a hundred at once would keep all requests waiting."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def come(self) -> None:
        async with self._lock:
            await asyncio.sleep(0)  # the loop does what else is due


class WatchHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """A tab, as `watching.Tab` describes it."""

    auth_resource = RESOURCE
    _track_activity = False

    @ws_authenticated
    @authorized(action="read", resource=RESOURCE)
    async def get(self, *parts: str, **given: str) -> None:
        self._may_execute = await may_execute(self)
        await super().get(*parts, **given)

    @property
    def _watching(self) -> Watching:
        watching: Watching = self.settings["nbaccel_watching"]
        return watching

    def open(self, *parts: str, **given: str) -> None:
        super().open(*parts, **given)
        self.shown, self.runtimes, self.rows = True, frozenset[str](), 0
        self._outbox = Outbox()
        self._asking: set[asyncio.Task[None]] = set()
        self._sending = asyncio.create_task(self._send())
        hello = {"api": API, "version": nbaccel_lab.__version__, "protocol": PROTOCOL, "may_execute": self._may_execute}
        self.tell("hello", json.dumps({"type": "hello", **hello}))
        self._watching.add(self)

    def on_close(self) -> None:
        self.shown = False
        self._watching.remove(self)
        for task in (self._sending, *self._asking):
            task.cancel()
        super().on_close()

    def tell(self, key: str, text: str) -> None:
        self._outbox.put(key, text)

    async def _send(self) -> None:
        """Send one message after the other, each when the tab has room for it."""
        try:
            while True:
                text = await self._outbox.take()
                await self.settings["nbaccel_turns"].come()
                await self.write_message(text)
        except WebSocketClosedError:
            pass  # on_close follows

    # ---- what the tab says

    def on_message(self, text: str | bytes) -> None:
        try:
            said = _object(text)
            kind = said.get("type")
            if kind == "watch":
                self._watch(said)
            elif kind == "ask":
                self._ask(said)
            elif kind in ("hidden", "shown"):
                self._show(kind == "shown")
            else:
                raise Misunderstood("A message has a type: watch, ask, hidden or shown.")
        except Misunderstood as error:
            self.tell("error", json.dumps({"type": "error", "message": str(error)}))

    def _watch(self, said: dict[str, Any]) -> None:
        ids, rows = said.get("runtimes"), said.get("rows", 0)
        if not isinstance(ids, list) or len(ids) > MOST_RUNTIMES or not all(isinstance(id, str) for id in ids):
            raise Misunderstood("watch takes a list of ids of runtimes.")
        if not isinstance(rows, int):
            raise Misunderstood("watch takes a whole number of rows.")
        self.runtimes, self.rows = frozenset(ids), max(0, min(rows, MOST_ROWS))
        self._watching.update(self)

    def _show(self, shown: bool) -> None:
        if shown != self.shown:
            self.shown = shown
            if not shown:
                self._outbox.clear()
            self._watching.update(self)

    def _ask(self, said: dict[str, Any]) -> None:
        number, id, question = said.get("id"), said.get("runtime"), said.get("question")
        if not isinstance(number, int) or not isinstance(id, str) or not isinstance(question, dict):
            raise Misunderstood("ask takes a number as its id, the id of a runtime, and a question as an object.")
        if len(self._asking) >= MOST_QUESTIONS:
            raise Misunderstood(f"{MOST_QUESTIONS} questions of this tab have no answer yet.")
        task = asyncio.create_task(self._answer(number, id, question))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _answer(self, number: int, id: str, question: dict[str, Any]) -> None:
        given: dict[str, Any]
        try:
            if question.get("ask") not in LOOKING:
                raise HeadRefused(f"A tab may ask: {', '.join(sorted(LOOKING))}. Orders are POST requests.")
            record = await self._watching.record(id)
            if record is None:
                raise HeadUnavailable("There is no such runtime, or it has ended.")
            given = {"answer": await self._watching.connections.ask(record, question)}
        except (HeadUnavailable, HeadRefused) as error:
            given = {"error": str(error)}
        self.tell(f"answer {number}", json.dumps({"type": "answer", "id": number, "runtime": id, **given}))


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        if len(text) > MOST_CHARACTERS:
            raise Misunderstood(f"A message has at most {MOST_CHARACTERS:,} characters.")
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, Misunderstood) else Misunderstood("A message is an object of JSON.") from None
    if not isinstance(said, dict):
        raise Misunderstood("A message is an object of JSON.")
    return said
