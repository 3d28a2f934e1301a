"""Tensors that lie on a device, as far as the store is concerned: they travel through the host, and that is said.

A storage on a device is copied to the host once, however many tensors share it. It comes to a device of the same kind
where the receiving task was given one, and stays on the host elsewhere: a notebook that reads a result must not begin
to use a GPU by that, and a task without one must not either.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from nbaccel import engine as engines
from nbaccel.local_engine.memory import view_of
from nbaccel.views import sinks


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
