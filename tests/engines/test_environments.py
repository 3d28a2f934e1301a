"""Runtime environments of tasks and actors: variables, files, modules, set-up functions; failures in words."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

import nbaccel
from nbaccel import exceptions


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


def test_a_zip_is_a_working_directory_too(nb, tmp_path):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("inside.txt", "unpacked")

    @nb.remote(runtime_env={"working_dir": str(tmp_path / "packed.zip")})
    def read():
        return Path("inside.txt").read_text()

    assert nb.get(read.remote()) == "unpacked"


@nbaccel.remote
def variable(name):
    return os.environ.get(name)


@nbaccel.remote
class Holds:
    def variable(self, name):
        return os.environ.get(name)

    def of_a_task(self, name):
        return nbaccel.get(variable.remote(name))


def test_what_a_task_or_an_actor_submits_inherits_its_environment(nb):
    blue = {"env_vars": {"NB_COLOUR": "blue"}}

    @nb.remote
    def of_a_task(name):
        return nbaccel.get(variable.remote(name))

    assert nb.get(of_a_task.options(runtime_env=blue).remote("NB_COLOUR")) == "blue"
    actor = Holds.options(runtime_env=blue).remote()
    assert nb.get([actor.variable.remote("NB_COLOUR"), actor.of_a_task.remote("NB_COLOUR")]) == ["blue", "blue"]


def test_the_set_up_function_runs_before_the_task_and_before_the_actor(nb, monkeypatch):
    monkeypatch.setenv("NB_HOOKED", "")  # taken away again at the end, also where the hook is called in this process
    monkeypatch.delenv("NB_HOOKED")

    def hook():
        os.environ["NB_HOOKED"] = "yes"

    env = {"worker_process_setup_hook": hook}
    assert nb.get(variable.remote("NB_HOOKED")) is None
    assert nb.get(variable.options(runtime_env=env).remote("NB_HOOKED")) == "yes"
    assert nb.get(Holds.options(runtime_env=env).remote().variable.remote("NB_HOOKED")) == "yes"


def test_a_set_up_function_that_raises_is_a_setup_error(nb):
    def hook():
        raise ValueError("not today")

    env = {"worker_process_setup_hook": hook}
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="not today"):
        nb.get(variable.options(runtime_env=env).remote("NB_HOOKED"), timeout=60)
    with pytest.raises(exceptions.RuntimeEnvSetupError, match="not today"):
        nb.get(Holds.options(runtime_env=env).remote().variable.remote("NB_HOOKED"), timeout=60)


def _wheel(folder: Path) -> str:
    """A wheel made by hand: nothing has to be downloaded."""
    path = folder / "tiny_thing-1.0-py3-none-any.whl"
    about = "tiny_thing-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny_thing.py", "VALUE = 11")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", f"tiny_thing.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
    return str(path)


def _refusal(nb):
    """What an engine says that installs nothing."""
    return "debug.*runs everything in this process" if nb.engine.current().name == "debug" else ""


def _tiny_value():
    import tiny_thing

    return tiny_thing.VALUE


class _Imports:
    def look(self):
        return _tiny_value()


def test_packages_are_installed_for_a_task_an_actor_and_a_nested_task(nb, tmp_path):
    env = {"pip": [_wheel(tmp_path)]}
    look = nb.remote(_tiny_value)

    @nb.remote
    def outer():
        return nbaccel.get(look.options(runtime_env=env).remote())

    actor = nb.remote(_Imports).options(runtime_env=env).remote()
    refs = [look.options(runtime_env=env).remote(), actor.look.remote(), outer.remote()]
    if refusal := _refusal(nb):
        for ref in refs:
            with pytest.raises(exceptions.RayError, match=refusal):
                nb.get(ref, timeout=60)
    else:
        assert nb.get(refs, timeout=200) == [11, 11, 11]


def test_a_failed_installation_shows_what_the_tool_said(nb, tmp_path):
    env = {"pip": [str(tmp_path / "not-a-wheel.whl")]}
    told = _refusal(nb) or "(?s)pip install of .*not-a-wheel.*ERROR"
    with pytest.raises(exceptions.RuntimeEnvSetupError, match=told):
        nb.get(variable.options(runtime_env=env).remote("NB_COLOUR"), timeout=120)
    with pytest.raises(exceptions.RuntimeEnvSetupError, match=told):
        nb.get(Holds.options(runtime_env=env).remote().variable.remote("NB_COLOUR"), timeout=120)


def test_an_environment_of_an_unknown_kind_is_refused_where_it_is_asked_for(nb):
    with pytest.raises((TypeError, ValueError)):
        variable.options(runtime_env={"env_vars": {"A": 1}}).remote("A")
