"""What `pip install nbaccel` alone gives: every name is there, and what needs an extra says which."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"IPython", "ipywidgets", "anywidget", "ray", "torch", "optuna", "fsspec", "yaml"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
USES = {
    "star": "from nbaccel import *\nassert callable(dashboard)",
    "members": "import inspect, nbaccel\nassert 'dashboard' in dict(inspect.getmembers(nbaccel))",
    "hasattr": "import nbaccel\nassert all(hasattr(nbaccel, name) for name in nbaccel.__all__)",
    "pydoc": "import pydoc, nbaccel\nassert 'dashboard' in pydoc.plain(pydoc.render_doc(nbaccel))",
    "a task": "import nbaccel\nnbaccel.init(num_cpus=1)\nassert nbaccel.get(nbaccel.remote(lambda: 5).remote()) == 5",
}
NEEDED = {
    "dashboard": ("import nbaccel\nnbaccel.dashboard()", "pip install 'nbaccel[lab]'"),
    "ray": ("import nbaccel\nnbaccel.init(engine='ray')", "nbaccel[ray]"),
    "optuna": ("from nbaccel.tune.search.optuna import OptunaSearch\nOptunaSearch()", "nbaccel[tune]"),
}


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCK + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("use", USES)
def test_everything_without_an_extra_works_without_one(use: str) -> None:
    done = run(USES[use])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("what", NEEDED)
def test_what_needs_an_extra_names_it(what: str) -> None:
    program, words = NEEDED[what]
    done = run(program)
    assert done.returncode == 1 and words in done.stderr.splitlines()[-1], done.stderr
