"""What a reader of the site can copy: each block of Python of a recipe runs, and each command is one that there is."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbaccel import engine
from nbaccel.cli import main
from tests.census import Place
from tests.heads import inside

DOCS = Path(__file__).parents[2] / "docs"
RECIPES = sorted((DOCS / "how-to").glob("*.md"))
TABLES = sorted((DOCS / "coming-from").glob("*.md"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 60  # of a how-to: a screen; the page for administrators is complete instead
RIGHT_SIDE = re.compile(r"^\|.*\| `([^`]+)` \|$", re.MULTILINE)
NEEDS = {"accelerate": "torch", "dask": "dask", "lightning": "lightning"}


def blocks(page: Path, *languages: str) -> list[str]:
    return [code for language, code in BLOCK.findall(page.read_text("utf-8")) if language in languages]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[InteractiveShell]:
    """As a notebook's, on a machine of its own."""
    with inside(Place()):
        os.environ["NBACCEL_STORAGE"] = str(tmp_path)
        shell = InteractiveShell.instance()
        yield shell
        shell.reset(new_session=False)
        engine.cell_source = None
        shell.history_manager.end_session()
        InteractiveShell.clear_instance()


def run(shell: InteractiveShell, code: str) -> Any:
    done = shell.run_cell(code)
    done.raise_error()
    return done.result


@pytest.mark.parametrize(
    "page", [page for page in RECIPES if blocks(page, "python", "ipython")], ids=lambda page: page.stem
)
def test_the_blocks_of_a_recipe_run_from_the_first_to_the_last(page: Path, shell: InteractiveShell) -> None:
    shell.user_ns["c"] = Config()  # what jupyterhub_config.py begins with
    for code in blocks(page, "python", "ipython"):
        run(shell, code)


WHAT_IT_NEEDS = [
    pytest.param(page, marks=[pytest.mark.extra(NEEDS[page.stem])] if page.stem in NEEDS else [])
    for page in TABLES
    if page.stem != "index"
]


@pytest.mark.parametrize("page", WHAT_IT_NEEDS, ids=lambda page: page.stem)
def test_the_right_side_of_a_table_runs_from_its_first_row_to_its_last(page: Path, shell: InteractiveShell) -> None:
    first, *after = blocks(page, "python")
    rows = RIGHT_SIDE.findall(page.read_text("utf-8"))
    assert len(rows) >= 6
    for code in (first, *rows, *after):
        run(shell, code)


FOR_RAY = """
import os
import ray
import ray.util
from ray import tune
from ray.util import ActorPool
from ray.util.placement_group import placement_group
from ray.util.queue import Queue
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init(num_cpus=4, num_gpus=2, runtime_env={"env_vars": {"MODELS": "/models"}})

@ray.remote(num_gpus=0.5)
def infer(x):
    return x * 2, os.environ["MODELS"]

@ray.remote(num_gpus=0.5)
class Model:
    def predict(self, x):
        return x + 1

pending, done = [infer.remote(x) for x in range(4)], []
while pending:
    ready, pending = ray.wait(pending, num_returns=1, timeout=30)
    done += ray.get(ready)
assert sorted(done) == [(0, "/models"), (2, "/models"), (4, "/models"), (6, "/models")]

pool = ActorPool([Model.remote(), Model.remote()])
assert list(pool.map(lambda model, x: model.predict.remote(x), range(4))) == [1, 2, 3, 4]

queue = Queue(maxsize=10)
ray.get(ray.remote(lambda queue: queue.put("there")).remote(queue))
assert queue.get(timeout=30) == "there"

del pool
group = placement_group([{"GPU": 1, "CPU": 1}], strategy="PACK")
ray.get(group.ready())
inside = infer.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group))
assert ray.get(inside.remote(5))[0] == 10
ray.util.remove_placement_group(group)

def objective(config):
    import ray.tune
    tune.report({"score": config["a"] ** 2})

space = {"a": tune.grid_search([1, 2, 3])}
found = tune.Tuner(objective, param_space=space, tune_config=tune.TuneConfig(metric="score", mode="max")).fit()
assert found.get_best_result().config == {"a": 3}
ray.shutdown()
"""


def test_a_program_for_ray_runs_after_the_command_that_the_page_gives(tmp_path: Path, place: Place) -> None:
    (tmp_path / "script.py").write_text(FOR_RAY)
    [command] = blocks(DOCS / "coming-from/ray.md", "bash")
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    program = (tmp_path / "script.py").read_text()
    assert not re.search(r"(import|from) ray\b", program)
    done = place.run(program, NBACCEL_STORAGE=str(tmp_path))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", RECIPES, ids=lambda page: page.stem)
def test_a_recipe_is_at_most_a_screen_long(page: Path) -> None:
    lines = [line for line in page.read_text("utf-8").splitlines() if line.strip()]
    assert len(lines) <= (200 if page.stem == "jupyterhub" else MOST_LINES)


def commands() -> list[str]:
    pages = [*DOCS.glob("*.md"), *RECIPES, *TABLES]
    lines = [line for page in pages for code in blocks(page, "bash") for line in code.splitlines()]
    return sorted({line.split("  #")[0] for line in lines if line.startswith("nbaccel ")})


@pytest.mark.parametrize("line", commands())
def test_the_commands_of_a_page_exist_with_their_options(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    context = main.make_context("nbaccel", words, obj=object())
    name, command, rest = main.resolve_command(context, words)
    assert command is not None
    command.make_context(name, rest, parent=context)
