"""The prober: the process that asks the devices. A driver that hangs or crashes affects only this process."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time

import msgspec

from nbaccel import accelerators
from nbaccel.accelerators.metrics import Sampler
from nbaccel.local_engine import memory

SAMPLE_EVERY_S = 1.0


class Detect(msgspec.Struct, array_like=True, tag=True):
    """Find the devices: one Found is sent as soon as a node can begin, another if more devices answer later."""

    gpu_vendor: str | None
    deadline_s: float


class Sample(msgspec.Struct, array_like=True, tag=True):
    """Measure these devices once a second from now on; an empty list stops it."""

    devices: list[dict[str, object]]


class Inspect(msgspec.Struct, array_like=True, tag=True):
    """Measure these devices once."""

    number: int
    devices: list[dict[str, object]]


class Found(msgspec.Struct, array_like=True, tag=True):
    detection: str  # JSON
    error: str = ""


class Measured(msgspec.Struct, array_like=True, tag=True):
    metrics: list[dict[str, object]]


class Inspected(msgspec.Struct, array_like=True, tag=True):
    number: int
    metrics: list[dict[str, object]]


decode_order = msgspec.msgpack.Decoder(Detect | Sample | Inspect).decode
decode_report = msgspec.msgpack.Decoder(Found | Measured | Inspected).decode
encode = msgspec.msgpack.encode


def main(control: socket.socket, arena_fd: int, argument: str) -> None:
    """Run as the prober; `control` is a SOCK_SEQPACKET to the head."""
    os.close(arena_fd)
    machine = accelerators.RealMachine()
    sampler = Sampler(machine)
    devices: list[accelerators.Device] = []
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ)
    due = time.monotonic()
    while True:
        timeout_s = max(due - time.monotonic(), 0) if devices else None
        if selector.select(timeout_s):
            body = control.recv(1 << 20)
            if not body:
                os._exit(0)
            order = decode_order(body)
            if type(order) is Detect:
                # In a thread, because known devices may have to be measured meanwhile.
                threading.Thread(target=_detect, args=(control, machine, order), daemon=True).start()
            elif type(order) is Inspect:
                looked_at = [accelerators.Device.from_dict(one) for one in order.devices]
                control.send(encode(Inspected(order.number, [one.to_dict() for one in sampler.sample(looked_at)])))
            else:
                devices = [accelerators.Device.from_dict(one) for one in order.devices]
                due = time.monotonic()
        elif devices:
            due = time.monotonic() + SAMPLE_EVERY_S
            control.send(encode(Measured([one.to_dict() for one in sampler.sample(devices)])))


def _detect(control: socket.socket, machine: accelerators.RealMachine, order: Detect) -> None:
    try:
        for detection in accelerators.detections(machine, gpu_vendor=order.gpu_vendor, deadline_s=order.deadline_s):
            control.send(encode(Found(detection.to_json())))
    except ValueError as error:
        control.send(encode(Found("", str(error))))
    memory.trim()  # where Python keeps no bytecode, compiling the vendor's bindings took 17 MB
