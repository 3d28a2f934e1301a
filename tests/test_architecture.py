"""Who may import whom, what an import may load, and the rules of the house that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "nbaccel"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.is_symlink())  # a link is read where it leads

# Room -> the rooms that it may import, beside itself. A room is a folder of nbaccel or a module at its top, and in the
# two large engines each folder. Imports inside functions and for types count as well.
HELD = {"engine", "exceptions", "handles", "quantities"}
SHARED = {"local_engine", "local_engine.wire"}  # what all processes of the local engine share
RAYS = {"ray_engine", "ray_engine.submission", "ray_engine.reports"}
ARROWS: dict[str, set[str]] = {
    # leaves
    "elsewhere": set(),
    "freshness": {"roots"},
    "leases": {"proc", "quantities"},
    "class_parts": set(),
    "exceptions": set(),
    "read_only_arrays": set(),
    "proc": set(),
    "light_imports": set(),
    "plain_files": set(),
    "ray_preflight": {"plain_files"},
    "quantities": set(),
    "roots": set(),
    "stacks": set(),
    "surroundings": {"accelerators"},
    "starting": {"api", "handles"},
    # what users hold and see
    "engine": {"exceptions", "handles", "views"},
    "handles": {"dag", "engine", "exceptions", "quantities", "waits"},
    "waits": {"engine", "exceptions", "handles", "views"},
    "views": {"engine", "plain_files", "proc", "quantities"},
    "api": {"addresses", "engine", "exceptions", "handles", "job_config", "leases", "notifying"}
    | {"read_only_arrays", "views", "waits"},
    "notifying": {"engine", "exceptions", "views"},
    "notebook": HELD
    | {"__init__", "actor", "api", "autoscaler", "exceptions", "read_only_arrays", "roots", "starting", "views"}
    | {"waits"},
    "command": {"cli", "exceptions", "machines"},
    "cli": {
        "__init__",
        "accelerators",
        "api",
        "command",
        "error_entries",
        "exceptions",
        "handles",
        "machines",
        "stacks",
        "views",
    },
    "machines": {
        "accelerators",
        "handles",
        "proc",
        "light_imports",
        "plain_files",
        "ray_preflight",
        "views",
    },
    "util": HELD | {"__init__", "accelerators", "elsewhere", "proc", "views", "waits"},
    "train": {"__init__", "accelerators", "api", "device_memory", "elsewhere", "exceptions", "handles", "proc"}
    | {"stacks", "util", "views", "waits"},
    "air": {"elsewhere", "train", "tune"},
    "serve": HELD | {"__init__", "cloudpickle", "elsewhere", "roots", "util", "views", "waits"},
    "tune": {
        "__init__",
        "api",
        "elsewhere",
        "exceptions",
        "handles",
        "proc",
        "quantities",
        "train",
        "util",
        "views",
        "waits",
    },
    # deciding
    "scheduling": {"quantities"},
    "accelerators": {"quantities"},
    # acting: a room for each process
    "local_engine": HELD | {"addresses", "local_engine.driver", "proc", "views"},
    "local_engine.wire": HELD | {"class_parts", "local_engine", "scheduling", "views"},
    "local_engine.client": HELD
    | SHARED
    | {"accelerators", "freshness", "package_environments", "scheduling", "views", "waits"},
    "local_engine.driver": HELD
    | SHARED
    | {
        "local_engine.client",
        "local_engine.head",
        "roots",
        "surroundings",
        "views",
    },  # of the head only how it is started
    "local_engine.worker": HELD
    | SHARED
    | {"accelerators", "device_memory", "local_engine.client", "logging_config", "read_only_arrays", "roots"}
    | {"scheduling", "stacks", "views"},
    "local_engine.side_processes": SHARED
    | {"accelerators", "local_engine.worker", "package_environments", "proc", "roots"},
    "local_engine.head": SHARED
    | {"__init__", "accelerators", "device_memory", "handles", "proc", "leases", "local_engine.side_processes"}
    | {"local_engine.worker", "proc", "quantities", "roots", "scheduling", "stacks", "views"},
    "ray_engine": HELD
    | RAYS
    | {"addresses", "light_imports", "package_environments", "plain_files", "ray_preflight"}
    | {"surroundings", "views"},
    "ray_engine.submission": HELD | RAYS | {"accelerators", "freshness", "scheduling", "surroundings", "views"},
    "ray_engine.reports": HELD | RAYS | {"__init__", "accelerators", "scheduling", "views"},
}
# Inside of a room: modules that import nothing of nbaccel but these.
INNER: dict[str, set[str]] = {
    "ray_engine.rays": set(),
    "ray_engine.session": {"engine", "exceptions", "options", "rays"},
    "ray_engine.orphans": set(),
    "views.snapshot": set(),
    "views.wording": set(),
    "views.run_snapshot": {"snapshot", "tables", "wording"},
    "views.experiment_snapshot": {"snapshot", "tables", "wording"},
    "views.served_snapshot": {"snapshot", "tables", "wording"},
    "views.sinks": {"experiment_snapshot", "run_snapshot", "served_snapshot", "snapshot", "wording"},
    "views.palette": set(),
    "views.tables": {"quantities", "snapshot", "totals", "wording"},
    "views.totals": {"snapshot", "wording"},
}
# Nobody may import these rooms, except where the name stands behind them.
CLOSED: dict[str, set[str]] = {
    "notebook": {"__init__"},  # inside functions: %load_ext, dashboard(), and what `views.notebook_hooks` is given
    "cli": {"command"},
    "command": {"__main__", "cli"},
    # The debug engine pickles as the local one does.
    "local_engine": {"engine", "debug_engine"},
    "ray_engine": {"engine"},
}
RAYS_PATHS = {PACKAGE / "util/state/common.py"}
BAD_NAMES = {"utils", "helpers", "common", "misc", "base", "manager"}


@pytest.fixture(scope="module", autouse=True)
def _sources() -> Iterator[None]:
    """Each file is read and parsed once, and forgotten when these tests are over."""
    yield
    _nodes.cache_clear()
    _tree.cache_clear()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """The imports, conditions, classes and functions of a file, also inside of others."""
    kinds = ast.Import | ast.ImportFrom | ast.If | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(_tree(path)) if isinstance(node, kinds)]


def _room_of(parts: tuple[str, ...]) -> str:
    """The room of a module, by the parts of its path below nbaccel."""
    if len(parts) > 2 and parts[0] in ("local_engine", "ray_engine") and parts[1] not in ("shipped", "stand_ins"):
        return f"{parts[0]}.{parts[1]}"
    return parts[0]


def _room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return _room_of(parts) if len(parts) > 1 else path.stem


def _module(dotted: str) -> tuple[str, ...] | None:
    """The path below nbaccel of what `import dotted` or `from ... import` names; None for what is not ours."""
    parts = tuple(dotted.split("."))[1:]
    for end in range(len(parts), 0, -1):
        if (PACKAGE.joinpath(*parts[:end]).with_suffix(".py")).exists():
            return parts[:end]
        if (PACKAGE.joinpath(*parts[:end]) / "__init__.py").exists():
            return (*parts[:end], "__init__")
    return ("__init__",)


@cache
def _imported_modules(path: Path) -> set[tuple[str, ...]]:
    """What a file imports of nbaccel, also inside functions and under TYPE_CHECKING."""
    return _modules_of(path, _nodes(path))


def _modules_of(path: Path, nodes: list[ast.AST]) -> set[tuple[str, ...]]:
    """The modules of nbaccel that these statements import."""
    found: set[tuple[str, ...]] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are written in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = _module(name) if name == "nbaccel" or name.startswith("nbaccel.") else None
            if parts is not None:
                found.add(parts)
    return found


def _imported_rooms(path: Path) -> set[str]:
    return {_room_of(parts) for parts in _imported_modules(path)}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


OURS = [path for path in MODULES if not {"shipped", "stand_ins"} & set(path.parts)]


def test_imports_follow_the_arrows() -> None:
    forbidden = {(_name(path), name) for path in OURS for name in _forbidden_imports(path)}
    assert forbidden == set(), "the table of rooms does not allow these imports"


def _forbidden_imports(path: Path) -> set[str]:
    room = _room(path)
    imported = _imported_rooms(path) - {room}
    found = imported - ARROWS.get(room, imported)
    inner = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    if inner in INNER:
        found |= {parts[-1] for parts in _imported_modules(path)} - INNER[inner]
    outside = {other.split(".")[0] for other in imported} - {room.split(".")[0]}
    return found | {closed for closed, openers in CLOSED.items() if closed in outside and room not in openers}


def _layers() -> list[set[str]]:
    """The rooms of each line of the page's picture, from the top."""
    page = (ROOT / "docs/architecture.md").read_text()
    picture = page.split("imports only what stands on lower lines.\n\n```\n")[1].split("```")[0]
    return [set(line.split(", ")) for line in picture.splitlines()]


