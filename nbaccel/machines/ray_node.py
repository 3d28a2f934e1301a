"""This machine as a node of a Ray cluster: `nbaccel start --address=HOST:6379`.

The command checks first whether the cluster would take this machine. Then it stays beside the node's own process:
whoever ends the command (Ctrl-C, a batch system, ssh) ends the node, and nothing else of this machine.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from nbaccel import accelerators, ray_preflight
from nbaccel.machines import node_records, ray_processes
from nbaccel.machines.joining import judge_address
from nbaccel.machines.node_records import NodeRecord

Say = Callable[[str], None]


def become_node(
    address: str, token_file: str | None, asked: Mapping[str, Any], say: Say, wait: Callable[[int], None]
) -> None:
    """Join as a node, for as long as this process lives; `wait` returns when the process of this id has ended.

    Raises ConnectionError or ValueError if the cluster does not take this machine, and RuntimeError if Ray's processes
    do not start or one of them dies.
    """
    if address.startswith("ray://"):
        raise ValueError(f"{address!r} is Ray Client's address; a node joins at the head's own port: HOST:6379.")
    for sentence in judge_address(address, token_file):
        say(sentence)
    node = ray_processes.devices_here(asked)
    environ = ray_processes.node_environment(os.environ, node, asked.get("node_type"))
    say(f"Joins {address} with {ray_processes.offer_in_words(node, asked)}; Ctrl-C ends this node.")
    with ended_by_signals():
        record = ray_processes.start(ray_start_line(address, node, asked), environ, address=address, with_us=True)
        say(_joined(address))
        stay(record, say, wait)


def ray_start_line(address: str, node: accelerators.NodeDevices, asked: Mapping[str, Any]) -> list[str]:
    """The command that joins with what nbaccel has found here."""
    own = ["--block", "--disable-usage-stats", f"--address={address}", "--dashboard-agent-listen-port=0"]
    return [*ray_processes.RAY_START, *own, *ray_processes.ray_start_options(node, asked)]


def stay(record: NodeRecord, say: Say, wait: Callable[[int], None]) -> None:
    """Return when the node has ended or this process is asked to end. Raises RuntimeError if the node broke."""
    try:
        wait(record.pid)
    except KeyboardInterrupt:
        say("Ends the node.")
        if not node_records.end(record):
            node_records.end(record, force=True)
        return
    broke, said = ray_processes.ended_badly(record), ray_processes.last_words(record)
    node_records.end(record)
    if broke:
        raise RuntimeError(f"A process of {record.title} died, and the node with it. Its last words:\n{said}")
    say("The node has ended.")


class ended_by_signals:
    """Inside of it SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""

    _NUMBERS = (signal.SIGTERM, signal.SIGHUP)

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, _interrupt) for number in self._NUMBERS}

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _joined(address: str) -> str:
    size = ray_preflight.cluster_size(address)
    has = f" The cluster now has {size}." if size else ""
    return f"Joined {address} as {socket.gethostname()}.{has}"
