"""Packages for tasks of a Ray of our own are installed by nbaccel, and what fails is told where it is looked for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")

import nbaccel
from nbaccel import exceptions, package_environments
from nbaccel.ray_engine import rays, starting
from nbaccel.views import sinks


@pytest.fixture(autouse=True)
def kept_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBACCEL_ENVIRONMENTS", str(tmp_path / "kept"))


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said to the user, the empty words that take a line away too."""
    words: list[str] = []

    class Kept(sinks.Sinks):
        def notice(self, message: sinks.Notice) -> None:
            words.append(message.message)

    monkeypatch.setattr(sinks, "installed", Kept())
    return words


def test_what_asks_for_no_packages_is_left_as_it_is(said: list[str]) -> None:
    for environment in ({"env_vars": {"A": "1"}}, {"conda": "mine"}, {"pip": []}):
        assert starting.or_error(environment) is environment
    assert said == []


def test_an_interpreter_stands_for_the_list_and_the_rest_stays(said: list[str]) -> None:
    (Path(os.environ["NBACCEL_ENVIRONMENTS"]).parent / "none.txt").write_text("# nothing but this line\n")
    listed = str(Path(os.environ["NBACCEL_ENVIRONMENTS"]).parent / "none.txt")
    made = starting.installed({"pip": listed, "env_vars": {"A": "1"}})
    assert made.keys() == {"env_vars", "py_executable"} and made["env_vars"] == {"A": "1"}
    assert Path(made["py_executable"]).is_relative_to(package_environments.directory())
    assert os.path.exists(made["py_executable"]) and made["py_executable"] != sys.executable
    assert said[-1] == "" and "kept for the next time" in said[0]
    said.clear()
    assert starting.installed({"pip": listed})["py_executable"] == made["py_executable"]
    assert said == []


def test_a_failure_becomes_a_set_up_that_raises_it(said: list[str]) -> None:
    rays.import_shipped()
    made = starting.or_error({"pip": ["./no such wheel.whl"], "env_vars": {"A": "1"}})
    assert made.keys() == {"env_vars", "worker_process_setup_hook"}
    with pytest.raises(Exception, match=r"pip install of \./no such wheel\.whl ended with code"):
        made["worker_process_setup_hook"]()


def test_init_says_at_once_what_cannot_be_installed(said: list[str]) -> None:
    with pytest.raises(exceptions.RuntimeEnvSetupError, match=r"not-there\.whl"):
        nbaccel.init(engine="ray", num_cpus=1, runtime_env={"pip": ["./not-there.whl"]})
    assert not nbaccel.is_initialized()
    assert not starting.is_worker_of_one()
