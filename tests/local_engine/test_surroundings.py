"""Workers follow the changes of their own notebook, and no others."""

from __future__ import annotations

import os
from itertools import count

import pytest

import nbaccel
from nbaccel import engine as engines
from tests.census import Place


@nbaccel.remote
def seen(name: str) -> tuple[str | None, int]:
    return os.environ.get(name), os.getpid()


@nbaccel.remote
class Named:
    def seen(self, name: str) -> tuple[str | None, str]:
        return os.environ.get(name), os.getcwd()

    def seen_by_a_task_of_its_own(self, name: str) -> str | None:
        return nbaccel.get(seen.options(num_cpus=0).remote(name))[0]


@pytest.fixture
def next_cell(monkeypatch: pytest.MonkeyPatch):
    """Call it to begin the next cell."""
    numbers = count(1)

    def begin() -> None:
        number = next(numbers)
        monkeypatch.setattr(engines, "cell_source", lambda: (f"[{number}] line 1", b"cell %d" % number))

    begin()
    return begin


def test_workers_of_before_are_used_again_when_all_is_as_it_was(cluster: Place, next_cell, monkeypatch) -> None:
    _, first = nbaccel.get(seen.options(num_cpus=0).remote("NB_LATER"))
    next_cell()
    assert nbaccel.get(seen.options(num_cpus=0).remote("NB_LATER")) == (None, first)
    monkeypatch.setenv("NB_LATER", "1")
    next_cell()
    value, other = nbaccel.get(seen.options(num_cpus=0).remote("NB_LATER"))
    assert value == "1" and other != first


def test_variables_of_a_runtime_env_win_in_a_program_of_their_own_too(cluster: Place, next_cell, monkeypatch) -> None:
    nbaccel.get(seen.remote("NB_PATH"))
    monkeypatch.setenv("NB_PATH", "/of/the/notebook")
    next_cell()
    for variables in ({"NB_PATH": "${NB_UNSET}:/asked"}, {"NB_PATH": "/asked"}):
        for name in ("NB_OTHER", "LD_OTHER"):  # forked, and executed
            environment = {"env_vars": {**variables, name: "1"}}
            value, _pid = nbaccel.get(seen.options(runtime_env=environment).remote("NB_PATH"))
            assert value == variables["NB_PATH"].replace("${NB_UNSET}", "")


def test_a_script_follows_nothing_and_a_missing_variable_names_the_cause(cluster: Place, monkeypatch) -> None:
    monkeypatch.setenv("NB_LATER", "1")

    @nbaccel.remote
    def needs() -> str:
        return os.environ["NB_LATER"]

    with pytest.raises(KeyError, match=r"NB_LATER is not set in this worker\. .* in a script .* before init\(\)"):
        nbaccel.get(needs.remote())

    @nbaccel.remote
    def has_no_key() -> str:
        return {}["NB_LATER"]  # type: ignore[no-any-return, index]

    with pytest.raises(KeyError) as caught:
        nbaccel.get(has_no_key.remote())
    assert "worker" not in str(caught.value)
