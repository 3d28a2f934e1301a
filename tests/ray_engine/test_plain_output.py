"""What a task prints on Ray: text bars for tqdm.notebook, no colours of a kernel, and what the driver's loggers do."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

pytest.importorskip("ray")

import nbaccel
from nbaccel.views import sinks
from tests.rig import wait_until


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the workers of a Ray print that a kernel starts whose root logger shows INFO."""
    lines: list[str] = []
    monkeypatch.setattr(sinks.installed, "lines", lambda message: lines.append(message.text.decode()))
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", ModuleType("ipykernel.zmqshell"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    before = logging.root.level
    logging.root.setLevel(logging.INFO)
    nbaccel.init(engine="ray", num_cpus=1)
    assert os.environ["FORCE_COLOR"] == "1"
    yield lines
    nbaccel.shutdown()
    logging.root.setLevel(before)


@nbaccel.remote
def work() -> None:
    from rich import print as rich_print
    from tqdm.notebook import tqdm

    logging.getLogger("any").info("shown")
    logging.getLogger("any").debug("not wanted")
    rich_print("[bold red]the end[/]")
    for _ in tqdm(range(3), desc="bar", display=True):
        pass


@nbaccel.remote(num_cpus=0)
class Asynchronous:
    async def give(self) -> object:
        return {"k": open(os.devnull, "w")}


@pytest.mark.ray
@pytest.mark.extra("tqdm", "rich")
def test_output_is_as_on_the_local_engine_and_what_a_coroutine_returns_is_named(shown: list[str]) -> None:
    nbaccel.get(work.remote())
    wanted = ("bar: 100%", "3/3", "INFO:any:shown", "the end")
    wait_until(lambda: all(text in "".join(shown) for text in wanted), "the task's output")
    assert "\x1b" not in "".join(shown) and "not wanted" not in "".join(shown)
    with pytest.raises(pickle.PicklingError, match=r"the return value of Asynchronous\.give: it\['k'\]"):
        nbaccel.get(Asynchronous.remote().give.remote())
