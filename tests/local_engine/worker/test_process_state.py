"""What cannot be put back is named: in a process that may not raise its own limits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

NOBODY = 65534
PROGRAM = """
import json, os, resource, sys
from nbaccel.local_engine.worker.main import ProcessState
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({nobody})
    os.setuid({nobody})
state = ProcessState({{1: "its stdout"}})
assert not state.is_disturbed() and state.restore() == []
{deed}
print(json.dumps([state.is_disturbed(), state.restore()]), file=sys.stderr)
"""
NOT_UNDONE = ", which only the system's administrator may undo"
REPLACED = "closed or replaced descriptor 1, which is its stdout"
DEEDS = {  # -> (whether the look after every task sees it, what is told)
    "resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))": [True, [f"lowered RLIMIT_NOFILE to 30{NOT_UNDONE}"]],
    "os.nice(5)": [False, [f"changed its niceness to {min(19, os.getpriority(os.PRIO_PROCESS, 0) + 5)}{NOT_UNDONE}"]],
    "os.close(1)": [True, [REPLACED]],
    "os.close(1); os.open(os.devnull, os.O_WRONLY)": [False, [REPLACED]],
    "resource.setrlimit(resource.RLIMIT_NOFILE, (30, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))": [True, []],
    "sys.setrecursionlimit(5000)": [False, []],
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_that_its_doer_may_not_undo_is_told(deed: str) -> None:
    program = PROGRAM.format(deed=deed, nobody=NOBODY)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert json.loads(done.stderr) == DEEDS[deed]
