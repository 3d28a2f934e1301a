"""Ranks that do not come to the process group are named."""

from __future__ import annotations

import socket
from datetime import timedelta

import pytest

from nbaccel.train.ranks import Facts, Seat

torch = pytest.importorskip("torch")
meeting_point = pytest.importorskip("nbaccel.train.torch.config")

SOON = timedelta(milliseconds=100)  # for ranks that do not come
PATIENTLY = timedelta(seconds=90)


def seat(rank: int, size: int) -> Seat:
    return Seat(rank, Facts("node", "10.0.0.2", "blue", 1), rank, size, 0, 1, 0, 1)


def test_the_ranks_that_have_not_come_are_named() -> None:
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=PATIENTLY)
    with pytest.raises(RuntimeError, match=r"After 0\.1 s ranks 1, 2 have not come.*rank 0 waits.*NCCL_SOCKET_IFNAME"):
        meeting_point.wait_for_all(store, seat(0, 3), 0, SOON)
    with pytest.raises(RuntimeError, match="rank 2 has not come"):
        meeting_point.wait_for_all(store, seat(1, 3), 0, SOON)
    meeting_point.wait_for_all(store, seat(2, 3), 0, PATIENTLY)


def test_ranks_of_a_worker_group_before_do_not_count() -> None:
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=PATIENTLY)
    for rank in range(2):
        store.set(f"nbaccel/here/0/{rank}", "1")
    with pytest.raises(RuntimeError, match="rank 1 has not come"):
        meeting_point.wait_for_all(store, seat(0, 2), 1, SOON)


def test_a_store_that_cannot_be_reached_is_told_with_the_interfaces() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        port = taken.getsockname()[1]
        with pytest.raises(
            RuntimeError, match=rf"Rank 1 on blue cannot reach rank 0 at 127\.0\.0\.1:{port}.*interfaces"
        ):
            meeting_point.reach_meeting_point(torch, seat(1, 2), "127.0.0.1", port, SOON)


def test_the_host_of_the_store_stays_until_nobody_reads_it_any_more() -> None:
    """A rank 0 that is stopped at once ends its process, and with it the store into which others still look."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=PATIENTLY)
    store.set("nbaccel/joined/0/1", "1")  # rank 1 is connected, and has not been told of rank 0
    with pytest.raises(RuntimeError, match="rank 1 has not joined"):
        meeting_point.wait_until_joined(store, seat(0, 2), 0, SOON)
    meeting_point.wait_until_joined(store, seat(1, 2), 0, PATIENTLY)
    meeting_point.wait_until_joined(store, seat(0, 2), 0, PATIENTLY)


def test_a_rank_waits_until_every_other_is_connected() -> None:
    """One that left before, or began a group of its own, would cut off those that still connect."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=PATIENTLY)
    with pytest.raises(RuntimeError, match="rank 1 has not joined the process group, on which rank 0 waits"):
        meeting_point.wait_until_joined(store, seat(0, 2), 0, SOON)
    meeting_point.wait_until_joined(store, seat(1, 2), 0, PATIENTLY)
