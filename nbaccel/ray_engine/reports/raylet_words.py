"""Shortens the message of Ray's node process when a worker dies: in a notebook its 800 characters hide the rest.

Only sentences that are known word for word are shortened; the logs of Ray keep all of it.
"""

from __future__ import annotations

import re

_DIED = re.compile(
    r"A worker died or was killed while executing a task by an unexpected system error\. .*?"
    r"Worker IP address: (?P<ip>\S+) .*?Worker PID: (?P<pid>\d+) Worker exit type: (?P<type>\w+) "
    r"Worker exit detail: (?P<detail>.*)",
    re.DOTALL,
)
_CAUSES = re.compile(r" Some common causes include: .*", re.DOTALL)
_RETRIED = re.compile(
    r"(?P<kept>Task .* failed\. There are .* retries remaining, so the task will be retried\.) Error: \s*"
)

_USERS = re.compile(
    r"(?P<kept>Task .* so the task will be retried\. Error: )User exception:\n(?P<traceback>.*)", re.DOTALL
)


def shortened(line: str) -> str:
    """The line, or its informative part."""
    died = _DIED.fullmatch(line)
    if died:
        detail = _CAUSES.sub("", died["detail"]).strip()
        return f"Worker process {died['pid']} on {died['ip']} died while it ran a task ({died['type']}): {detail}"
    users = _USERS.fullmatch(line)
    if users:  # get() shows its traceback after the last attempt
        raised = [each for each in users["traceback"].splitlines() if each[:1].strip()]
        return users["kept"] + (raised[-1] if raised else "")
    retried = _RETRIED.fullmatch(line)
    return retried["kept"] if retried else line
