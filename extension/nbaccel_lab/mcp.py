"""Tools for coding assistants, where `jupyter_server_mcp` is installed: look at devices and tasks, ask why, cancel.

That server has a port of its own without a login. The tools therefore ask this server's authorizer as the user
`nbaccel-assistant`, and they cancel only if the configuration says `c.NbaccelLab.assistants_may_cancel = True`.
"""

from __future__ import annotations

from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth import User
from jupyter_server.serverapp import ServerApp

from nbaccel_lab.connection import HeadUnavailable
from nbaccel_lab.handler import RESOURCE
from nbaccel_lab.runtimes import RuntimeRecord
from nbaccel_lab.watching import Watching

ASSISTANT = User(username="nbaccel-assistant", name="nbaccel-assistant")
FEW_ROWS = 50
LOG_LINES = 100
TOOLS = [
    f"nbaccel_lab.mcp:{name}" for name in ("accel_devices", "accel_tasks", "accel_why", "accel_log", "accel_cancel")
]


class NotAllowed(Exception):
    """The tool may not do this; the message says what would allow it."""


async def accel_devices() -> dict[str, Any]:
    """List the accelerators of this machine with their load and processes, and the nbaccel runtimes that run on it."""
    watching = await _allowed("read")
    await watching.look()
    return {"machine": await watching.sampler.machine(), **watching.listed()}


async def accel_tasks(runtime: str, text: str = "") -> dict[str, Any]:
    """List tasks of a runtime (its id, from accel_devices), newest first; `text` keeps those with it in their row."""
    said = await _asked("read", runtime, {"ask": "tasks", "filter": {"text": text, "limit": FEW_ROWS}})
    return {"rows": said.get("rows", []), "total": said.get("total", 0)}


async def accel_why(runtime: str, task: str = "") -> list[str]:
    """Say why a task (its id) of a runtime waits; without a task, why anything does."""
    said = await _asked("read", runtime, {"ask": "explain", "task_id": task or None})
    return [str(each.get("sentence", "")) for each in said.get("explanations", [])]


async def accel_log(runtime: str, task: str = "") -> str:
    """Read the last lines that a task (its id) of a runtime has printed; without a task, those of all workers."""
    said = await _asked("read", runtime, {"ask": "logs", "task_id": task or None, "tail": LOG_LINES})
    return str(said.get("text", ""))


async def accel_cancel(runtime: str, task: str) -> str:
    """Cancel a task (its id) of a runtime. Ask the person first."""
    await _asked("execute", runtime, {"ask": "cancel", "task_id": task, "force": False})
    return f"Cancelled {task}."


async def _asked(action: str, runtime: str, question: dict[str, Any]) -> dict[str, Any]:
    """The head's answer. Raises NotAllowed, HeadUnavailable, HeadRefused."""
    watching = await _allowed(action)
    record: RuntimeRecord | None = await watching.record(runtime)
    if record is None:
        raise HeadUnavailable("There is no such runtime, or it has ended. accel_devices lists them.")
    return await watching.connections.ask(record, question)


async def _allowed(action: str) -> Watching:
    """What the server knows, if the tools may do this. Raises NotAllowed."""
    server: Any = ServerApp.instance()
    [extension] = server.extension_manager.extension_apps["nbaccel_lab"]
    if action == "execute" and not extension.assistants_may_cancel:
        raise NotAllowed("Assistants may not cancel here. c.NbaccelLab.assistants_may_cancel = True allows it.")
    if not await ensure_async(server.authorizer.is_authorized(None, ASSISTANT, action, RESOURCE)):
        raise NotAllowed(f"This server does not let {ASSISTANT.username} {action} {RESOURCE}.")
    watching: Watching = extension.watching
    return watching
