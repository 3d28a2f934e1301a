"""The stand-in for a package that takes long to import: whoever asks for whatever of it gets the package's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rfc3987_syntax")  # what JupyterLab installs beside jsonschema

from nbaccel.light_imports import FOLDER, lighter_imports

CHECKS = {
    "its one function": "assert used('iri', 'http://a/b') and not used('iri', '::')",
    "from jsonschema": (
        "from jsonschema import FormatChecker, Draft7Validator\n"
        "check = FormatChecker()\n"
        "assert check.conforms('http://a/b', 'iri') and not check.conforms('::', 'iri')"
    ),
    "another name of it": "from rfc3987_syntax import RFC3987_SYNTAX_TERMS as terms\nassert 'iri' in terms",
    "a module of it": "import rfc3987_syntax.utils as utils\nassert callable(utils.load_grammar)",
    "all of it": "scope = {}\nexec('from rfc3987_syntax import *', scope)\nassert 'parse' in scope",
    "a name that it lacks": (
        "import rfc3987_syntax\ntry: rfc3987_syntax.nothing\nexcept AttributeError: pass\nelse: raise AssertionError"
    ),
}


# What the stand-in stands before: as the package is seen from outside, without the grammar that takes seconds.
MODULES = {
    "lark.py": "",
    "rfc3987_syntax/__init__.py": (
        "import lark\nfrom rfc3987_syntax.utils import load_grammar\nRFC3987_SYNTAX_TERMS = ['iri']\n"
        "__all__ = ['RFC3987_SYNTAX_TERMS', 'is_valid_syntax', 'parse']\n"
        "def is_valid_syntax(term, value): return term == 'iri' and '://' in value\n"
        "def parse(term, value): return load_grammar()\n"
    ),
    "rfc3987_syntax/utils.py": "def load_grammar(): return 'grammar'\n",
}


@pytest.fixture(scope="module")
def light_package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a package of this name that loads quickly."""
    folder = tmp_path_factory.mktemp("installed")
    for name, text in MODULES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def run(program: str, **environ: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env={**os.environ, **environ}
    )
    assert done.returncode == 0, done.stderr


IN_A_PROCESS_OF_RAYS = (
    "import sys\nfrom rfc3987_syntax import is_valid_syntax as used\nassert 'lark' not in sys.modules\n"
)
IN_THE_NOTEBOOK = (
    "import sys\nfrom nbaccel.light_imports import lighter_imports\n"
    "with lighter_imports():\n    import jsonschema._format\n"
    "    from rfc3987_syntax import is_valid_syntax as used\n"
    "assert 'lark' not in sys.modules\n"
)


@pytest.mark.parametrize("check", CHECKS, ids=CHECKS)
def test_everything_of_the_package_works_in_a_process_of_rays(check: str, light_package: str) -> None:
    run(IN_A_PROCESS_OF_RAYS + CHECKS[check], PYTHONPATH=os.pathsep.join([str(FOLDER), light_package]))


@pytest.mark.parametrize("check", CHECKS, ids=CHECKS)
def test_everything_of_the_package_works_in_the_notebook(check: str, light_package: str) -> None:
    run(IN_THE_NOTEBOOK + CHECKS[check], PYTHONPATH=light_package)


def test_the_installed_package_is_what_stands_behind_it() -> None:
    run(IN_A_PROCESS_OF_RAYS + CHECKS["from jsonschema"] + "\n" + CHECKS["a module of it"], PYTHONPATH=str(FOLDER))


def test_what_was_imported_before_stays_and_processes_gain_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    before = type(sys)("rfc3987_syntax")
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", before)
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    path = list(sys.path)
    with lighter_imports():
        assert sys.modules["rfc3987_syntax"] is before
        assert os.environ["PYTHONPATH"].startswith(str(FOLDER))
    assert sys.modules["rfc3987_syntax"] is before
    assert (os.environ["PYTHONPATH"], sys.path) == ("/somewhere", path)


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rfc3987_syntax", raising=False)
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    path = list(sys.path)
    with lighter_imports():
        assert os.environ["PYTHONPATH"] == f"{FOLDER}{os.pathsep}/somewhere"
        import rfc3987_syntax

        assert rfc3987_syntax.__file__.startswith(str(FOLDER))
    assert "rfc3987_syntax" not in sys.modules
    assert (os.environ["PYTHONPATH"], sys.path) == ("/somewhere", path)
    monkeypatch.delenv("PYTHONPATH")
    with lighter_imports():
        assert os.environ["PYTHONPATH"] == str(FOLDER)
    assert "PYTHONPATH" not in os.environ


def test_where_the_package_is_missing_its_stand_in_is_missing_too(tmp_path: Path) -> None:
    program = "try: import rfc3987_syntax\nexcept ModuleNotFoundError as error: assert error.name == 'rfc3987_syntax'\n"
    program += "else: raise AssertionError"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n{program}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
