"""The prober: the process that asks the devices. A driver that hangs or crashes takes nothing else with it."""

from __future__ import annotations

import os
import selectors
import socket
import time
from dataclasses import asdict

import msgspec

from nbaccel import accelerators
from nbaccel.accelerators.metrics import Sampler

SAMPLE_EVERY_S = 1.0


class Detect(msgspec.Struct, array_like=True, tag=True):
    gpu_vendor: str | None
    simulate: str | None
    deadline_s: float


class Sample(msgspec.Struct, array_like=True, tag=True):
    """Measure these devices once a second from now on; none: stop."""

    devices: list[dict[str, object]]


class Look(msgspec.Struct, array_like=True, tag=True):
    """Measure these devices once."""

    number: int
    devices: list[dict[str, object]]


class Found(msgspec.Struct, array_like=True, tag=True):
    detection: str  # JSON
    error: str = ""


class Measured(msgspec.Struct, array_like=True, tag=True):
    metrics: list[dict[str, object]]


class Looked(msgspec.Struct, array_like=True, tag=True):
    number: int
    metrics: list[dict[str, object]]


decode_order = msgspec.msgpack.Decoder(Detect | Sample | Look).decode
decode_report = msgspec.msgpack.Decoder(Found | Measured | Looked).decode
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
                control.send(encode(_detect(machine, order)))
            elif type(order) is Look:
                looked_at = [accelerators.Device.from_dict(one) for one in order.devices]
                control.send(encode(Looked(order.number, [asdict(one) for one in sampler.sample(looked_at)])))
            else:
                devices = [accelerators.Device.from_dict(one) for one in order.devices]
                due = time.monotonic()
        elif devices:
            due = time.monotonic() + SAMPLE_EVERY_S
            control.send(encode(Measured([asdict(one) for one in sampler.sample(devices)])))


def _detect(machine: accelerators.RealMachine, order: Detect) -> Found:
    try:
        detection = accelerators.detect(
            machine, gpu_vendor=order.gpu_vendor, simulate=order.simulate, deadline_s=order.deadline_s
        )
    except ValueError as error:
        return Found("", str(error))
    return Found(detection.to_json())
