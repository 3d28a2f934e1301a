"""Runtime environments of tasks and actors: variables, files, modules, set-up functions; failures in words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a file, and a module beside it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "data.txt").write_text("what the task reads")
    module = tmp_path / "shipped_module"
    module.mkdir()
    (module / "__init__.py").write_text("ANSWER = 42\n")
    return tmp_path


def test_an_actor_has_variables_of_its_own(nb):
    @nb.remote(runtime_env={"env_vars": {"NB_COLOUR": "blue"}})
    class Look:
        def colour(self):
            return os.environ["NB_COLOUR"]

    assert nb.get(Look.remote().colour.remote()) == "blue"


def test_a_task_finds_the_files_and_modules_it_was_given(nb, folder):
    @nb.remote(runtime_env={"working_dir": str(folder / "work"), "py_modules": [str(folder / "shipped_module")]})
    def read():
        import shipped_module

        return Path("data.txt").read_text(), shipped_module.ANSWER

    assert nb.get(read.remote()) == ("what the task reads", 42)


def test_a_folder_that_is_not_there_is_refused_in_words(nb, folder):
    with pytest.raises(ValueError, match="nowhere"):
        nb.remote(runtime_env={"working_dir": str(folder / "nowhere")})(os.getcwd).remote()
