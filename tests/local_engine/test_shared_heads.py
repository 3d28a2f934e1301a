"""Heads that several drivers share, and who may not."""

from __future__ import annotations

import nbaccel
from tests.census import Place, wait_until
from tests.heads import rows
from tests.local_engine import misbehaving


def test_a_driver_that_dies_on_a_shared_head_takes_only_its_own_along(own_head: Place) -> None:
    place = own_head
    try:
        started = place.command("start", "--head", "--num-cpus=2", "--num-gpus=2")
        assert started.returncode == 0, started.stderr
        nbaccel.init(address="auto")
        actor = misbehaving.Fragile.options(num_gpus=1).remote()
        pid = nbaccel.get(actor.pid.remote())
        other = place.start(misbehaving.HOLDER)
        assert other.stdout is not None
        held = other.stdout.readline()
        while held and not held.startswith("holds"):
            held = other.stdout.readline()
        assert held == "holds [1]\n", other.communicate()
        other.kill()
        other.communicate()
        wait_until(lambda: nbaccel.available_resources().get("GPU") == 1, "the other's GPU")
        assert nbaccel.get(actor.pid.remote()) == pid
        assert [row["state"] for row in rows("actors")].count("ALIVE") == 1
    finally:
        nbaccel.shutdown()
        assert place.command("stop").returncode == 0
