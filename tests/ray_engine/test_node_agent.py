"""What the small actor of a node answers."""

from __future__ import annotations

from nbaccel.ray_engine.shipped.nbaccel_in_ray.node_agent import NodeAgent


def test_the_end_of_a_log_shows_a_progress_bar_as_it_stood_last(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "worker-abc-1.out").write_bytes(b":task_name:f\nfirst\n\r10 %\r20 %\nlast\r\n\n")
    assert NodeAgent().log_tail(str(tmp_path), "abc", 0) == "first\n20 %\nlast\n"
    assert NodeAgent().log_tail(str(tmp_path), "abc", 3) == "20 %\nlast\n"
