"""Machines that ssh reaches as nodes: each node is a connection, which ends with this process and ends the node."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbaccel.machines.sources import machines
from nbaccel.machines.sources.machines import FarMachine, MachineState, NodeSettings, SourceError

_KEPT_LINES = 50
_LEAVES_WITHIN_S = 40.0  # the program there gives Ray 20 s
_KEPT_ENDED = 20


@dataclass(slots=True)
class _Connection:
    """One ssh and what came through it."""

    id: str
    node_type: str
    host: str
    process: subprocess.Popen[bytes]
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))
    said: dict[str, Any] = field(default_factory=dict)
    reader: threading.Thread | None = None


class SshSource:
    """The machines of some node types; each is one node at a time."""

    def __init__(
        self, settings: NodeSettings, types: Mapping[str, Mapping[str, Any]], token: str, ssh: str = "ssh"
    ) -> None:
        self._settings = settings
        self._types = types
        self._token = token
        self._ssh = ssh
        self._lock = threading.Lock()
        self._connections: dict[str, _Connection] = {}
        self._leaving: list[_Connection] = []
        self._ended: deque[FarMachine] = deque(maxlen=_KEPT_ENDED)
        self._begun = 0
        self._last_used: dict[str, int] = {}  # host: which node it was, of all that were begun

    def begin(self, node_type: str) -> FarMachine:
        with self._lock:
            host = self._free_host(node_type)
            self._begun += 1
            self._last_used[host] = self._begun
            id = f"ssh-{self._settings.cluster}-{self._begun}"
            connection = self._connected(id, node_type, host)
            self._connections[id] = connection
        connection.reader = threading.Thread(target=_read, args=(connection,), name=f"node-{id}", daemon=True)
        connection.reader.start()
        self._send(connection)
        return FarMachine(id, node_type, MachineState.WAITING, f"connects to {host}", host)

    def look(self) -> list[FarMachine]:
        with self._lock:
            for connection in [one for one in self._connections.values() if one.process.poll() is not None]:
                del self._connections[connection.id]
                self._ended.append(self._last_state(connection))
            self._leaving = [one for one in self._leaving if not _has_left(one)]
            return [*map(self._state, self._connections.values()), *self._ended]

    def end(self, id: str) -> None:
        """Close the node's lifeline; the program there ends the node and then the connection."""
        with self._lock:
            connection = self._connections.pop(id, None)
            if connection is not None:
                self._leaving.append(connection)
        if connection is not None:
            _close_lifeline(connection)

    def close(self) -> None:
        with self._lock:
            left = [*self._connections.values(), *self._leaving]
            self._connections.clear()
            self._leaving.clear()
        for connection in left:
            _close_lifeline(connection)
        for connection in left:
            _wait_or_kill(connection)

    def _free_host(self, node_type: str) -> str:
        """The host that was used longest ago, so that one that refuses does not hide the others."""
        busy = {connection.host for connection in [*self._connections.values(), *self._leaving]}
        hosts: tuple[str, ...] = self._types[node_type]["ssh"]["hosts"]
        free = [host for host in hosts if host not in busy]
        if not free:
            raise SourceError(
                f"All machines of the type {node_type} are nodes already, or are leaving: {', '.join(hosts)}."
            )
        return min(free, key=lambda host: self._last_used.get(host, 0))

    def _connected(self, id: str, node_type: str, host: str) -> _Connection:
        line = [self._ssh, *ssh_line(host, self._types[node_type])[1:]]
        try:
            process = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # what ssh itself says
                start_new_session=True,  # no Ctrl-C of a terminal, and no terminal to ask at
                env={name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "NBACCEL_"))},
            )
        except OSError as error:
            raise SourceError(f"ssh cannot be run on this machine ({error.strerror}).") from None
        return _Connection(id, node_type, host, process)

    def _send(self, connection: _Connection) -> None:
        options = self._types[connection.node_type]
        told = machines.told_to_node(
            self._settings, connection.node_type, options, connection.id, token=self._token, lifeline=True
        )
        assert connection.process.stdin is not None
        try:
            connection.process.stdin.write(machines.through_input(json.dumps(told)))
            connection.process.stdin.flush()
        except OSError:
            pass  # ssh has ended; its exit code and its last words say why

    def _state(self, connection: _Connection) -> FarMachine:
        told = machines.stage_in_words(connection.said, self._settings, connection.host)
        state = MachineState.STARTING if told else MachineState.WAITING
        return FarMachine(
            connection.id, connection.node_type, state, told or f"connects to {connection.host}", connection.host
        )

    def _last_state(self, connection: _Connection) -> FarMachine:
        """Why a node has ended that nobody has asked to."""
        if connection.reader is not None:
            connection.reader.join(timeout=_LEAVES_WITHIN_S)  # what was printed last is still being read
        told = machines.stage_in_words(connection.said, self._settings, connection.host)
        if connection.said.get("stage") not in ("refused", "ended"):
            python = self._types[connection.node_type]["ssh"].get("python") or sys.executable
            said = "\n".join(connection.lines)
            told = str(error_of(connection.host, connection.process.returncode, said, python))
        _forget(connection)
        return FarMachine(connection.id, connection.node_type, MachineState.ENDED, told, connection.host)


