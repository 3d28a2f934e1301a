"""A Ray node is started once it says so; one that does not start is told with Ray's last words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nbaccel.machines import node_records, ray_processes
from tests.machines.ray_nodes import ENDS_LATER, NODE, breaks, line, records, started
from tests.rig import is_alive, wait_until

__all__ = ["records"]

FAILS = "import sys; print('line 1', flush=True); sys.exit('ValueError: no such option')"
# The first start is too slow, as Ray's are on a busy machine.
SECOND_TIME = """
import os, sys
if not os.path.exists(sys.argv[1]):
    open(sys.argv[1], "w").close()
    sys.exit("The current node timed out during startup.")
"""


def test_ray_s_last_words_are_told_of_a_node_that_does_not_start(records: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Its last words:\nline 1\nValueError: no such option"):
        started(FAILS)
    assert list(records.iterdir()) == []


def test_a_node_that_was_too_slow_is_started_again(records: Path, tmp_path: Path) -> None:
    record = started(SECOND_TIME + NODE, str(tmp_path / "tried"))
    assert node_records.is_alive(record)


def test_after_three_slow_starts_ray_s_words_are_told(records: Path) -> None:
    with pytest.raises(RuntimeError, match="timed out during startup"):
        started("import sys; sys.exit('The current node timed out during startup.')")
    assert list(records.iterdir()) == []


def test_a_node_whose_process_died_ended_badly_and_one_that_was_ended_did_not(records: Path) -> None:
    record = started(ENDS_LATER)
    breaks(record.pid)
    assert ray_processes.ended_badly(record)
    assert "raylet" in ray_processes.last_words(record)
    ended = started()
    os.kill(ended.pid, signal.SIGTERM)
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert not ray_processes.ended_badly(ended)


def test_a_node_ends_with_the_command_that_started_it_also_where_that_is_killed(records: Path) -> None:
    program = (
        "import os, signal\n"
        "from nbaccel.machines import ray_processes\n"
        f"record = ray_processes.start({line(NODE)!r}, os.environ, address='a:1', with_us=True)\n"
        "print(record.pid, flush=True)\n"
        "signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        node = int(command.stdout.readline())
        command.kill()
    wait_until(lambda: not is_alive(node), "the end of the node")
