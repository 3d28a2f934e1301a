"""Before a machine joins: closed ports between it and the nodes, and a clock that differs from the head's."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from nbaccel.machines import joining
from nbaccel.machines.joining import NodeDoors
from tests.rig import DEADLINE_S

NOW = 1_700_000_000.0


@pytest.fixture
def dated(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server whose answers all have the same date."""
    monkeypatch.setattr(joining, "_TIMEOUT_S", DEADLINE_S)  # the server is a thread of a busy machine

    class Dated(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response_only(404)
            self.send_header("Date", formatdate(NOW, usegmt=True))
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Dated) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """One that listens, and one that is taken and does not."""
    with ExitStack() as stack:
        open_, closed = (stack.enter_context(socket.socket()) for _ in range(2))
        for each in (open_, closed):
            each.bind(("127.0.0.1", 0))
        open_.listen()
        yield open_.getsockname()[1], closed.getsockname()[1]


@pytest.mark.parametrize(
    ("here_s", "said"),
    [
        (0, "clock and this machine's agree"),
        (3, "clock and this machine's agree"),
        (-90, "clock is 90 s ahead of this machine's"),
        (3600, "clock is 3600 s behind this machine's"),
    ],
)
def test_a_clock_that_differs_is_told_with_its_seconds(here_s: float, said: str, dated: int) -> None:
    head = NodeDoors("127.0.0.1", {}, is_head=True, dated=dated)
    assert said in list(joining.reach_in_words([head], clock=lambda: NOW + 0.5 + here_s))[-1]


def test_each_closed_port_is_named_with_what_it_is_for(ports: tuple[int, int]) -> None:
    listens, closed = ports
    nodes = [NodeDoors("127.0.0.1", {"raylet": listens, "objects": closed}, is_head=True)]
    first, second = joining.reach_in_words(nodes)
    assert first.startswith(f"1 of 2 ports are closed to this machine: 127.0.0.1:{closed} (objects). ")
    assert "firewall" in first
    assert second == "The head's clock is not known: no server there tells the time to this machine."


def test_open_ports_are_counted_and_many_closed_ones_cut(ports: tuple[int, int]) -> None:
    listens, closed = ports
    assert (
        next(joining.reach_in_words([NodeDoors("127.0.0.1", {"raylet": listens})]))
        == "Ports of the nodes: 1 of 1 are open to this machine."
    )
    many = [NodeDoors("127.0.0.1", {"raylet": closed}) for _ in range(7)]
    assert "7 of 7 ports" in next(joining.reach_in_words(many)) and "and 2 more" in next(joining.reach_in_words(many))


def test_a_server_that_tells_no_time_leaves_the_clock_unknown(ports: tuple[int, int]) -> None:
    assert joining.clock_skew("127.0.0.1", ports[1]) is None


def test_a_cluster_that_tells_no_nodes_is_said_to() -> None:
    assert list(joining.reach_in_words([])) == [
        "The cluster does not tell its nodes, so their ports and the head's clock were not tried."
    ]
