"""What is redefined or edited is seen by the next task, in a real kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernels import Kernel

ON_RAY = [pytest.mark.ray, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=["local", pytest.param("ray", marks=ON_RAY)])
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    if request.param == "ray":
        pytest.importorskip("ray")
    kernel = Kernel(patience_s=180)
    try:
        started = kernel.run(f"import nbaccel, sys\nnbaccel.init(engine={request.param!r}, num_cpus=2)")
        assert started.error is None, started.error
        yield kernel
    finally:
        kernel.close()


def test_a_redefined_helper_is_seen_by_the_next_task(kernel: Kernel) -> None:
    kernel.run("def helper():\n    return 'old'\n\n@nbaccel.remote\ndef task():\n    return helper()")
    assert "old" in kernel.run("print(nbaccel.get(task.remote()))").stdout

    kernel.run("def helper():\n    return 'new'")

    assert "new" in kernel.run("print(nbaccel.get(task.remote()))").stdout


def test_a_helper_of_a_helper_counts_and_captured_data_does_not(kernel: Kernel) -> None:
    kernel.run("data = [1]\ndef inner():\n    return 'old'\ndef outer():\n    return inner()")
    kernel.run("@nbaccel.remote\ndef both():\n    return outer(), list(data)")
    assert "('old', [1])" in kernel.run("print(nbaccel.get(both.remote()))").stdout

    kernel.run("data.append(2)")
    assert "('old', [1])" in kernel.run("print(nbaccel.get(both.remote()))").stdout

    kernel.run("def inner():\n    return 'new'")
    assert "'new'" in kernel.run("print(nbaccel.get(both.remote()))").stdout


def test_a_redefined_class_is_seen_by_the_next_actor(kernel: Kernel) -> None:
    kernel.run("class Base:\n    def answer(self):\n        return 'old'")
    kernel.run("@nbaccel.remote\nclass Actor(Base):\n    def ask(self):\n        return self.answer()")
    assert "old" in kernel.run("print(nbaccel.get(Actor.remote().ask.remote()))").stdout

    kernel.run("def answer(self):\n    return 'new'\nBase.answer = answer")

    assert "new" in kernel.run("print(nbaccel.get(Actor.remote().ask.remote()))").stdout


def test_an_edited_module_is_seen_by_the_next_task(kernel: Kernel, tmp_path: Path) -> None:
    module = tmp_path / "edited_here.py"
    module.write_text("def answer():\n    return 'old'\n")
    kernel.run(f"place = {str(tmp_path)!r}\nsys.path.insert(0, place)\nimport edited_here")
    kernel.run(
        "@nbaccel.remote\ndef ask(place):\n    import sys\n    sys.path.insert(0, place)\n    import edited_here\n"
        "    return edited_here.answer()"
    )
    assert "old" in kernel.run("print(nbaccel.get(ask.remote(place)))").stdout

    module.write_text("def answer():\n    return 'a longer new'\n")

    assert "a longer new" in kernel.run("print(nbaccel.get(ask.remote(place)))").stdout


REDEFINED = {
    "the default of an argument": ("def helper(rate={!r}):\n    return rate", "helper()"),
    "the default of a keyword": ("def helper(*, rate={!r}):\n    return rate", "helper()"),
    "a function that is a default": (
        "def inner():\n    return {!r}\ndef helper(call=inner):\n    return call()",
        "helper()",
    ),
    "an attribute of a class": ("class Settings:\n    rate = {!r}", "Settings.rate"),
    "an attribute of a base": ("class Base:\n    rate = {!r}\nclass Settings(Base):\n    pass", "Settings.rate"),
    "a dictionary of a class": ("class Settings:\n    rates = {{'first': {!r}}}", "Settings.rates['first']"),
    "a member of an Enum": ("import enum\nclass Rate(enum.Enum):\n    FIRST = {!r}", "Rate.FIRST.value"),
    "a field of a dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass Settings:\n    rate: str = {!r}",
        "Settings().rate",
    ),
    "a function in a partial": (
        "import functools\ndef inner():\n    return {!r}\nhelper = functools.partial(inner)",
        "helper()",
    ),
}


@pytest.mark.parametrize("what", REDEFINED)
def test_what_is_stated_anew_is_seen_by_the_next_task(kernel: Kernel, what: str) -> None:
    code, expression = REDEFINED[what]
    kernel.run(code.format("old"))
    kernel.run(f"@nbaccel.remote\ndef task():\n    return {expression}")
    assert "old" in kernel.run("print(nbaccel.get(task.remote()))").stdout

    kernel.run(code.format("new"))

    assert "new" in kernel.run("print(nbaccel.get(task.remote()))").stdout
