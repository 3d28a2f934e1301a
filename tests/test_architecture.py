"""Who may import whom, what an import may load, and the rules of the house that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nbaccel"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Room -> the rooms that it may import, beside itself. A room is a top-level module or folder of nbaccel.
LEAVES = {"exceptions", "wording", "snapshot", "version"}
PUBLIC = {
    "actor",
    "api",
    "exceptions",
    "runtime_context",
    "sessions",
    "snapshot",
    "tables",
    "wording",
    "accelerators",
    "answers",
}
ARROWS: dict[str, set[str]] = {
    "wording": set(),
    "exceptions": {"exception_state"},
    "exception_state": set(),
    "snapshot": set(),
    "sinks": set(),
    "scheduling": {"options", "option_checks", "exceptions"},
    "accelerators": {"exceptions"},
    "tables": {"snapshot", "wording"},
    # It tells the engine which cell runs, takes over what workers print, and checks init()'s options.
    "notebook": PUBLIC
    | {"roots", "engine", "options", "refs", "placement_group_handle", "sinks", "stopping", "task_filter"},
    "cli": PUBLIC | {"top", "task_filter"},
    "top": {"sessions", "snapshot", "tables", "wording"},
}
# Nobody may import these rooms, except where the name stands behind them.
CLOSED: dict[str, set[str]] = {
    "notebook": {"api", "__init__"},  # inside functions: the card of init(), and %load_ext
    "cli": {"__main__"},
    # api starts daemons, the debug engine pickles as the local one does.
    "local_engine": {"engine", "api", "debug_engine"},
    "ray_engine": {"engine"},
}
RAYS_PATHS = {PACKAGE / "_private/utils.py", PACKAGE / "util/state/common.py", PACKAGE / "experimental/state/common.py"}
BAD_NAMES = {"utils", "helpers", "common", "misc", "base", "manager"}


def _room(path: Path) -> str:
    inside = path.relative_to(PACKAGE).parts
    return inside[0] if len(inside) > 1 else path.stem


def _imported_rooms(path: Path) -> set[str]:
    """The rooms of nbaccel that a file imports, also inside functions."""
    rooms: set[str] = set()
    package = ("nbaccel", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            prefix = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (prefix, node.module or "") if part)
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("nbaccel.")}
    return {room for room in rooms if (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").exists()}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_follow_the_arrows(path: Path) -> None:
    room = _room(path)
    imported = _imported_rooms(path) - {room}
    if room in ARROWS:
        assert imported <= ARROWS[room], f"{room} may not import {sorted(imported - ARROWS[room])}"
    for closed, openers in CLOSED.items():
        assert closed not in imported or room in openers, f"{room} may not import {closed}"


def test_scheduling_reaches_no_clock_thread_file_or_chance() -> None:
    banned = {
        "os",
        "time",
        "socket",
        "threading",
        "random",
        "subprocess",
        "pathlib",
        "asyncio",
        "datetime",
        "selectors",
    }
    for path in (PACKAGE / "scheduling").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            touched = {name.split(".")[0] for name in names} & banned
            assert not touched, f"{_name(path)} imports {touched}: scheduling decides and never acts"


def test_importing_nbaccel_loads_nothing_heavy() -> None:
    heavy = ["ray", "IPython", "jupyter_server", "numpy", "torch", "pynvml", "rich", "click"]
    program = f"import sys, nbaccel; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_a_file_holds_one_thing(path: Path) -> None:
    text = path.read_text()
    assert path.stem not in BAD_NAMES or path in RAYS_PATHS, "a file is named for the one thing that it holds"
    assert len(text.splitlines()) <= 500, "ask which second thing this file holds"
    assert ast.get_docstring(ast.parse(text)), "the first line says what the module is"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_nothing_is_left_for_later(path: Path) -> None:
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", path.read_text())


# Importing a submodule gives its name in the package to the module: a function of that name would be gone.
SAME_AS_SUBMODULE = {"nbaccel/__init__.py": {"snapshot"}}  # loaded before the function gets the name


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=_name)
def test_no_name_of_a_package_is_also_the_name_of_its_submodule(path: Path) -> None:
    submodules = {each.stem for each in path.parent.glob("*.py")} | {each.name for each in path.parent.glob("*/")}
    assert _own_names(path) & submodules == SAME_AS_SUBMODULE.get(_name(path), set())


def _own_names(path: Path) -> set[str]:
    """The names that a package gives to something other than a submodule of its own."""
    package = ".".join(path.relative_to(ROOT).parent.parts)
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and node.module != package:
            names |= {alias.asname or alias.name for alias in node.names}
    return names
