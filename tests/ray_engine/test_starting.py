"""What must be installed, and which options belong to the other engine."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("ray")

import ray

import nbaccel
from nbaccel.handles.options import init_options
from nbaccel.ray_engine import starting
from nbaccel.ray_engine.session import internals


def test_without_ray_the_error_says_what_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'nbaccel\[ray\]'"):
        starting.import_ray()


def test_init_says_what_to_type_where_ray_is_missing():
    """In a fresh process: nothing on the way to Ray imports it before its variables are set and its absence is told."""
    code = "import sys; sys.modules['ray'] = None; import nbaccel; nbaccel.init(engine='ray')"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "Type: pip install 'nbaccel[ray]'" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("version", ["2.48.0", "2.61.0", "3.0.0.dev0", "unknown"])
def test_another_version_of_ray_is_named_in_one_line_and_tried(monkeypatch, capsys, version):
    monkeypatch.setattr(ray, "__version__", version)
    assert starting.import_ray() is ray
    (line,) = capsys.readouterr().err.splitlines()
    assert version in line and "2.49 to 2.60" in line


def test_what_another_version_lacks_is_said_in_the_same_line(monkeypatch, capsys):
    monkeypatch.setattr(ray, "__version__", "2.61.0")
    monkeypatch.setitem(internals.NAMES, "ray._private.worker:no_such_name", "nobody hears of it")
    starting.import_ray()
    (line,) = capsys.readouterr().err.splitlines()
    assert "nobody hears of it" in line


@pytest.mark.parametrize("version", ["2.49.0", "2.54.1", "2.60.0", "2.60.1rc1"])
def test_a_tested_version_of_ray_needs_no_line(monkeypatch, capsys, version):
    monkeypatch.setattr(ray, "__version__", version)
    assert starting.import_ray() is ray
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("option", [{"simulate": "nvidia:2xA100"}, {"shared": True}])
def test_options_of_the_local_engine_are_not_ignored(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        nbaccel.init(engine="ray", **option)


class ClientServer:
    """Stands for ray, where the client's own server crashes the first times."""

    def __init__(self, crashes, words="Starting Ray client server failed. See ray_client_server_23001.err"):
        self.asked, self._crashes, self._words = 0, crashes, words

    def init(self, address, **keywords):
        self.asked += 1
        if self.asked <= self._crashes:
            raise ConnectionAbortedError(f"Initialization failure from server: RuntimeError: {self._words}")


@pytest.mark.parametrize("words", ["Starting Ray client server failed.", "Proxy failed to Connect to backend!"])
def test_a_client_server_that_crashed_while_it_started_is_asked_for_again(words):
    ray = ClientServer(2, words)
    starting._join(ray, "ray://127.0.0.1:10001", init_options())
    assert ray.asked == 3


@pytest.mark.parametrize(("server", "asked"), [(ClientServer(crashes=9), 3), (ClientServer(9, "no such job"), 1)])
def test_what_keeps_failing_is_told(server, asked):
    with pytest.raises(ConnectionError, match="could not be joined"):
        starting._join(server, "ray://127.0.0.1:10001", init_options())
    assert server.asked == asked


def test_joining_ships_what_the_workers_need():
    keywords = starting._joining_keywords(init_options(runtime_env={"py_modules": ["mine"]}))
    assert keywords["runtime_env"]["py_modules"][0] == "mine"
    assert keywords["runtime_env"]["py_modules"][1].endswith("nbaccel_in_ray")


def test_a_logging_config_becomes_rays_own():
    ours = nbaccel.LoggingConfig(encoding="JSON", log_level="DEBUG", additional_log_standard_attrs=["name"])
    given = starting._joining_keywords(init_options(logging_config=ours))["logging_config"]
    assert isinstance(given, ray.LoggingConfig)
    assert (given.encoding, given.log_level, given.additional_log_standard_attrs) == ("JSON", "DEBUG", ["name"])


def test_ray_is_told_how_much_memory_its_tasks_may_ask_for():
    assert starting._start_keywords(init_options(_memory=10**9))["_memory"] == 10**9
