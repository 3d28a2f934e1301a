"""Torch's tensors on their way through the store: out of the pickle, written once, and read as memory of their own.

```
  tensor ── torch's own __reduce_ex__ ──► how to rebuild it, and its storage
                                                              │ one Span for each storage, however many views it has
  Span: the bytes that the value's tensors reach ─────────────┘    (a small view of a large storage sends its part)
      ──► store ──► private mapping, copy on write ──► a storage ──► the views, which share it as before
```
What a Span covers is known when all has been pickled: the pickle says where its bytes are, and a small buffer beside
them, filled at last, says where they begin. Subclasses, sparse and quantised tensors are taken apart by torch itself,
until a storage comes along, which is sent whole. This module is for processes that have loaded torch.
"""

from __future__ import annotations

import importlib
import sys
from pickle import PickleBuffer
from struct import Struct
from typing import Any

from nbaccel import engine as engines
from nbaccel.local_engine.memory import view_of
from nbaccel.views import sinks

_START = Struct("<Q")
_ALIGN = 64  # torch's alignment; a part of a storage begins at a multiple, so tensors stay aligned
_REBUILDS = ("_rebuild_tensor_v2", "_rebuild_tensor_v3")


class Span:
    """The part of one storage that a value's tensors reach."""

    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self._start = storage.nbytes()
        self._end = 0
        self._says_start = bytearray(_START.size)
        self.buffer = PickleBuffer(bytearray(1))  # a placeholder until `piece` gives the bytes

    def include(self, start: int, end: int) -> None:
        self._start = min(self._start, start - start % _ALIGN)
        self._end = max(self._end, end)

    def include_all(self) -> None:
        self.include(0, self.storage.nbytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return received, (PickleBuffer(self._says_start), self.buffer, installed.of(self.storage))

    def piece(self) -> Any:
        """The bytes to be sent: a buffer, or a copy that is still to be made. Nothing is included any more."""
        start = min(self._start, self._end)
        _START.pack_into(self._says_start, 0, start)
        if installed.of(self.storage):
            return HostCopy(self.storage, start, self._end)
        return view_of(self.storage.data_ptr() + start, self._end - start, self.storage)


class Outgoing:
    """The storages of one value that is being pickled."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._spans: dict[int, Span] = {}
        self.by_buffer: dict[int, Span] = {}
        self._rebuilds = [getattr(torch._utils, name) for name in _REBUILDS if hasattr(torch._utils, name)]

    def reducers(self) -> dict[type, Any]:
        """For a pickler's dispatch table: these classes, and not what is derived from them."""
        torch = self._torch
        return {
            torch.Tensor: self._tensor,
            torch.storage.TypedStorage: self._typed_storage,
            torch.UntypedStorage: self._untyped_storage,
        }

    def _tensor(self, tensor: Any) -> tuple[Any, ...]:
        function, arguments, *rest = tensor.__reduce_ex__(5)
        if function in self._rebuilds:
            return *self._taken_out(tensor, function, arguments), *rest
        if getattr(function, "__name__", "") == "_rebuild_from_type_v2" and arguments[0] in self._rebuilds:
            inner, cls, inner_arguments, state = arguments  # a tensor with attributes
            inner, inner_arguments = self._taken_out(tensor, inner, inner_arguments)
            return function, (inner, cls, inner_arguments, state), *rest
        return (function, arguments, *rest)

    def _taken_out(self, tensor: Any, function: Any, arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """How to rebuild a tensor from a Span, and not from its storage."""
        _storage, offset, shape, strides, needs_gradient, hooks, *others = arguments
        span = self._span(tensor.untyped_storage())
        if all(shape):
            width = tensor.element_size()
            reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True)) + 1
            span.include(offset * width, (offset + reach) * width)
        layout = span, tensor.dtype, offset, shape, strides
        if hooks or any(isinstance(other, dict) for other in others):  # facts such as "read it as its conjugate"
            return rebuilt_by, (function, *layout, needs_gradient, hooks, *others)
        return rebuilt, (*layout, needs_gradient)

    def _span(self, storage: Any) -> Span:
        span = self._spans.get(storage._cdata)
        if span is None:
            span = self._spans[storage._cdata] = Span(storage)
            self.by_buffer[id(span.buffer)] = span
        return span

    def _typed_storage(self, storage: Any) -> tuple[Any, ...]:
        span = self._whole(storage._untyped_storage)
        return (rebuilt_typed, (span, storage.dtype)) if span is not None else storage.__reduce__()

    def _untyped_storage(self, storage: Any) -> tuple[Any, ...]:
        span = self._whole(storage)
        return (rebuilt_untyped, (span,)) if span is not None else storage.__reduce__()

    def _whole(self, storage: Any) -> Span | None:
        if storage.device.type == "meta":
            return None
        span = self._span(storage)
        span.include_all()
        return span


