"""Real kernels for tests: run cells, collect messages under the cell that they belong to, count what is left."""

from __future__ import annotations

import os
import queue
import secrets
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import KernelManager

from tests.census import PATIENCE_S, TOKEN, carriers
from tests.rig import DEADLINE_S

# A second press of Stop counts within three seconds, which a slow machine may need for less.
NO_HURRY = "from nbaccel.waits import stopping\nin_time, stopping.AGAIN_S = stopping.AGAIN_S, 600.0"
HURRY_AGAIN = "stopping.AGAIN_S = in_time"

AS_NEW = """
%accel_shutdown
get_ipython().reset(new_session=True)
get_ipython().execution_count = 0  # one more when this cell ends
"""


@dataclass
class Cell:
    """What the front end got for one execution."""

    id: str
    outputs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # (message type, content)
    reply: dict[str, Any] | None = None

    @property
    def stdout(self) -> str:
        return self._stream("stdout")

    @property
    def stderr(self) -> str:
        return self._stream("stderr")

    def _stream(self, name: str) -> str:
        return "".join(body["text"] for kind, body in self.outputs if kind == "stream" and body["name"] == name)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """Mime bundles, in order."""
        kinds = ("display_data", "execute_result", "update_display_data")
        return [body["data"] for kind, body in self.outputs if kind in kinds]

    @property
    def text(self) -> str:
        """All plain text that a person would see."""
        return "\n".join([self.stdout, self.stderr, *(data.get("text/plain", "") for data in self.shown)])

    @property
    def error(self) -> dict[str, Any] | None:
        return next((body for kind, body in self.outputs if kind == "error"), None)


class Kernel:
    """A kernel process with a client; every process that it starts inherits a random token."""

    def __init__(self, patience_s: float = DEADLINE_S, **environ: str) -> None:
        self._environ = environ
        self._patience_s = patience_s
        self.token = secrets.token_hex(16)
        self._sockets = tempfile.TemporaryDirectory()
        self._manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{self._sockets.name}/kernel")
        self._cells: dict[str, Cell] = {}
        self._start(lambda env: self._manager.start_kernel(env=env))

    def _start(self, start: Callable[[dict[str, str]], Any]) -> None:
        import os

        # A process title is written over the environment that /proc shows, unless SPT_NOENV forbids it.
        start({**os.environ, TOKEN: self.token, "SPT_NOENV": "1", **self._environ})
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=self._patience_s)

    def run(self, code: str) -> Cell:
        """Executes a cell and waits for its reply and for the end of its output."""
        return self.finish(self.submit(code))

    def submit(self, code: str, cell_id: str = "") -> Cell:
        """Starts a cell and does not wait; a front end may name the cell by an id."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True, "stop_on_error": True}
        metadata = {"cellId": cell_id} if cell_id else {}
        message = self._client.session.msg("execute_request", content, metadata=metadata)
        self._client.shell_channel.send(message)
        cell = Cell(message["header"]["msg_id"])
        self._cells[cell.id] = cell
        return cell

    def finish(self, cell: Cell) -> Cell:
        """Waits until the kernel is idle again after the cell."""
        self.until(lambda: cell.reply is not None and ("status", {"execution_state": "idle"}) in cell.outputs)
        return cell

    def until(self, condition: Callable[[], bool]) -> None:
        """Takes messages in until the condition holds."""
        deadline = time.monotonic() + self._patience_s
        while not condition():
            assert time.monotonic() < deadline, (
                f"waited {self._patience_s} s; the last cell has {list(self._cells.values())[-1]}"
            )
            self._take(self._client.get_iopub_msg, 0.05)
            self._take(self._client.get_shell_msg, 0.0)

    def _take(self, receive: Callable[..., dict[str, Any]], timeout_s: float) -> None:
        try:
            message = receive(timeout=timeout_s)
        except queue.Empty:
            return
        cell = self._cells.get(message["parent_header"].get("msg_id", ""))
        if cell is None:
            return
        if message["msg_type"] == "execute_reply":
            cell.reply = message["content"]
        else:
            cell.outputs.append((message["msg_type"], message["content"]))

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        self._client.stop_channels()
        self._start(lambda env: self._manager.restart_kernel(now=False, env=env))

    def begin_again(self) -> None:
        """End its cluster, forget its variables, and count cells from 1: starting another kernel takes seconds."""
        ended = self.run(AS_NEW)
        assert ended.error is None, ended.error
        assert gone(self.token, keep={self.pid}) == {}

    def kill(self) -> None:
        """`kill -9` of the kernel itself, nothing else is signalled."""
        os.kill(self.pid, signal.SIGKILL)

    @property
    def pid(self) -> int:
        return int(self._manager.provisioner.pid)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        self._manager.cleanup_resources()
        self._sockets.cleanup()

    def descendants(self) -> dict[int, str]:
        """Every process of this machine that carries the token, but the kernel: pid -> its title."""
        return {pid: title for pid, title in carriers(self.token).items() if pid != self.pid}


def gone(token: str, keep: set[int] = frozenset()) -> dict[int, str]:  # type: ignore[assignment]
    """Waits until nobody carries the token (but `keep`); what is left in the end."""
    deadline = time.monotonic() + PATIENCE_S
    while left := {pid: title for pid, title in carriers(token).items() if pid not in keep}:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.02)
    return {}
