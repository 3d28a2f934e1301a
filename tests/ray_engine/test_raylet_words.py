"""What Ray's node process says of a dead worker is cut to what a user needs; everything else stays as it is."""

from __future__ import annotations

import pytest

pytest.importorskip("ray")

from ray._private import worker

from nbaccel.ray_engine.reports.output import Output, shortened

DIED = (
    "A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, "
    "check the logs for the dead worker. Lease ID: 0c00 Worker ID: 9b9a Node ID: acc6 Worker IP address: 10.0.0.2 "
    "Worker port: 34685 Worker PID: 27325 Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly "
    "exits with a connection error code 2. End of file."
)
SHORT = (
    "Worker process 27325 on 10.0.0.2 died while it ran a task (SYSTEM_ERROR): Worker unexpectedly exits with a "
    "connection error code 2. End of file."
)
CAUSES = " Some common causes include: (1) the process was killed by the OOM killer, or (2) it crashed."


@pytest.mark.parametrize("told", [DIED, DIED + CAUSES, DIED + "\n"])
def test_a_dead_worker_is_told_in_a_line(told: str) -> None:
    assert shortened(told) == SHORT


def test_of_a_detail_of_several_lines_all_are_kept() -> None:
    assert shortened(DIED + "\nTraceback: no").endswith("End of file.\nTraceback: no")


def test_a_retry_without_an_error_loses_the_empty_word() -> None:
    kept = "Task f failed. There are 3 retries remaining, so the task will be retried."
    assert shortened(f"{kept} Error: ") == kept
    assert shortened(f"{kept} Error: disk full") == f"{kept} Error: disk full"


@pytest.mark.parametrize(
    "line", ["", "Tip: use fewer nodes", DIED.replace("died or was killed", "left"), "Task f failed."]
)
def test_other_words_are_left_alone(line: str) -> None:
    assert shortened(line) == line


def test_it_is_told_so_between_begin_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    rays = worker.print_to_stdstream
    output = Output(lambda key, task_id, show: None)
    output.begin()
    worker.print_to_stdstream({"lines": [DIED], "pid": "raylet", "is_err": False}, ignore_prefix=False)
    output.end()
    assert capsys.readouterr().out.rstrip().endswith(SHORT)
    assert worker.print_to_stdstream is rays


def test_of_an_error_of_the_users_that_is_tried_again_its_last_line_is_told():
    kept = "Task f failed. There are 2 retries remaining, so the task will be retried. Error: "
    traceback = '\x1b[36mray::f()\x1b[39m (pid=7, ip=10.0.0.1)\n  File "wrapping.py", line 1, in run\nValueError: again'
    assert shortened(f"{kept}User exception:\n{traceback}") == f"{kept}ValueError: again"