# ---- in the process that reads


def _torch() -> Any:
    return sys.modules.get("torch") or importlib.import_module("torch")


class Received:
    """A storage that has come, and where in the sender's it begins."""

    def __init__(self, storage: Any, start: int) -> None:
        self.storage = storage
        self.start = start


def received(says_start: Any, data: Any, device: str) -> Received:
    """Unpickle a Span: `data` is writable and nobody else's."""
    torch = _torch()
    view = memoryview(data)
    storage = torch.frombuffer(view, dtype=torch.uint8).untyped_storage() if view.nbytes else torch.UntypedStorage(0)
    if device:
        storage = arrived(storage, device)
    return Received(storage, _START.unpack_from(says_start)[0])


def rebuilt(
    source: Received, dtype: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], needs_gradient: bool
) -> Any:
    """Unpickle a tensor: what torch's own function does of it, in half the time."""
    tensor = _torch().empty(0, dtype=dtype, device=source.storage.device)
    tensor.set_(source.storage, offset - source.start // dtype.itemsize, shape, strides)
    if needs_gradient:
        tensor.requires_grad = True
    return tensor


def rebuilt_by(function: Any, source: Received, dtype: Any, offset: int, *others: Any) -> Any:
    """Unpickle a tensor that has more to it, by torch's own function."""
    torch = _torch()
    kept = dtype if function is torch._utils._rebuild_tensor_v2 else torch.uint8  # others get the type as an argument
    storage = torch.storage.TypedStorage(wrap_storage=source.storage, dtype=kept, _internal=True)
    return function(storage, offset - source.start // dtype.itemsize, *others)


def rebuilt_typed(source: Received, dtype: Any) -> Any:
    torch = _torch()
    return torch.storage.TypedStorage(wrap_storage=source.storage, dtype=dtype, _internal=True)


def rebuilt_untyped(source: Received) -> Any:
    return source.storage


# ---- tensors that lie on a device
#
# As far as the store is concerned they travel through the host, and the user is notified. A storage on a device is
# copied to the host once, however many tensors share it. It comes to a device of the same kind where the receiving task
# was given one, and stays on the host elsewhere: neither a notebook that reads a result nor a task without a GPU must
# begin to use one by that.


class TorchDevices:
    """What torch knows of them; tests install another."""

    def of(self, storage: Any) -> str:
        """The device, as torch writes it; "" for the host."""
        device = storage.device
        return "" if device.type == "cpu" else str(device)

    def copied(self, storage: Any, start: int, end: int) -> Any:
        """A part of a storage as a tensor of bytes on the host."""
        torch = sys.modules["torch"]
        return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)[start:end].cpu()

    def placed(self, storage: Any, device: str) -> Any:
        """The storage on the sender's device, or where there are fewer, the first; as it is where there is none."""
        torch: Any = importlib.import_module("torch")
        kind, _, number = device.partition(":")
        there = torch.get_device_module(kind).device_count() if hasattr(torch, kind) else 0
        if not there:
            return storage
        index = int(number or 0)
        return storage.to(device=torch.device(kind, index if index < there else 0))


installed: Any = TorchDevices()
_notified: set[str] = set()


class HostCopy:
    """A part of a device's storage. It is copied to the host when it is written, and not before."""

    def __init__(self, storage: Any, start: int, end: int) -> None:
        self._storage = storage
        self._start = start
        self.nbytes = end - start
        self._copy: memoryview | None = None

    def view(self) -> memoryview:
        if self._copy is None:
            host = installed.copied(self._storage, self._start, self._start + self.nbytes)
            self._copy = view_of(host.data_ptr(), self.nbytes, host)
            _notify(installed.of(self._storage))
        return self._copy


def arrived(storage: Any, device: str) -> Any:
    """A storage that came from a device, where it belongs in this process."""
    if _holds_devices():
        return installed.placed(storage, device)
    _notify(device)
    return storage


def _holds_devices() -> bool:
    started: Any = engines.started()
    return started is not None and any(started.context().accelerator_ids.values())


def _notify(device: str) -> None:
    """In words, once for each kind, in the user's own process: a task's tensors are told of where they arrive."""
    started: Any = engines.started()
    kind = device.partition(":")[0]
    if kind in _notified or started is None or started.context().is_worker:
        return
    _notified.add(kind)
    message = (
        f"A tensor on {device} travels through the memory of the host: it is copied there once. It comes to a device "
        "of the task that gets it, if that was given one, and stays on the host elsewhere. If you want neither, say "
        ".cpu() before, or keep the tensor in an actor."
    )
    cell = engines.cell_source() if engines.cell_source is not None else ("", b"")
    sinks.installed.notice(sinks.Notice("tensors", message, cell[1]))
