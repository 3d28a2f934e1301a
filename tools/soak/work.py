"""Random work whose every result is known beforehand."""

from __future__ import annotations

import fcntl
import gc
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

import nbaccel
from nbaccel.exceptions import RayError
from nbaccel.util import placement_group, remove_placement_group
from nbaccel.util.scheduling_strategies import PlacementGroupSchedulingStrategy

PATIENCE_S = 120.0
LOCKS = "NBACCEL_SOAK_LOCKS"  # the directory of a file for each device
FOREVER = -1


class Wrong(AssertionError):
    """A result that is not what it must be."""


@nbaccel.remote(max_retries=FOREVER)
def add(left: int, right: int) -> int:
    return left + right


@nbaccel.remote(max_retries=FOREVER)
def first_of(array: Any, value: int) -> int:
    return value + int(array[0]) + int(array[-1])


@nbaccel.remote(max_retries=FOREVER)
def filled(size: int, value: int) -> Any:
    return numpy.full(size, value, dtype=numpy.uint8)


@nbaccel.remote(max_retries=FOREVER)
def nested(value: int) -> int:
    refs = [add.remote(value, i) for i in range(3)]
    return int(sum(nbaccel.get(refs)))


@nbaccel.remote(max_retries=FOREVER, num_returns=2)
def pair(value: int) -> tuple[int, int]:
    return value, -value


@nbaccel.remote(max_retries=FOREVER)
def count_to(number: int) -> Iterator[int]:
    yield from range(number)


@nbaccel.remote(max_retries=0)
def sleep_long() -> None:
    time.sleep(1000)


@contextmanager
def device_locks(shared: bool) -> Iterator[list[str]]:
    """The devices that a task was given, locked: two that must not meet on one do not."""
    ids = nbaccel.get_runtime_context().get_accelerator_ids()["GPU"]
    files = [os.open(os.path.join(os.environ[LOCKS], id), os.O_RDWR | os.O_CREAT, 0o600) for id in ids]
    try:
        for file in files:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        yield list(ids)
    finally:
        for file in files:
            os.close(file)


@nbaccel.remote(max_retries=FOREVER)
def on_devices(amount: float, value: int) -> int:
    with device_locks(shared=amount < 1) as ids:
        time.sleep(0.002)
        return value if len(ids) == max(int(amount), 1) else -1


@nbaccel.remote(max_restarts=FOREVER, max_task_retries=FOREVER)
class Echo:
    def echo(self, value: Any) -> Any:
        return value


Check = Callable[[], None]


class Work:
    """Submits at random; each submission gives the function that checks its result."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        self.actors = [Echo.options(num_cpus=0).remote() for _ in range(2)]
        self.kept = nbaccel.put(numpy.full(200_000, 3, dtype=numpy.uint8))
        self._kinds: list[Callable[[int], Check]] = [
            self._task,
            self._array,
            self._large,
            self._nested,
            self._pair,
            self._stream,
            self._actor,
            self._own_actor,
            self._object,
            self._device,
            self._group,
            self._cancelled,
            self._wait,
        ]

    def batch(self, size: int) -> None:
        """Submit so many things, then check them in another order."""
        checks = []
        for _ in range(size):
            self.count += 1
            checks.append(self.rng.choice(self._kinds)(self.count))
        self.rng.shuffle(checks)
        for check in checks:
            check()

    def close(self) -> None:
        """Let go of everything."""
        self.actors.clear()
        self.kept = None
        gc.collect()

    # ---- what there is to do

    def _task(self, number: int) -> Check:
        return expect(add.remote(number, 1), number + 1)

    def _array(self, number: int) -> Check:
        return expect(first_of.remote(self.kept, number), number + 6)

    def _large(self, number: int) -> Check:
        size = self.rng.choice((100, 100_000, 2_000_000))
        ref = filled.remote(size, number % 200)
        return expect(first_of.remote(ref, number), number + 2 * (number % 200))

    def _nested(self, number: int) -> Check:
        return expect(nested.remote(number), 3 * number + 3)

    def _pair(self, number: int) -> Check:
        return expect(pair.remote(number), [number, -number])

    def _stream(self, number: int) -> Check:
        length = self.rng.choice((0, 1, 30))
        stream = count_to.options(num_returns="streaming").remote(length)

        def check() -> None:
            same([nbaccel.get(ref, timeout=PATIENCE_S) for ref in stream], list(range(length)), "a stream")

        return check

    def _actor(self, number: int) -> Check:
        return expect(self.rng.choice(self.actors).echo.remote(number), number)

    def _own_actor(self, number: int) -> Check:
        actor = Echo.options(num_gpus=self.rng.choice((0, 0.25))).remote()
        return expect(actor.echo.remote(number), number)

    def _object(self, number: int) -> Check:
        size = self.rng.choice((10, 300_000))
        ref = nbaccel.put(numpy.full(size, number % 200, dtype=numpy.uint8))
        return expect(first_of.remote(ref, 0), 2 * (number % 200))

    def _device(self, number: int) -> Check:
        amount = self.rng.choice((0.25, 0.5, 1, 2))
        return expect(on_devices.options(num_gpus=amount).remote(amount, number), number)

    def _group(self, number: int) -> Check:
        """Checked at once: what waits in a group while others wait for its CPUs would be a deadlock of our own."""
        group = placement_group([{"CPU": 1}] * self.rng.choice((1, 2)))
        strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=0)
        expect(add.options(num_cpus=1, scheduling_strategy=strategy).remote(number, 1), number + 1)()
        remove_placement_group(group)
        return lambda: None

    def _cancelled(self, number: int) -> Check:
        ref = sleep_long.options(num_gpus=self.rng.choice((0, 0.5))).remote()
        nbaccel.cancel(ref, force=self.rng.random() < 0.3)

        def check() -> None:
            try:
                nbaccel.get(ref, timeout=PATIENCE_S)
            except nbaccel.exceptions.GetTimeoutError:
                raise Wrong("a cancelled task has not ended") from None
            except RayError:
                return  # it was cancelled, or its worker was killed
            raise Wrong("a task that was cancelled has returned")

        return check

    def _wait(self, number: int) -> Check:
        refs = [add.remote(number, i) for i in range(4)]

        def check() -> None:
            ready, waiting = nbaccel.wait(refs, num_returns=4, timeout=PATIENCE_S)
            same((len(ready), len(waiting)), (4, 0), "wait()")

        return check


def expect(refs: Any, wanted: Any) -> Check:
    """The check of a plain result."""

    def check() -> None:
        same(nbaccel.get(refs, timeout=PATIENCE_S), wanted, "a result")

    return check


def same(found: Any, wanted: Any, what: str) -> None:
    if found != wanted:
        raise Wrong(f"{what} is {found!r} instead of {wanted!r}")


def main(seed: int) -> None:
    """A driver of its own, until it is killed."""
    nbaccel.init(address="auto", log_to_driver=False)
    work = Work(seed)
    while True:
        work.batch(10)
