"""Memory at an address, as a buffer that keeps its owner alive; and ranges of the arena, mapped without a descriptor.

Python's own mmap keeps a descriptor for each mapping, and a notebook may have 1,024 of them: an array held is a
mapping held.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import weakref
from functools import partial
from typing import Any

from nbaccel import exceptions
from nbaccel.handles.safe_finalizer import SafeFinalizer
from nbaccel.local_engine.arena import pages

_NORESERVE = 0x4000  # MAP_NORESERVE: pages that are never written do not count as used
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_array_types: dict[int, Any] = {}
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
_POPULATE_WRITE = 23  # MADV_POPULATE_WRITE, of Linux 5.14
_PUNCH_HOLE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE, which needs FALLOC_FL_KEEP_SIZE


def populate(mapping: mmap.mmap, offset: int, size: int) -> bool:
    """Have these bytes of a writable mapping in memory and mapped, as if they had been written; their content stays.

    False where the system cannot. Other threads run meanwhile.
    """
    first = ctypes.c_char.from_buffer(mapping, offset)
    return _libc.madvise(ctypes.addressof(first), size, _POPULATE_WRITE) == 0  # type: ignore[no-any-return]


def trim() -> None:
    """Give memory that was freed back to the system, where the C library (glibc) keeps it."""
    try:
        _libc.malloc_trim(0)
    except AttributeError:
        pass  # another C library


def punch(fd: int, offset: int, size: int) -> None:
    """Give the memory of these bytes of a file in memory back to the system; they read as zeros. Raises OSError."""
    if _libc.fallocate(fd, _PUNCH_HOLE, offset, size) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def view_of(address: int, size: int, owner: Any) -> memoryview:
    """A writable buffer of `size` bytes at an address. Everything made from it keeps `owner` alive."""
    return memoryview(_array_at(address, size, owner)).cast("B")[:size]


def _array_at(address: int, size: int, owner: Any) -> Any:
    # Each length needs a ctypes type, and making one takes longer than mapping: types of powers of two are kept. Memory
    # beyond `size` bytes may not exist; callers never see it.
    bits = size.bit_length()
    kind = _array_types.get(bits)
    if kind is None:
        kind = _array_types[bits] = ctypes.c_char * (1 << bits)
    array: Any = kind.from_address(address)
    array.owner = owner
    return array


class Range:
    """The bytes of one value in the arena, for this process. Every mapping of them keeps it alive."""

    __slots__ = ("__weakref__", "_fd", "_offset", "_shared", "id", "size")

    def __init__(self, fd: int, id: bytes, offset: int, size: int) -> None:
        self.id = id
        self.size = size
        self._fd = fd
        self._offset = offset
        self._shared: weakref.ref[Any] | None = None

    def first(self) -> bytes:
        """The first byte, read without a mapping."""
        try:
            return os.pread(self._fd, 1, self._offset)
        except OSError as error:
            raise self._unreadable(error) from error

    def shared(self) -> memoryview:
        """A read-only view, the same memory for all readers of this process at one time.

        The pages themselves may be written to, as this process's own copies: native code that overlooks the flag, such
        as torch.from_numpy(array).add_(1), would end the process otherwise.
        """
        array = self._shared() if self._shared is not None else None
        if array is None:
            array = self._mapped()
            self._shared = weakref.ref(array)
        return memoryview(array).cast("B")[: self.size].toreadonly()

    def private(self) -> memoryview:
        """A writable mapping for this caller alone: a written page is copied first, and nobody else sees the change."""
        array = self._mapped()
        return memoryview(array).cast("B")[: self.size]

    def _mapped(self) -> Any:
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _NORESERVE
        length = pages(self.size)
        address = _libc.mmap(None, length, protection, flags, self._fd, self._offset)
        if address == _FAILED:
            number = ctypes.get_errno()
            raise self._unreadable(OSError(number, os.strerror(number)))
        return _array_at(address, self.size, _Mapping(address, length, self))

    def _unreadable(self, error: OSError) -> exceptions.RaySystemError:
        why = arena_trouble(error)
        return exceptions.RaySystemError(f"Object {self.id.hex()} cannot be mapped into this process: {why}")


class _Mapping(SafeFinalizer):
    """Ends a mapping, and only then releases its range."""

    __slots__ = ("_range",)

    def __init__(self, address: int, length: int, range: Range) -> None:
        self._range = range
        self.__del__ = partial(_libc.munmap, address, length)


_LIMITED = {
    errno.EMFILE: ("RLIMIT_NOFILE", "open {} files at most", "a mapping takes one"),
    errno.EFBIG: ("RLIMIT_FSIZE", "write files of {} bytes at most", "shared memory counts as a file"),
}
_ADVICE = "Set the limit in a subprocess, or take it back before the value is used."


def arena_trouble(error: OSError) -> str:
    """Why this process cannot write to the arena or map a part of it, and what to do: one or two sentences."""
    limited = _LIMITED.get(error.errno or 0)
    if limited is not None:
        name, what, because = limited
        limit = resource.getrlimit(getattr(resource, name))[0]
        return f"this process may {what.format(limit)} ({name}), and {because}. {_ADVICE}"
    if error.errno == errno.EBADF:
        return (
            "code in this process has closed descriptors that are not its own, as os.closerange does, and among them "
            "nbaccel's (a closed descriptor). Close only what was opened here."
        )
    if error.errno == errno.ENOMEM:
        return f"{error.strerror}. {_no_memory()}"
    return f"{error.strerror or error}."


def _no_memory() -> str:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        return f"This process may use {limit} bytes of address space (RLIMIT_AS). {_ADVICE}"
    return "Let go of large arrays that you no longer need: a process can map some 65,000 (sysctl vm.max_map_count)."
