"""What all handlers of the extension share: who may do what, and how an error is answered."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import HTTPError, authenticated

from nbaccel_lab.commands import CommandFailed
from nbaccel_lab.connection import HeadRefused, HeadUnavailable
from nbaccel_lab.runtimes import RuntimeRecord
from nbaccel_lab.watching import Watching

RESOURCE = "nbaccel"
REFUSED = {
    "read": "Your login on this Jupyter server may not look at nbaccel.",
    "execute": "Your login on this Jupyter server may not change anything of nbaccel.",
}
H = TypeVar("H", bound="NbaccelHandler")
Method = Callable[[H], Awaitable[dict[str, Any]]]


class NbaccelHandler(APIHandler):
    """Answers with an object of JSON. Looking at a runtime is no activity that keeps a server from being culled."""

    auth_resource = RESOURCE
    _track_activity = False

    @property
    def watching(self) -> Watching:
        watching: Watching = self.settings["nbaccel_watching"]
        return watching

    async def may_execute(self) -> bool:
        """Whether this user may change something."""
        return await may_execute(self)

    async def runtime(self, id: Any) -> RuntimeRecord:
        """The runtime of this id. Raises HTTPError."""
        if not isinstance(id, str) or not id:
            raise HTTPError(400, "Name the runtime: its id is in the list of runtimes.")
        record = await self.watching.record(id)
        if record is None:
            raise HTTPError(404, "There is no such runtime, or it has ended.")
        return record

    async def ask(self, record: RuntimeRecord, question: dict[str, Any]) -> dict[str, Any]:
        return await self.watching.connections.ask(record, question)

    def given(self) -> dict[str, Any]:
        """The object in the body of the request. Raises HTTPError."""
        given = self.get_json_body()
        if not isinstance(given, dict):
            raise HTTPError(400, "The body of the request is no object of JSON.")
        return given

    def kernelspec(self, given: Any) -> str:
        """The name of a kernelspec; the server's usual one where none is given. Raises HTTPError."""
        name = given or self.kernel_manager.default_kernel_name
        if not isinstance(name, str):
            raise HTTPError(400, "Name a kernelspec, as text.")
        return name

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number of the address. Raises HTTPError."""
        given = self.get_query_argument(name, "")
        try:
            return min(int(given), most) if given else default
        except ValueError:
            raise HTTPError(400, f"{name} takes a whole number.") from None

    def write_error(self, status_code: int, **given: Any) -> None:
        """A sentence for a person, as JSON, whatever went wrong."""
        error = given.get("exc_info", (None, None, None))[1]
        message = "The Jupyter server failed to answer; its log says why."
        if isinstance(error, HTTPError):
            message = (error.log_message or self._reason) % error.args  # Tornado keeps it as a format
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps({"message": message, "reason": None}))


async def may_execute(handler: Any) -> bool:
    return bool(
        await ensure_async(handler.authorizer.is_authorized(handler, handler.current_user, "execute", RESOURCE))
    )


def looks(method: Method[H]) -> Callable[[H], Awaitable[None]]:
    """A method for those who may read."""
    return _served(method, "read")


def orders(method: Method[H]) -> Callable[[H], Awaitable[None]]:
    """A method for those who may change something."""
    return _served(method, "execute")


def _served(method: Method[H], action: str) -> Callable[[H], Awaitable[None]]:
    @authenticated
    @authorized(action=action, resource=RESOURCE, message=REFUSED[action])
    @wraps(method)
    async def served(self: H) -> None:
        try:
            answer = await method(self)
        except HeadUnavailable as error:
            raise HTTPError(503, str(error)) from None
        except (HeadRefused, CommandFailed) as error:
            raise HTTPError(409, str(error)) from None
        self.finish(json.dumps(answer))

    return served  # type: ignore[no-any-return, unused-ignore]
