"""Ranges of the arena in one process: who sees what, and how long a range is held."""

from __future__ import annotations

import contextlib
import gc
import os
import weakref
from collections.abc import Iterator

import pytest

from nbaccel import exceptions, read_only_arrays
from nbaccel.local_engine.memory import Range, view_of
from tests.census import Place

SIZE = 3 * 4096 + 100


@pytest.fixture
def fd() -> Iterator[int]:
    fd = os.memfd_create("arena")
    os.ftruncate(fd, 1 << 20)
    os.pwrite(fd, b"a" * SIZE, 4096)
    yield fd
    os.close(fd)


def test_the_shared_view_is_one_memory_and_read_only(fd: int) -> None:
    range = Range(fd, b"id", 4096, SIZE)
    first, second = range.shared(), range.shared()
    assert first.readonly and first.nbytes == SIZE and range.first() == b"a"
    os.pwrite(fd, b"b", 4096)
    assert first[0] == second[0] == ord("b")


def test_a_private_view_is_written_for_itself_alone(fd: int) -> None:
    range = Range(fd, b"id", 4096, SIZE)
    mine, other, shared = range.private(), range.private(), range.shared()
    mine[:] = b"x" * SIZE
    assert bytes(other) == bytes(shared) == os.pread(fd, SIZE, 4096) == b"a" * SIZE


def test_a_range_is_held_until_the_last_view_of_a_view_has_gone(fd: int) -> None:
    range = Range(fd, b"id", 4096, SIZE)
    held = weakref.ref(range)
    parts = [range.private()[10:20], range.shared()[5:6], range.private()[:0]]
    del range
    while parts:
        gc.collect()
        assert held() is not None
        parts.pop()
    gc.collect()
    assert held() is None


def test_a_mapping_takes_no_descriptor_and_ends_with_its_views(fd: int) -> None:
    range = Range(fd, b"id", 4096, SIZE)
    mappings = _mappings(fd)
    views = [range.private() for _ in "abc"] + [range.shared()]
    assert _descriptors(fd) == [fd]
    assert _mappings(fd) == mappings + 4
    views.clear()
    assert _mappings(fd) == mappings


def _descriptors(fd: int) -> list[int]:
    """Those of the same file. Other threads of this process open and close descriptors of their own."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it has been closed meanwhile, as the list's own
            if os.path.samestat(os.fstat(int(name)), os.fstat(fd)):
                found.append(int(name))
    return found


def _mappings(fd: int) -> int:
    inode = str(os.fstat(fd).st_ino)
    with open("/proc/self/maps") as maps:
        return sum(line.split()[4] == inode for line in maps)


def test_a_range_that_cannot_be_mapped_says_so(fd: int) -> None:
    read, write = os.pipe()  # which no system maps
    with pytest.raises(exceptions.RaySystemError, match=r"Object 6964 cannot be mapped .*: No such device"):
        Range(read, b"id", 0, SIZE).shared()
    os.close(read)
    os.close(write)


def test_memory_by_its_address_keeps_its_owner() -> None:
    class Owner:
        data = bytearray(b"owned")

    import ctypes

    owner = Owner()
    gone = weakref.ref(owner)
    view = view_of(ctypes.addressof(ctypes.c_char.from_buffer(Owner.data)), 5, owner)
    part = view[1:3]
    del owner, view
    gc.collect()
    assert bytes(part) == b"wn"
    assert gone() is not None
    del part
    gc.collect()
    assert gone() is None


@pytest.mark.extra("numpy")
def test_a_script_that_ends_by_writing_to_a_read_only_array_says_what_to_do(place: Place) -> None:
    done = place.run(
        "import numpy, nbaccel\nnbaccel.init(num_cpus=1)\n"
        "array = nbaccel.get(nbaccel.put(numpy.zeros(10)))\narray[0] = 1\n"
    )
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"assignment destination is read-only\n{read_only_arrays.NOTE}")
