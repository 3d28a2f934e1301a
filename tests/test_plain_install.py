"""What `pip install nbaccel` gives, alone and with each extra: every name is there, and what needs an extra says which.

Packages that are installed for other reasons are hidden, as if the environment had been made with that extra alone.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
EXTRAS = ["lab", "ray", "train", "tune", "kubernetes"]
HIDE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
USES = {
    "star": "from nbaccel import *\nassert callable(dashboard)",
    "members": "import inspect, nbaccel\nassert 'dashboard' in dict(inspect.getmembers(nbaccel))",
    "hasattr": "import nbaccel\nassert all(hasattr(nbaccel, name) for name in nbaccel.__all__)",
    "pydoc": "import pydoc, nbaccel\nassert 'dashboard' in pydoc.plain(pydoc.render_doc(nbaccel))",
    "torch's names": "import inspect\nfrom nbaccel.train.torch import *\nimport nbaccel.train.torch as found\n"
    "assert callable(prepare_model) and 'prepare_data_loader' in dict(inspect.getmembers(found))",
}
A_TASK = "import nbaccel\nnbaccel.init(num_cpus=1)\nassert nbaccel.get(nbaccel.remote(lambda: 5).remote()) == 5"
# What users may import, and the extra or the package that it needs.
OPTIONAL = {
    "nbaccel.train.torch.train_loop_utils": "nbaccel[train]",
    "nbaccel.train.huggingface.transformers": "transformers[torch]",
    "nbaccel.train.lightning": "pip install lightning",
    "nbaccel.tune.integration.keras": "pip install keras",
    "nbaccel.tune.integration.pytorch_lightning": "pip install lightning",
    "nbaccel.tune.integration.xgboost": "pip install xgboost",
    "nbaccel.util.dask": "pip install dask",
    "nbaccel.util.joblib": "pip install joblib",
}
# Rooms whose modules nobody imports but nbaccel itself, when the extra is there.
OWN = ("nbaccel.notebook.", "nbaccel.ray_engine.", "nbaccel.machines.sources.provider", "nbaccel.serve.")
IMPORTS = """
import importlib, json, pathlib, nbaccel
root = pathlib.Path(nbaccel.__file__).parent
paths = [path.relative_to(root.parent).with_suffix("") for path in root.rglob("*.py") if path.name != "__main__.py"]
failed = {}
for name in sorted(".".join(path.parts).removesuffix(".__init__") for path in paths):
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed[name] = str(error)
print(json.dumps(failed))
"""
NEEDED = {
    "dashboard": ("import nbaccel\nnbaccel.dashboard()", "pip install 'nbaccel[lab]'"),
    "ray": ("import nbaccel\nnbaccel.init(engine='ray')", "nbaccel[ray]"),
    "optuna": ("from nbaccel.tune.search.optuna import OptunaSearch\nOptunaSearch()", "nbaccel[tune]"),
    "a model": ("from nbaccel.train.torch import prepare_model\nprepare_model(None)", "nbaccel[train]"),
    "a storage path": ("from nbaccel.train import RunConfig\nRunConfig(storage_path='s3://bucket')", "nbaccel[train]"),
    "a result": ("from nbaccel.train import Result\nResult.from_path('s3://bucket/run')", "nbaccel[train]"),
    "a checkpoint": ("from nbaccel.train import Checkpoint\nCheckpoint('s3://b/c').to_directory()", "nbaccel[train]"),
    "a manifest": ("from nbaccel.cli import main\nmain(['kuberay', 'render', 'c'])", "nbaccel[kubernetes]"),
}  # fmt: skip


@functools.cache
def packages(extra: str) -> frozenset[str]:
    """The packages that `pip install nbaccel[extra]` brings, as far as they are installed here."""
    found: set[str] = set()
    asked, pending = set(), [("nbaccel", (extra,))]
    while pending:
        name, extras = pending.pop()
        if (name, extras) in asked:
            continue
        asked.add((name, extras))
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        found.add(name)
        for needed in map(Requirement, lines):
            if needed.marker is None or any(needed.marker.evaluate({"extra": each}) for each in extras or ("",)):
                pending.append((canonicalize_name(needed.name), tuple(sorted(needed.extras))))
    return frozenset(found)


installed = functools.cache(metadata.packages_distributions)


def with_extra(extra: str, program: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an environment with this extra alone, "" for none."""
    there = packages(extra)
    hidden = [top for top, names in installed().items() if not any(canonicalize_name(name) in there for name in names)]
    command = [sys.executable, "-c", f"HIDDEN = set({hidden!r})\n{HIDE}{program}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_without_an_extra_tasks_run_and_each_name_is_there() -> None:
    done = with_extra("", "\n".join([*USES.values(), A_TASK]))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("extra", EXTRAS)
def test_with_one_extra_alone_each_name_is_there(extra: str) -> None:
    missing = {canonicalize_name(Requirement(line).name) for line in metadata.requires("nbaccel") or []
               if f'extra == "{extra}"' in line.replace("'", '"')} - packages(extra)  # fmt: skip
    if missing:
        pytest.skip(f"needs nbaccel[{extra}]: {', '.join(sorted(missing))} is not installed")
    imports = [f"import {name}" for name, needs in OPTIONAL.items() if needs == f"nbaccel[{extra}]"]
    done = with_extra(extra, "\n".join([*USES.values(), *imports]))
    assert done.returncode == 0, done.stderr


def test_each_module_can_be_imported_without_an_extra_or_names_it() -> None:
    done = with_extra("", IMPORTS)
    assert done.returncode == 0, done.stderr
    failed = {name: words for name, words in json.loads(done.stdout).items() if not name.startswith(OWN)}
    assert set(failed) - set(OPTIONAL) == set()
    assert [(name, failed[name]) for name, needs in OPTIONAL.items() if needs not in failed[name]] == []


@pytest.mark.parametrize("what", NEEDED)
def test_what_needs_an_extra_names_it(what: str) -> None:
    program, words = NEEDED[what]
    done = with_extra("", program)
    assert done.returncode == 1 and words in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.parametrize("user", [0, 1000])
def test_make_lab_starts_jupyter_also_for_root(tmp_path: Path, user: int) -> None:
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}  # of `make test`
    environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    lines = subprocess.run(
        ["make", "--dry-run", "lab"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    (start,) = [each for each in lines if "-m jupyter lab" in each]
    assert ("--allow-root" in start) == (user == 0)
