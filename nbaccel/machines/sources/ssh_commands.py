"""The command line of ssh that makes a machine a node, and ssh's refusals in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbaccel.machines.sources import far_python
from nbaccel.machines.sources.programs import SourceRefusal

# No question, no terminal, and no forwarding: the connection is the node's lifeline. After a minute without an answer
# it counts as lost. Keys of hosts are checked as the user's own configuration says.
OPTIONS = [
    "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15",
    "-o", "ServerAliveCountMax=4", "-o", "ClearAllForwardings=yes", "-o", "ControlMaster=no", "-o", "LogLevel=ERROR",
]  # fmt: skip
FAILED = 255  # ssh itself, not the program there
_NOT_FOUND = (126, 127)  # as shells say it


def connect(host: str, options: Mapping[str, Any]) -> list[str]:
    """ssh to a host with Python at the other end, which reads its program from its input."""
    config = ["-F", options["ssh"]["config"]] if options["ssh"].get("config") else []
    python = far_python.command(options["ssh"].get("python"), far_python.FROM_INPUT)
    return ["ssh", *config, *OPTIONS, "--", host, f"exec {python}"]


def refusal_of(host: str, code: int, said: str, python: str) -> SourceRefusal:
    """Why nothing runs there, from ssh's exit code and last words."""
    words = " ".join(said.split()[-60:]) or "it gave no reason"
    low = said.lower()
    if code in _NOT_FOUND:
        return SourceRefusal(
            f"There is no {python} on {host}. Say where its Python is, in an environment that has Ray: python = "
            f"'~/venv/bin/python' in [types.NAME.ssh]. It says: {words}"
        )
    if "host identification has changed" in low or "host key verification failed" in low:
        return SourceRefusal(_host_key(host, "has changed" in low, words))
    if "permission denied" in low or "too many authentication failures" in low:
        return SourceRefusal(
            f"{host} refuses the login: no key of yours is accepted there, or the key needs a passphrase that no agent "
            f"has. `ssh -o BatchMode=yes {host} true` has to work in a terminal first. ssh says: {words}"
        )
    if "could not resolve" in low or "name or service not known" in low:
        return SourceRefusal(
            f"No machine is called {host}. Write the name as in ~/.ssh/config or /etc/hosts. ssh says: {words}"
        )
    if code == FAILED:
        return SourceRefusal(
            f"{host} cannot be reached: is it on, and does its port of ssh answer from the head's machine? ssh says: "
            f"{words}"
        )
    return SourceRefusal(f"The node on {host} has ended with code {code}: {words}")


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
