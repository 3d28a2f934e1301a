"""mypy and pyright read a user's program as its comments promise: what is revealed, and where the errors are.

pyright runs as basedpyright, whose wheel brings its own node, so that nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("consumer.py")
ROOT = Path(__file__).parents[2]
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")  # mypy reveals them, pyright does not


@dataclass
class Found:
    """What a checker says about each line."""

    revealed: dict[int, str] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)


def _run(*command: str, cwd: Path) -> str:
    ended = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, timeout=280, check=False
    )
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr  # 1: it found errors
    return ended.stdout


def _mypy(_scratch: Path) -> Found:
    pytest.importorskip("mypy", reason="mypy is missing: pip install 'nbaccel[dev]'")
    output = _run("mypy", str(PROGRAM), cwd=ROOT)  # with this project's settings, strict, and the cache of `make check`
    found = Found()
    for line in output.splitlines():
        place = re.match(r".*consumer\.py:(\d+): (error|note): (.*)", line)
        if place is None:
            assert ": error:" not in line, line  # in nbaccel itself
        elif place[3].startswith("Revealed type is "):
            found.revealed[int(place[1])] = _MODULES.sub("", place[3].split('"')[1])
        elif place[2] == "error":
            found.errors[int(place[1])] = place[3]
    return found


def _pyright(scratch: Path, program: Path = PROGRAM, mode: str = "strict") -> Found:
    if importlib.util.find_spec("basedpyright") is None:
        pytest.skip("basedpyright is missing: pip install 'nbaccel[dev]'")
    config = {"typeCheckingMode": mode, "include": [str(program)], "extraPaths": [str(ROOT)]}
    (scratch / "pyrightconfig.json").write_text(json.dumps(config))
    output = _run("basedpyright", "-p", str(scratch), "--outputjson", "--pythonpath", sys.executable, cwd=scratch)
    found = Found()
    for entry in json.loads(output)["generalDiagnostics"]:
        assert Path(entry["file"]) == program, entry
        line = entry["range"]["start"]["line"] + 1
        if revealed := re.fullmatch(r'Type of ".*" is "(.*)"', entry["message"]):
            found.revealed[line] = revealed[1]
        else:
            found.errors[line] = entry["message"]
    return found


CHECKERS = pytest.mark.parametrize("checker", [_mypy, _pyright], ids=["mypy", "pyright"])


@CHECKERS
def test_a_checker_finds_in_a_users_program_what_its_comments_promise(checker: object, tmp_path: Path) -> None:
    found = checker(tmp_path)  # type: ignore[operator]
    lines = dict(enumerate(PROGRAM.read_text().splitlines(), 1))
    promised = {number: line.split("  # -> ")[1] for number, line in lines.items() if "  # -> " in line}
    assert promised and found.revealed == promised
    wrong = {number: line for number, line in lines.items() if line.endswith("  # wrong")}
    assert wrong and not {number: error for number, error in found.errors.items() if number not in wrong}
    assert not {number: line for number, line in wrong.items() if number not in found.errors}


def test_pyright_finds_no_error_in_a_program_without_annotations(tmp_path: Path) -> None:
    program = PROGRAM.with_name("without_annotations.py")
    assert _pyright(tmp_path, program, "standard").errors == {}


def test_the_wheel_tells_checkers_that_it_has_types() -> None:
    assert (ROOT / "nbaccel/py.typed").is_file()


def test_no_running_program_imports_what_only_checkers_need() -> None:
    code = "import sys, nbaccel.api; print([m for m in sys.modules if m.endswith(('.keywords', 'typing_extensions'))])"
    assert "nbaccel.handles.keywords" not in subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    ).stdout  # fmt: skip
