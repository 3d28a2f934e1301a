"""What the service actor of a node answers."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")

from nbaccel.ray_engine.rays import import_shipped

import_shipped()
from nbaccel_in_ray.service_actors import NodeAgent  # noqa: E402


def test_the_end_of_a_log_shows_a_progress_bar_as_it_stood_last(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "worker-abc-1.out").write_bytes(b":task_name:f\nfirst\n\r10 %\r20 %\nlast\r\n\n")
    assert NodeAgent().log_tail(str(tmp_path), "abc", 0) == "first\n20 %\nlast\n"
    assert NodeAgent().log_tail(str(tmp_path), "abc", 3) == "20 %\nlast\n"


def test_a_log_goes_on_where_the_last_part_ended(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "worker-abc-1.out").write_bytes(b"first\nsecond\nhal")
    (folder / "worker-abc-1.err").write_bytes(b"warned\n")
    parts = NodeAgent().log_parts(str(tmp_path), "abc", [6, 0], 1000, False)
    assert parts == [(b"second\n", 6), (b"warned\n", 0)]
    assert NodeAgent().log_parts(str(tmp_path), "abc", [13, 7], 1000, True) == [(b"hal", 13), (b"", 7)]
    assert NodeAgent().log_parts(str(tmp_path), "abc", [0, 7], 9, False) == [(b"econd\n", 7), (b"", 7)]
    assert NodeAgent().log_parts(str(tmp_path), "other", [0, 0], 9, True) == [(b"", 0), (b"", 0)]
