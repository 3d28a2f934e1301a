"""Many real tasks on few devices: never more than one whole of each at a time, and all of it is free in the end."""

from __future__ import annotations

import random
import time

import nbaccel
from tests.devices.conftest import Lab
from tests.rig import wait_until

CARDS = 3


@nbaccel.remote
def occupy(seconds: float) -> tuple[float, float, list[str]]:
    began = time.monotonic()
    time.sleep(seconds)
    return began, time.monotonic(), nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]


def test_no_device_is_ever_given_out_for_more_than_it_is(lab: Lab) -> None:
    nbaccel.init(num_cpus=8, simulate=f"nvidia:{CARDS}xA100")
    chosen = random.Random(3)
    asked = [chosen.choice([0.2, 0.25, 0.5, 0.6, 1, 1, 2]) for _ in range(30)]
    max_calls = [chosen.choice([0, 1]) for _ in asked]  # some processes are used again, some are not
    tasks = {calls: nbaccel.remote(max_calls=calls)(occupy._function) for calls in (0, 1)}
    refs = [
        tasks[calls].options(num_gpus=amount, num_cpus=0).remote(chosen.uniform(0, 0.03))
        for amount, calls in zip(asked, max_calls, strict=True)
    ]
    spans = list(zip(asked, nbaccel.get(refs), strict=True))
    for amount, (_began, _ended, ids) in spans:
        assert len(ids) == len(set(ids)) == max(1, amount)
    for _amount, (moment, _ended, _ids) in spans:
        held = dict.fromkeys(map(str, range(CARDS)), 0.0)
        for amount, (began, ended, ids) in spans:
            for id in ids if began <= moment < ended else ():
                held[id] += min(amount, 1)
        assert max(held.values()) <= 1.0001, held
    wait_until(lambda: nbaccel.available_resources().get("GPU") == CARDS, "all devices to be free")
    assert not any(row.holders for row in lab.snapshot().devices)
