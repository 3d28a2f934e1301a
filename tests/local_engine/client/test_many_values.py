"""Results that come in one message: held ones are here, whoever waits is called, and the rest is forgotten."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from nbaccel.local_engine import wire
from nbaccel.local_engine.client.link import Link
from nbaccel.local_engine.client.values import ReferenceCounts, Values

IDS = [bytes([number]) * 28 for number in range(4)]


class Client:
    """A process's table of values. The head's end of its connection is the test's."""

    def __init__(self) -> None:
        self._ends = socket.socketpair()
        self.link = Link(self._ends[0], on_lost=lambda why: None)
        self.references = ReferenceCounts(self.link)
        self.values = Values(self.link, self.references, -1)
        self.called: list[bytes] = []

    def expects(self, *ids: bytes) -> None:
        for id in ids:
            self.references.created(id)
            self.values.expect_one(id)

    def hears(self, *ids: bytes) -> None:
        self.link.receivers[wire.ObjectValues](wire.ObjectValues(list(ids), [b"\x00" + id for id in ids]))

    def close(self) -> None:
        for sock in self._ends:
            sock.close()


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def test_results_that_are_held_are_here_and_no_more_expected(client: Client) -> None:
    client.expects(*IDS)
    client.hears(*IDS[:3])
    assert [client.values.payload(id) for id in IDS[:3]] == [(wire.OK, b"\x00" + id) for id in IDS[:3]]
    assert client.values.expects_only_one() and client.values.are_coming([IDS[3]])
    client.hears(IDS[3])
    assert not client.values.are_coming(list(IDS))


def test_only_the_first_expected_result_is_the_only_one(client: Client) -> None:
    assert [client.values.expect_one(id) for id in (IDS[0], IDS[0], IDS[1])] == [True, True, False]


def test_whoever_waits_is_called_once_for_each(client: Client) -> None:
    client.expects(*IDS)
    assert client.values.when_known(IDS[:2], client.called.append) == 2
    assert client.values.when_ready(IDS[1:], client.called.append) == []
    client.hears(*IDS)
    assert sorted(client.called) == [IDS[0], IDS[1], IDS[1], IDS[2], IDS[3]]
    client.hears(*IDS)
    assert len(client.called) == 5


def test_a_result_whose_ref_has_gone_is_not_kept(client: Client) -> None:
    client.expects(*IDS[:2])
    client.references.gone(IDS[0])
    client.link.take_ended()
    client.hears(*IDS[:2])
    assert client.values.known_here(IDS[0]) is None and client.values.known_here(IDS[1]) is not None