def _imports_that_run(path: Path) -> set[str]:
    """The rooms that a file imports when its code runs; a room of an engine counts as its engine."""
    for_types = [
        node for node in _nodes(path) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    skipped = {id(node) for block in for_types for part in block.body for node in ast.walk(part)}
    nodes = [node for node in _nodes(path) if id(node) not in skipped]
    return {parts[0] for parts in _modules_of(path, nodes)}


def test_a_room_imports_only_rooms_of_lower_layers() -> None:
    layers = _layers()
    height = {room: -number for number, rooms in enumerate(layers) for room in rooms}
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders - {"_private"} <= height.keys(), "the picture of docs/architecture.md lacks these rooms"
    wrong = set()
    for path in OURS:
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        below = {other for other in height if height[other] < height.get(room, 1)}
        wrong |= {(_name(path), other) for other in (_imports_that_run(path) & height.keys()) - below - {room}}
    assert wrong == set(), "these imports go up in the picture of docs/architecture.md"


def test_of_scheduling_a_client_and_a_worker_know_the_terms_of_tasks_and_nothing_else() -> None:
    rooms = ("local_engine.wire", "local_engine.client", "local_engine.driver", "local_engine.worker")
    imported = {parts for path in OURS if _room(path) in rooms for parts in _imported_modules(path)}
    assert {parts for parts in imported if parts[0] == "scheduling"} == {("scheduling", "terms")}
    assert not _imported_modules(PACKAGE / "scheduling" / "terms.py")


def test_no_process_of_the_local_engine_reaches_into_a_room_that_it_does_not_have() -> None:
    for room in ("client", "worker", "wire", "side_processes"):
        assert "local_engine.head" not in ARROWS[f"local_engine.{room}"]
    assert "local_engine.worker" not in ARROWS["local_engine.driver"] | ARROWS["local_engine.client"]


def test_no_component_of_the_head_receives_the_head() -> None:
    """Each takes what it needs in its constructor: only who begins a head's life knows the class."""
    maker = PACKAGE / "local_engine/head/boot.py"
    for path in OURS:
        for node in _nodes(path):
            if isinstance(node, ast.ImportFrom) and node.module == "nbaccel.local_engine.head.loop":
                assert path == maker, f"{_name(path)} imports {[alias.name for alias in node.names]}"
            if isinstance(node, ast.ImportFrom) and node.module == "nbaccel.local_engine.head.wiring":
                assert path.name == "loop.py", f"{_name(path)} imports the parts: take the one that it needs"


def test_no_file_is_split_by_inheritance() -> None:
    """A method whose self is anything is a part of a class that mypy does not see."""
    for path in OURS:
        for node in _nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.args:
                first = node.args.args[0]
                typed = ast.unparse(first.annotation) if first.annotation is not None else ""
                assert (first.arg, typed) != ("self", "Any"), f"{_name(path)}: {node.name}"


def test_no_part_asks_for_more_than_twelve_things() -> None:
    """The promise itself is made of several Protocols."""
    for path in OURS:
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(each).startswith("Protocol") for each in node.bases):
                members = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AnnAssign)]
                assert len(members) <= 12, f"{_name(path)}: {node.name} asks for {len(members)} things"


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
        for node in _nodes(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            touched = {name.split(".")[0] for name in names} & banned
            assert not touched, f"{_name(path)} imports {touched}: scheduling decides and never acts"


def test_importing_nbaccel_loads_nothing_heavy() -> None:
    heavy = ["ray", "IPython", "jupyter_server", "numpy", "torch", "pynvml", "rich", "click"]
    program = f"import sys, nbaccel; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_a_file_is_named_for_the_one_thing_that_it_holds() -> None:
    assert [_name(path) for path in MODULES if path.stem in BAD_NAMES and path not in RAYS_PATHS] == []


def test_no_file_is_longer_than_a_thousand_lines() -> None:
    """A longer one holds a second thing."""
    assert [_name(path) for path in MODULES if len(path.read_text().splitlines()) > 1000] == []


def test_the_first_line_of_a_file_says_what_the_module_is() -> None:
    assert [_name(path) for path in MODULES if not ast.get_docstring(_tree(path))] == []


# Public names of Ray's that stand in two of its modules and mean two things there; both keep Ray's path.
SHARED_CLASS_NAMES = {
    "Backend": {
        "train/configs.py",
        "util/collective/__init__.py",
    },  # what prepares a worker group; a library of collectives
    "LoggingConfig": {"logging_config.py", "train/configs.py"},  # of ray.init; of a RunConfig
    "RayTrainReportCallback": {"train/huggingface/transformers.py", "train/lightning.py"},
    "Sampler": {"accelerators/metrics.py", "tune/search/sample.py"},  # what asks devices; how a domain is drawn from
    # Ray's names, a module for each library.
    "TuneReportCallback": {
        f"tune/integration/{name}.py" for name in ("__init__", "keras", "lightgbm", "pytorch_lightning", "xgboost")
    },
    "TuneReportCheckpointCallback": {
        f"tune/integration/{name}.py" for name in ("keras", "lightgbm", "pytorch_lightning", "xgboost")
    },
}


def test_no_two_public_classes_share_a_name() -> None:
    """A private class is read beside what uses it."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, set()).add(str(path.relative_to(PACKAGE)))
    shared = {name: paths for name, paths in found.items() if len(paths) > 1}
    assert shared == SHARED_CLASS_NAMES, "give one of them a name that says what only it is"


WORDS_OF = (
    "accelerators", "autoscaler", "debug_engine", "experimental", "handles", "leases", "local_engine", "machines",
    "notebook", "ray_engine", "scheduling", "serve", "train", "tune", "util", "views", "waits",
)  # fmt: skip


def _retired_words() -> set[str]:
    """The left column of the table of words that names have no more."""
    table = (ROOT / "docs/architecture.md").read_text().split("| not | but |\n|---|---|\n")[1].split("\n\n")[0]
    return {word for row in table.splitlines() for word in row.split("|")[1].strip().split(", ")}


def test_no_class_and_no_module_has_a_word_that_means_several_things() -> None:
    retired = _retired_words()
    assert {"tell", "room", "loan"} <= retired
    found = set()
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] in WORDS_OF:
            names = [path.stem] + [node.name for node in _nodes(path) if isinstance(node, ast.ClassDef)]
            found |= {f"{_name(path)}: {name}" for name in names if _words_in(name) & retired}
    assert found == set(), "docs/architecture.md says which word to take"


def _words_in(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_nothing_is_left_for_later() -> None:
    assert [_name(path) for path in MODULES if re.search(r"\b(TODO|FIXME|XXX)\b", path.read_text())] == []


def test_no_name_of_a_package_is_also_the_name_of_its_submodule() -> None:
    """Importing a submodule gives its name in the package to the module: a function of that name would be gone."""
    for path in MODULES:
        if path.name == "__init__.py":
            folders = {each.name for each in path.parent.glob("*/")}
            submodules = folders | {each.stem for each in path.parent.glob("*.py")}
            assert not _own_names(path) & submodules, _name(path)


def _own_names(path: Path) -> set[str]:
    """The names that a package gives to something other than a submodule of its own."""
    package = ".".join(path.relative_to(ROOT).parent.parts)
    names: set[str] = set()
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and node.module != package:
            names |= {alias.asname or alias.name for alias in node.names}
    return names
