"""Ports for the servers of tests."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

# Below those that the system gives to whoever asks for any, and above those of Ray's workers: no other program gets a
# port between its choice and the start of its server. One of Ray's once did, and answered as the Jupyter server.
PORTS = range(20_000, 32_000)


def free_ports(number: int, host: str = "127.0.0.1") -> list[int]:
    """Different ports on which nothing listens at this address; "" is any address."""
    found: list[int] = []
    with ExitStack() as held:
        for port in random.SystemRandom().sample(PORTS, len(PORTS)):
            if len(found) == number:
                break
            try:
                held.enter_context(socket.socket()).bind((host, port))
            except OSError:
                continue
            found.append(port)
    return found


def free_port(host: str = "127.0.0.1") -> int:
    """A port on which nothing listens at this address."""
    return free_ports(1, host)[0]
