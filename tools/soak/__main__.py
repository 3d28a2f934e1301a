"""Rounds of work and faults, for so many minutes; what is wrong or left over is an error."""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy

import nbaccel
from nbaccel.exceptions import ObjectStoreFullError
from nbaccel.views import sessions
from tests.accelerators.machines import MadeMachine, add_amd
from tests.census import Place
from tests.heads import assert_idle, inside
from tests.rig import wait_until
from tools.soak import work
from tools.soak.faults import Faults

ROUND_S = 30.0
STORE_BYTES = 48 << 20


def soak(seconds: float, seed: int) -> Counter[str]:
    """Rounds until the time is over; what happened in them. Raises AssertionError."""
    rng = random.Random(seed)
    happened: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        happened += one_round(min(ROUND_S, end - time.monotonic()), rng.randrange(1 << 30))
    return happened


def one_round(seconds: float, seed: int) -> Counter[str]:
    """One shared head, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder, inside(Place()) as place:
        _furnish(Path(folder))
        started = place.command("start", "--head", "--num-cpus=3", f"--object-store-memory={STORE_BYTES}", **os.environ)
        assert started.returncode == 0, started.stderr
        try:
            return _work_with_faults(place, seconds, seed)
        finally:
            nbaccel.shutdown()
            assert place.command("stop", **os.environ).returncode == 0


def _furnish(folder: Path) -> None:
    """A machine with two cards, whose devices are leased as real ones are."""
    machine = MadeMachine(folder)
    add_amd(machine)
    (folder / "locks").mkdir()
    os.environ["NBACCEL_MACHINE_ROOT"] = str(machine.tree)
    os.environ[work.LOCKS] = str(folder / "locks")


def _work_with_faults(place: Place, seconds: float, seed: int) -> Counter[str]:
    nbaccel.init(address="auto", log_to_driver=False)
    total = nbaccel.cluster_resources()
    assert total["GPU"] == 2, total
    (record,) = sessions.find()
    job = work.Work(seed)
    faults = Faults(place, record.pid, seed)
    faults.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            job.batch(20)
    finally:
        faults.finish()
        job.close()
    assert not faults.failures, faults.failures
    assert sessions.is_alive(record), "the head has died"
    _assert_nothing_held(place, total)
    faults.happened["results checked"] = job.count
    return faults.happened


def _assert_nothing_held(place: Place, total: dict[str, float]) -> None:
    """No object, task or resource, no lease, and the arena is free in one piece."""
    assert_idle()
    assert nbaccel.cluster_resources() == total
    wait_until(lambda: "leases" not in place.left(), "the leases to be given back")
    wait_until(_whole_store_is_used, "the whole store to be free")
    gc.collect()


def _whole_store_is_used() -> bool:
    try:
        ref = nbaccel.put(numpy.ones(STORE_BYTES - (1 << 20), dtype=numpy.uint8))
    except ObjectStoreFullError:  # a process that is about to end may still be a reader
        return False
    return int(nbaccel.get(ref)[-1]) == 1


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    sys.stdout.write(f"soaking for {asked.minutes:g} min with seed {asked.seed}\n")
    sys.stdout.flush()
    happened = soak(asked.minutes * 60, asked.seed)
    sys.stdout.write("".join(f"{count:>8} {what}\n" for what, count in sorted(happened.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
