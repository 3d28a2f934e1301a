"""Serving from cells of a real kernel: where prints and errors are shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.census import TOKEN, Place
from tests.notebook.kernels import Kernel

CELL = """
@serve.deployment
class Model:
    def __init__(self, word):
        print("loading", word)
        self.broken = [][1] if word == "broken" else 0

    def __call__(self, request):
        return "ok"

serve.run(Model.bind("WORD"))
"""


@pytest.fixture
def kernel(place: Place) -> Iterator[Kernel]:
    made = Kernel(**{name: value for name, value in place.environ.items() if name != TOKEN})
    yield made
    made.close()


def test_prints_and_errors_of_a_constructor_stand_below_the_cell_that_runs_it(kernel: Kernel) -> None:
    first = kernel.run(
        "import nbaccel; from nbaccel import serve; nbaccel.init(num_cpus=1)\n" + CELL.replace("WORD", "one")
    )
    second = kernel.run(CELL.replace("WORD", "two"))
    assert "loading one" in first.text and "loading two" in second.text
    assert "loading two" not in first.text
    broken = kernel.run(CELL.replace("WORD", "broken"))
    assert broken.error is not None and broken.error["ename"] == "RayTaskError(IndexError)"
    shown = "\n".join(broken.error["traceback"])
    assert "in __init__" in shown and "nbaccel/serve" not in shown
    assert "default  RUNNING  http://127.0.0.1:" in kernel.run("serve.status()").text
    kernel.run("nbaccel.shutdown()")


def test_the_card_stands_below_its_cell_and_is_saved_as_it_was_last_without_its_token(kernel: Kernel) -> None:
    cell = CELL.replace("WORD", "one").replace('bind("one")', 'bind("one"), token=True')
    first = kernel.run("import nbaccel; from nbaccel import serve; nbaccel.init(num_cpus=1)\n" + cell)
    kernel.until(lambda: any("Model  1 replica" in data.get("text/plain", "") for data in first.shown))
    again = kernel.run(cell)
    assert "nothing has changed" in again.text
    assert any("● default serving" in data.get("text/plain", "") for data in again.shown)
    token = kernel.run("serve.token_of()").shown[-1]["text/plain"].strip("'")
    kernel.run("nbaccel.shutdown()")
    cards = [data for data in [*first.shown, *again.shown] if "default" in data.get("text/plain", "")]
    assert any("– default ended" in data["text/plain"] for data in cards)
    assert len(token) > 40 and not any(token in str(data) for data in cards)