def _read(connection: _Connection) -> None:
    assert connection.process.stdout is not None
    for raw in connection.process.stdout:
        line = raw.decode(errors="replace").rstrip()
        connection.lines.append(line)
        connection.said = machines.last_said([line]) or connection.said


def _close_lifeline(connection: _Connection) -> None:
    assert connection.process.stdin is not None
    try:
        connection.process.stdin.close()
    except OSError:
        pass  # ssh has ended meanwhile


def _has_left(connection: _Connection) -> bool:
    if connection.process.poll() is None:
        return False
    _forget(connection)
    return True


def _wait_or_kill(connection: _Connection) -> None:
    try:
        connection.process.wait(timeout=_LEAVES_WITHIN_S)
    except subprocess.TimeoutExpired:
        connection.process.kill()
        connection.process.wait()
    _forget(connection)


def _forget(connection: _Connection) -> None:
    """Close what belongs to a connection that has ended."""
    _close_lifeline(connection)
    if connection.reader is not None:
        connection.reader.join(timeout=_LEAVES_WITHIN_S)
    assert connection.process.stdout is not None
    connection.process.stdout.close()


# ---- the command line of ssh that makes a machine a node, and ssh's refusals in words


# No question, no terminal, and no forwarding: the connection is the node's lifeline. After a minute without an answer
# it counts as lost. Keys of hosts are checked as the user's own configuration says.
OPTIONS = [
    "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15",
    "-o", "ServerAliveCountMax=4", "-o", "ClearAllForwardings=yes", "-o", "ControlMaster=no", "-o", "LogLevel=ERROR",
]  # fmt: skip
FAILED = 255  # ssh itself, not the program there
_NOT_FOUND = (126, 127)  # as shells say it


def ssh_line(host: str, options: Mapping[str, Any]) -> list[str]:
    """ssh to a host with Python at the other end, which reads its program from its input."""
    config = ["-F", options["ssh"]["config"]] if options["ssh"].get("config") else []
    python = machines.far_command(options["ssh"].get("python"), machines.FROM_INPUT)
    return ["ssh", *config, *OPTIONS, "--", host, f"exec {python}"]


def error_of(host: str, code: int, said: str, python: str) -> SourceError:
    """Why nothing runs there, from ssh's exit code and last words."""
    words = " ".join(said.split()[-60:]) or "it gave no reason"
    low = said.lower()
    if code in _NOT_FOUND:
        return SourceError(
            f"There is no {python} on {host}. Say where its Python is, in an environment that has Ray: python = "
            f"'~/venv/bin/python' in [types.NAME.ssh]. It says: {words}"
        )
    if "host identification has changed" in low or "host key verification failed" in low:
        return SourceError(_host_key(host, "has changed" in low, words))
    if "permission denied" in low or "too many authentication failures" in low:
        return SourceError(
            f"{host} refuses the login: no key of yours is accepted there, or the key needs a passphrase that no agent "
            f"has. `ssh -o BatchMode=yes {host} true` has to work in a terminal first. ssh says: {words}"
        )
    if "could not resolve" in low or "name or service not known" in low:
        return SourceError(
            f"No machine is called {host}. Write the name as in ~/.ssh/config or /etc/hosts. ssh says: {words}"
        )
    if code == FAILED:
        return SourceError(
            f"{host} cannot be reached: is it on, and does its port of ssh answer from the head's machine? ssh says: "
            f"{words}"
        )
    return SourceError(f"The node on {host} has ended with code {code}: {words}")


def _host_key(host: str, has_changed: bool, words: str) -> str:
    if has_changed:
        return (
            f"The key of {host} is another one than before: the machine was installed anew, or another one answers in "
            f"its place. Ask its administrator; `ssh-keygen -R {host}` forgets the old key. ssh says: {words}"
        )
    return (
        f"The key of {host} is not known here, and nobody is there to accept it. Type once, on the head's machine: "
        f"ssh {host} true. ssh says: {words}"
    )
