"""What users reported, as whole programs: each file of `programs/` runs as a script and in a kernel.

A program is divided into cells by lines that begin with `# %%`. It checks what it is about with `assert`, and ends when
everything holds. Its first line is a docstring that says what was reported. In the lines before the first cell,
`# only: script`, `# only: kernel` and `# needs: torch, numpy` say where it runs; `# cell raises: NAME` in a cell says
that the cell ends with that exception.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.census import TOKEN, Place
from tests.notebook.kernels import Kernel, gone


def _cells(program: str) -> list[str]:
    return [cell for cell in re.split(r"(?m)^# %%.*\n", program) if cell.strip()]


def _header(program: str, word: str) -> list[str]:
    """The names that the comment `# word: …` above the first cell lists."""
    found = re.search(rf"(?m)^# {word}: (.+)$", _cells(program)[0])
    return found.group(1).split(", ") if found else []


FILES = sorted((Path(__file__).parent / "programs").glob("*.py"))
PROGRAMS = [
    pytest.param(path, marks=[pytest.mark.extra(name) for name in _header(path.read_text(), "needs")]) for path in FILES
]


def _program(path: Path, where: str) -> str:
    program = path.read_text()
    if (only := _header(program, "only")) and where not in only:
        pytest.skip(f"{path.stem} is about a {only[0]}")
    return program


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_holds_as_a_script(path: Path, place: Place) -> None:
    done = place.run(_program(path, "script"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_program_holds_in_a_kernel(path: Path, place: Place) -> None:
    program = _program(path, "kernel")
    kernel = Kernel(**{name: value for name, value in place.environ.items() if name != TOKEN})
    try:
        for number, code in enumerate(_cells(program), start=1):
            cell = kernel.run(code)
            expected = re.search(r"(?m)^# cell raises: (\w+)$", code)
            name = cell.error["ename"] if cell.error else None
            assert name == (expected.group(1) if expected else None), (
                f"cell {number}:\n{code}\n{cell.text}\n" + "\n".join(cell.error["traceback"] if cell.error else [])
            )
    finally:
        kernel.close()
    assert gone(kernel.token) == {}
