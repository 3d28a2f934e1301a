"""Becomes a node of a Ray cluster on a machine of Slurm's or ssh's, and says each step in one line.

This file is sent to that machine as text: it imports only the standard library and needs Ray there.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import json
import os
import platform
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

SAID = "@nbaccel "  # begins each line that the head reads
_STARTED = "Ray runtime started"
_TOO_SLOW = "timed out during startup"  # Ray gives its processes 30 s, too little on a busy machine
_REACHES_WITHIN_S = 10.0
_LEAVES_WITHIN_S = 20.0  # Slurm kills 30 s after it has asked
_MARK = "NBACCEL_FAR_NODE"  # the variable that all processes of the node carry


def start(text: str | bytes) -> None:
    """Become the node that `text`, a JSON object, describes; end when it ends.

    address, options   of `ray start`
    variables          of the node; a value may name other variables, as $SLURM_JOB_ID
    ray, python        the versions of the head; python_parts says how many numbers of it have to be the same
    token, token_file  the token itself, or where it lies
    lighter_imports    a folder of nbaccel's: where it is there too, Ray's agents start in half the time
    lifeline           the node ends when the input of this program does
    """
    wanted = json.loads(text)
    told = refusal(wanted)
    if told:
        say("refused", **told)
        sys.exit(3)
    sys.exit(_Node(wanted).run())


def say(stage: str, **facts: object) -> None:
    sys.stdout.write(SAID + json.dumps({"stage": stage, **facts}) + "\n")
    sys.stdout.flush()


def refusal(wanted: dict[str, Any]) -> dict[str, Any] | None:
    """What is wrong here, as a kind and its values; the head has the sentences."""
    try:
        ray = importlib.metadata.version("ray")
    except importlib.metadata.PackageNotFoundError:
        return {"kind": "no ray", "here": sys.executable}
    if ray != wanted["ray"]:
        return {"kind": "other ray", "here": ray}
    parts = wanted["python_parts"]
    if platform.python_version().split(".")[:parts] != wanted["python"].split(".")[:parts]:
        return {"kind": "other python", "here": platform.python_version()}
    return _token_refusal(wanted) or _way_refusal(wanted["address"])


def _token_refusal(wanted: dict[str, Any]) -> dict[str, Any] | None:
    file = wanted.get("token_file")
    if not file:
        return None
    try:
        mode = stat.S_IMODE(os.stat(file).st_mode)
    except OSError as error:
        return {"kind": "no token", "here": file, "why": error.strerror}
    return {"kind": "open token", "here": file, "why": f"{mode:04o}"} if mode & 0o077 else None


def _way_refusal(address: str) -> dict[str, Any] | None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHES_WITHIN_S).close()
    except OSError as error:
        return {"kind": "no way", "here": address, "why": error.strerror or str(error)}
    return None


class _Node:
    """The process `ray start --block`, which ends Ray's other processes when it is asked to end."""

    def __init__(self, wanted: dict[str, Any]) -> None:
        self._wanted = wanted
        self._process: subprocess.Popen[str] | None = None
        self._asked_to_end = False
        self._tries_left = 2

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._end())
        if self._wanted.get("lifeline"):
            threading.Thread(target=self._watch_input, daemon=True).start()
        say("waiting")  # for another node that starts on this machine
        # Two that start at the same moment disturb each other: one aborts now and then.
        path = os.path.join(tempfile.gettempdir(), f"nbaccel-{os.getuid()}-ray-start.lock")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return self._runs(lock)
        finally:
            self._end_all()

    def _runs(self, lock: int) -> int:
        last = ""
        while not self._asked_to_end:
            last = self._tries(lock)
            if _TOO_SLOW not in last or not self._tries_left:
                break
            self._tries_left -= 1
            self._end_all()
        say("ended", asked=self._asked_to_end, why=last)
        return 0 if self._asked_to_end else 1

    def _tries(self, lock: int) -> str:
        """Run Ray; return what it said last. The lock is let go once it has started."""
        say("starting")
        line = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *self._wanted["options"]]
        self._process = process = subprocess.Popen(
            line,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        # What outlives Ray's own process holds the other end of its output, which would never end.
        ending = threading.Thread(target=lambda: self._ends(process), daemon=True)
        ending.start()
        if self._asked_to_end:
            self._end()
        last = ""
        assert process.stdout is not None
        for printed in process.stdout:
            sys.stdout.write(printed)
            sys.stdout.flush()
            last = printed.strip() or last
            if _STARTED in printed:
                fcntl.flock(lock, fcntl.LOCK_UN)
                say("started")
        ending.join()  # before the next try, whose processes carry the same mark
        return last

    def _ends(self, process: subprocess.Popen[str]) -> None:
        process.wait()
        self._end_all()

    def _environment(self) -> dict[str, Any]:
        own = {name: os.path.expandvars(value) for name, value in self._wanted["variables"].items()}
        own.update({"RAY_AUTH_MODE": "token", "PYTHONUNBUFFERED": "1", _MARK: self._mark()})
        lighter = self._wanted.get("lighter_imports")
        if lighter and os.path.isdir(lighter):
            path = os.environ.get("PYTHONPATH")
            own["PYTHONPATH"] = os.pathsep.join([lighter, path] if path else [lighter])
        if self._wanted.get("token_file"):
            own["RAY_AUTH_TOKEN_PATH"] = self._wanted["token_file"]
        elif self._wanted.get("token"):
            own["RAY_AUTH_TOKEN"] = self._wanted["token"]
        return {**os.environ, **own}

    def _mark(self) -> str:
        return f"{socket.gethostname()}-{os.getpid()}"

    def _watch_input(self) -> None:
        while os.read(0, 4096):  # not through sys.stdin, whose lock this thread would hold when Python ends
            pass
        self._end()

    def _end(self) -> None:
        """Ask the node to leave, and kill it if it does not."""
        self._asked_to_end = True
        if self._process is None:
            return
        self._process.terminate()
        killer = threading.Timer(_LEAVES_WITHIN_S, self._end_all)
        killer.daemon = True
        killer.start()

    def _end_all(self) -> None:
        """Kill what carries this node's mark; Ray's agents may outlive the node for a minute."""
        mark = f"{_MARK}={self._mark()}".encode()
        for _ in range(100):  # what is forked meanwhile carries it too
            left = [pid for pid in map(int, filter(str.isdigit, _processes())) if _carries(pid, mark)]
            if not left:
                return
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.05)


def _processes() -> list[str]:
    return os.listdir("/proc") if os.path.isdir("/proc") else []


def _carries(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False
