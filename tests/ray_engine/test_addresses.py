"""What an address means, and what is said when nothing is there."""

from __future__ import annotations

import socket

import pytest

import nbaccel
from nbaccel.ray_engine import starting


@pytest.fixture
def closed_port():
    """A port on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def open_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No Ray of this machine is found by accident."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("address", [None, "local"])
def test_no_address_is_a_ray_of_our_own(address):
    assert starting.resolved(address) is None


def test_an_address_where_nothing_listens_is_told_with_its_port(closed_port):
    with pytest.raises(ConnectionError, match=f"port {closed_port}"):
        starting.resolved(f"127.0.0.1:{closed_port}")


def test_a_client_address_where_nothing_listens_says_what_ray_client_needs(closed_port):
    with pytest.raises(ConnectionError, match=r"ray\[client\]"):
        starting.resolved(f"ray://127.0.0.1:{closed_port}")


def test_an_address_where_something_listens_is_passed_on(open_port):
    assert starting.resolved(f"127.0.0.1:{open_port}") == f"127.0.0.1:{open_port}"


def test_a_client_address_has_a_port_by_default():
    assert starting.host_and_port("ray://head") == ("head", 10001)
    assert starting.host_and_port("[::1]:6379") == ("::1", 6379)


def test_what_is_no_address_is_refused():
    with pytest.raises(ValueError, match="ray://host:10001"):
        starting.host_and_port("head")


def test_auto_takes_what_the_environment_names(monkeypatch, open_port):
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{open_port}")
    assert starting.resolved("auto") == f"127.0.0.1:{open_port}"


def test_auto_finds_the_ray_that_was_started_here(nowhere, open_port):
    (nowhere / "ray").mkdir()
    (nowhere / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{open_port}\n")
    assert starting.resolved("auto") == f"127.0.0.1:{open_port}"


def test_auto_without_any_ray_says_where_it_looked(nowhere):
    with pytest.raises(ConnectionError, match="RAY_ADDRESS") as caught:
        starting.resolved("auto")
    assert str(nowhere) in str(caught.value) and "ray start --head" in str(caught.value)


@pytest.mark.parametrize("address", ["127.0.0.1:6379", "ray://127.0.0.1:10001"])
def test_a_cluster_that_wants_a_token_is_told_with_the_cause_and_the_remedy(address):
    inner = RuntimeError("RPC error: InvalidAuthToken: token is missing")
    told = starting.why_not_joined(address, inner)
    assert "InvalidAuthToken: token is missing" in told and "RAY_AUTH_MODE=token" in told
    assert "RAY_AUTH_TOKEN" in told and "ray start" not in told
    outer = RuntimeError("Failed to connect to GCS")
    outer.__cause__ = inner
    assert "ray start" not in starting.why_not_joined(address, outer)


def test_a_cluster_that_does_not_say_why_may_want_a_token_or_processes_of_this_machine():
    told = starting.why_not_joined("127.0.0.1:6379", RuntimeError("Failed to connect to GCS"))
    assert "RAY_AUTH_MODE=token" in told and "ray start --address=127.0.0.1:6379" in told


def test_init_tells_of_a_dead_address(closed_port):
    pytest.importorskip("ray")
    with pytest.raises(ConnectionError, match="nothing answers"):
        nbaccel.init(address=f"127.0.0.1:{closed_port}")
    assert not nbaccel.is_initialized()


def test_init_auto_prefers_ray_where_no_head_is_shared(nowhere, closed_port, capsys):
    pytest.importorskip("ray")
    (nowhere / "ray").mkdir()
    (nowhere / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{closed_port}")
    with pytest.raises(ConnectionError, match="nothing answers"):
        nbaccel.init(address="auto")
    assert "ray_current_cluster" in capsys.readouterr().out
