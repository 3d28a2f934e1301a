"""A head that is only a socket: it answers as a test says, counts who connects, and says what a test has it say."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

BOOT = Path("/proc/sys/kernel/random/boot_id")
SNAPSHOT: dict[str, Any] = {
    "runtime": {"engine": "local", "version": "0.1.0", "python": "3.12.1", "pid": 4711},
    "seq": 1,
    "counts": {"RUNNING": 2},
    "devices": [{"resource": "GPU", "id": "0", "free": 0.25}],
    "alerts": [],
    "published": [{"kind": "run", "id": "r1", "record": {"name": "mnist"}, "published_at": 1.0}],
}
ANSWERS: dict[str, dict[str, Any]] = {
    "snapshot": {"kind": "snapshot", "snapshot": SNAPSHOT},
    "tasks": {"kind": "tasks", "rows": [{"task_id": "a1", "name": "train"}], "total": 7},
    "explain": {"kind": "explanations", "explanations": [{"id": "a1", "sentence": "It waits."}]},
    "logs": {"kind": "logs", "text": "hello\n"},
    "runs": {"kind": "runs", "runs": {"seq": 3}},
    "cancel": {"kind": "done", "ask": "cancel"},
    "kill": {"kind": "done", "ask": "kill"},
    "ask_publisher": {"kind": "done", "ask": "ask_publisher"},
    "retry": {"kind": "done", "ask": "retry"},
    "recycle": {"kind": "done", "ask": "recycle", "workers": 2},
    "stop": {"kind": "done", "ask": "stop"},
}


def start_time(pid: int) -> int:
    """In clock ticks since boot, as a session file has it."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


class FakeHead:
    """Listens once `listen()` has been awaited. Questions in `silent` get no answer; the answer "end" hangs up."""

    def __init__(self, folder: Path, session: str = "ab12", **facts: Any) -> None:
        self.session = session
        self.answers: dict[str, Any] = dict(ANSWERS)
        self.silent: set[str] = set()
        self.asked: list[dict[str, Any]] = []
        self.connections = 0  # there were, in all
        self.protocol = 1
        self._home = Path(tempfile.mkdtemp(prefix="nb-", dir="/tmp"))  # short: a socket's path has at most 107 bytes
        self._writers: set[asyncio.StreamWriter] = set()
        self._watchers: set[asyncio.StreamWriter] = set()
        self.file = folder / f"nbaccel-{session}.json"
        self.record: dict[str, Any] = {
            "session": session, "socket": str(self._home / "s"), "token": "secret-token", "pid": os.getpid(),
            "start_time": start_time(os.getpid()), "boot_id": BOOT.read_text().strip(), "title": "notebook b.ipynb",
            "version": "0.1.0", "python": "3.12.1", "started_at": 5.0, "protocol": 1, **facts,
        }  # fmt: skip

    async def listen(self) -> FakeHead:
        self._server = await asyncio.start_unix_server(self._serve, self.record["socket"], limit=1 << 24)
        self.write_file()
        return self

    def write_file(self) -> None:
        self.file.write_text(json.dumps(self.record))
        self.file.chmod(0o600)

    def close(self) -> None:
        """End as a killed head does: the file stays."""
        self._server.close()
        for writer in self._writers:
            writer.close()

    def remove(self) -> None:
        self.file.unlink(missing_ok=True)
        shutil.rmtree(self._home, ignore_errors=True)

    @property
    def open(self) -> int:
        """Connections that there are now."""
        return len(self._writers)

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    def tell(self, **changes: Any) -> None:
        """Send a snapshot with these fields to those that watch."""
        for writer in self._watchers:
            self._write(writer, {"kind": "snapshot", "snapshot": {**SNAPSHOT, **changes}})

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            token = json.loads(await reader.readline())
            if token != {"token": self.record["token"]}:
                self._write(writer, {"kind": "error", "message": "The token is wrong."})
                return
            self._write(writer, {"kind": "welcome", "protocol": self.protocol, "session": self.session})
            while line := await reader.readline():
                self._answer(json.loads(line), writer)
        except (ConnectionError, ValueError):
            pass  # it went in the middle of a line
        finally:
            self._writers.discard(writer)
            self._watchers.discard(writer)
            writer.close()

    def _answer(self, question: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        self.asked.append(question)
        what = question["ask"]
        if what in self.silent:
            return
        if what == "watch":
            self._watch(question["on"], writer)
            return
        answer: dict[str, Any] | Callable[[], dict[str, Any]] | None = self.answers.get(what)
        if answer == "end":
            writer.close()
        else:
            self._write(writer, answer or {"kind": "error", "message": f"unknown question {what}"})

    def _watch(self, on: bool, writer: asyncio.StreamWriter) -> None:
        if on:
            self._watchers.add(writer)
            self._write(writer, {"kind": "snapshot", "snapshot": SNAPSHOT})
        else:
            self._watchers.discard(writer)

    @staticmethod
    def _write(writer: asyncio.StreamWriter, line: Any) -> None:
        writer.write((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")


async def until(is_so: Callable[[], Any], what: str, deadline_s: float = 120.0) -> None:
    """Wait until something is so; tests of the event loop cannot block it."""
    async with asyncio.timeout(deadline_s) as limit:
        while not is_so():
            await asyncio.sleep(0.005)
            assert not limit.expired(), what
