"""What is imported while Ray's processes start: all that the engine needs beside Ray, and nothing of Ray's."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from nbaccel.ray_engine import starting


def told_by(code: str) -> str:
    """The last line that a fresh process prints."""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]


def test_what_is_imported_while_ray_starts_does_not_import_ray():
    code = (
        "import sys; sys.modules['ray'] = None; import importlib\n"
        "from nbaccel.ray_engine import starting\n"
        "for name in starting.WITHOUT_RAY: importlib.import_module(name)\n"
        "print('imported')"
    )
    assert told_by(code) == "imported"


@pytest.mark.ray
def test_nothing_but_the_engines_own_modules_is_left_to_import_once_ray_has_started():
    pytest.importorskip("ray")
    code = (
        "import sys, nbaccel.api\n"
        "from nbaccel.ray_engine import rays\n"
        "from nbaccel.ray_engine import starting\n"
        "starting.import_ray(); rays.import_shipped()\n"
        "with starting.early_imports(): pass\n"
        "before = set(sys.modules)\n"
        "import nbaccel.ray_engine.driver\n"
        "late = {name for name in set(sys.modules) - before if name.startswith('nbaccel.')}\n"
        "print(sorted(name for name in late if not name.startswith('nbaccel.ray_engine.')))"
    )
    assert told_by(code) == "[]"


def test_a_module_that_cannot_be_imported_is_left_to_whoever_needs_it(monkeypatch):
    monkeypatch.setattr(starting, "WITHOUT_RAY", ("nbaccel.there_is_none",))
    with starting.early_imports():
        pass
    assert not [thread for thread in threading.enumerate() if thread.name == "nbaccel-imports"]


def test_an_error_of_rays_start_is_raised_once_the_imports_have_ended():
    with pytest.raises(ConnectionError, match="no answer"), starting.early_imports():
        raise ConnectionError("no answer")
    assert not [thread for thread in threading.enumerate() if thread.name == "nbaccel-imports"]
