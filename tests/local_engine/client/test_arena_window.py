"""What is mapped beforehand: values written through it are there, and what has lost its pages is not used."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from nbaccel.local_engine import memory, wire
from nbaccel.local_engine.client.arena_writer import ArenaWindow, ArenaWriter, joined
from tests.rig import wait_until

MB = 1 << 20


@pytest.fixture
def fd() -> Iterator[int]:
    fd = os.memfd_create("arena")
    os.ftruncate(fd, 64 * MB)
    yield fd
    os.close(fd)


@pytest.fixture
def writer(fd: int) -> Iterator[ArenaWriter]:
    writer = ArenaWriter(fd)
    yield writer
    writer.close()


def ready(window: ArenaWindow, *stretches: tuple[int, int], times: int = 0) -> None:
    """The head says that these parts have memory; until they are mapped."""
    window.pages_ready(wire.PagesReady(list(stretches), times))
    for start, end in stretches:
        wait_until(lambda start=start, end=end: window.mapping_of(start, end - start, times), "the mapping")


def test_what_is_written_through_the_window_is_in_the_arena(fd: int, writer: ArenaWriter) -> None:
    ready(writer.window, (4 * MB, 30 * MB))
    body = os.urandom(3 * MB)
    writer.write([body[:5], memoryview(body)[5:]], 7 * MB, len(body))
    assert os.pread(fd, len(body), 7 * MB) == body
    assert os.pread(fd, 16, 7 * MB - 16) == os.pread(fd, 16, 10 * MB) == bytes(16)


def test_to_map_changes_no_bytes(fd: int, writer: ArenaWriter) -> None:
    os.pwrite(fd, b"here", 9 * MB)
    ready(writer.window, (8 * MB, 16 * MB))
    assert os.pread(fd, 4, 9 * MB) == b"here"


def test_only_a_range_that_is_mapped_as_a_whole_goes_through_the_window(writer: ArenaWriter) -> None:
    window = writer.window
    ready(window, (4 * MB, 12 * MB), (12 * MB, 16 * MB), (20 * MB, 24 * MB))
    assert window.mapping_of(10 * MB, 4 * MB, 0) is not None
    assert window.mapping_of(15 * MB, 6 * MB, 0) is None
    assert window.mapping_of(0, 5 * MB, 0) is None


def test_what_was_mapped_before_memory_was_given_back_is_not_used(fd: int, writer: ArenaWriter) -> None:
    ready(writer.window, (0, 8 * MB))
    memory.punch(fd, 0, 8 * MB)
    assert writer.window.mapping_of(0, MB, 1) is None
    writer.write([b"x" * 2 * MB], 0, 2 * MB, 1)
    assert os.pread(fd, 2 * MB, 0) == b"x" * 2 * MB
    ready(writer.window, (16 * MB, 24 * MB), times=1)
    assert writer.window.mapping_of(0, MB, 1) is None


def test_memory_that_was_given_back_reads_as_zeros_and_takes_no_room(fd: int) -> None:
    os.pwrite(fd, b"x" * 4 * MB, 0)
    memory.punch(fd, MB, 2 * MB)
    assert os.fstat(fd).st_blocks * 512 == 2 * MB
    assert os.pread(fd, 2 * MB, MB) == bytes(2 * MB) and os.pread(fd, 1, 0) == b"x"


def test_a_closed_window_maps_nothing_and_has_no_thread(fd: int) -> None:
    writer = ArenaWriter(fd)
    ready(writer.window, (0, 8 * MB))
    writer.close()
    assert writer.window.mapping_of(0, MB, 0) is None
    writer.window.pages_ready(wire.PagesReady([(0, 8 * MB)], 0))
    assert writer.window.mapping_of(0, MB, 0) is None


def test_parts_that_touch_or_overlap_are_one() -> None:
    assert joined([(5, 7), (0, 2), (2, 3), (6, 9), (1, 2)]) == ((0, 3), (5, 9))
