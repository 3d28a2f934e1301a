"""Clusters in the states that a request may meet, made of actors that hold what the state needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

import nbaccel
from nbaccel import engine as engines
from nbaccel.handles.options import TaskOptions, demand_of_task
from nbaccel.quantities import UNIT
from nbaccel.views.explanations import Explanation, Probe
from tests.rig import wait_until


@nbaccel.remote(num_cpus=0)
class Holder:
    """Holds what its options ask, until it is killed."""

    def ready(self) -> bool:
        return True


@contextmanager
def held(*amounts: float | str) -> Iterator[None]:
    """While it lasts, actors hold so much of the GPUs each, or of a GPU's memory; afterwards all is free again."""
    asked = [{"gpu_memory" if isinstance(amount, str) else "num_gpus": amount} for amount in amounts]
    holders = [Holder.options(num_cpus=0, **each).remote() for each in asked]
    nbaccel.get([holder.ready.remote() for holder in holders])
    try:
        yield
    finally:
        for holder in holders:
            nbaccel.kill(holder)
        wait_until_free()


def wait_until_free() -> None:
    """Nobody holds anything any more."""
    wait_until(lambda: nbaccel.available_resources() == nbaccel.cluster_resources(), "all to be free")


class Asked:
    """An engine that answers questions as it was told to; it runs nothing."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.questions: list[tuple[Any, ...]] = []

    def probe(self, options: TaskOptions) -> Probe:
        demand = {name: units / UNIT for name, units in demand_of_task(options).items()}
        self.questions.append((demand, options.gpu_memory or 0, options.label_selector))
        known = {name: value for name, value in self.answer.items() if name in Probe.__struct_fields__}
        return msgspec.convert(known, Probe)

    def explain(self, what: str | None) -> list[Explanation]:
        self.questions.append((what,))
        return [msgspec.convert(self.answer, Explanation)] if self.answer else []


@contextmanager
def running(engine: Any) -> Iterator[Any]:
    """This is the process's engine for a while."""
    before = engines.started()
    engines.adopt(engine)
    try:
        yield engine
    finally:
        engines.adopt(before)
