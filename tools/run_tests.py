"""Run pytest; what fails with a real Ray or a real browser is run once more, alone, and is listed at the end.

`python -m tools.run_tests ARGUMENTS` passes its arguments to pytest, for which this module is a plugin too. A test that
outlasts its limit ends its process, and pytest's run with it: the tests that had not run yet are run then. The exit
status is 0 if every test has passed, at once or alone. A test of nbaccel's own engine gets no second chance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

PYTEST = [sys.executable, "-m", "pytest", "-p", "tools.run_tests"]
# A file that pytest appends a line to for each test that has ended, and one that names the tests to leave out.
RECORD, LEFT_OUT = "NBACCEL_TEST_RECORD", "NBACCEL_TESTS_LEFT_OUT"
OUTSIDE = {"ray", "browser"}  # marks of tests that another program can fail
LOST = "crashed while running"  # what xdist reports of the test whose process has ended
NO_TEST_CHOSEN = 5  # pytest's exit status
RUNS = 3  # so many processes may be lost before the rest is given up
SECOND_CHANCES = 10  # where more fail, it is no chance


@dataclass(frozen=True)
class Ended:
    """What became of a test."""

    test: str
    outcome: str
    failure: str  # the first line of what it raised
    outside: bool  # whether it has a real Ray or a real browser


@pytest.hookimpl(tryfirst=True)  # before xdist adds the lane to the ids
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has ended in an earlier run."""
    left_out = set(Path(os.environ[LEFT_OUT]).read_text().splitlines()) if LEFT_OUT in os.environ else set()
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append a line to the record, in the process that hears of all tests."""
    ended = report.failed or report.when == "call" or (report.skipped and report.when == "setup")
    if not ended or RECORD not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
        return
    test = report.nodeid.rsplit("@", 1)[0] if hasattr(report, "node") else report.nodeid  # xdist adds the lane
    lines = report.longreprtext.strip().splitlines() if report.failed else []
    raised = [line.removeprefix("E").strip() for line in lines if line.startswith("E  ")] or lines[-1:]
    each = Ended(test, report.outcome, next(iter(raised), ""), bool(OUTSIDE & set(report.keywords)))
    with Path(os.environ[RECORD]).open("a") as record:
        record.write(json.dumps(asdict(each)) + "\n")


def run(arguments: list[str], folder: Path) -> tuple[int, dict[str, Ended]]:
    """Run pytest until every chosen test has ended; its exit status, and what became of each test."""
    ended: dict[str, Ended] = {}
    status = 0
    for attempt in range(RUNS):
        status, last = run_once(arguments, folder / f"run-{attempt}", ended)
        ended |= last
        if not any(LOST in each.failure for each in last.values()):
            break
    return status, ended


def run_once(arguments: list[str], folder: Path, before: dict[str, Ended]) -> tuple[int, dict[str, Ended]]:
    """Run pytest once, without the tests that ended before."""
    folder.mkdir()
    record, left_out = folder / "record", folder / "left-out"
    record.touch()
    left_out.write_text("\n".join(before))
    environ = {**os.environ, RECORD: str(record), LEFT_OUT: str(left_out)}
    status = subprocess.run([*PYTEST, *arguments], env=environ, check=False).returncode
    found: dict[str, Ended] = {}
    for line in record.read_text().splitlines():
        each = Ended(**json.loads(line))
        if each.test not in found or found[each.test].outcome != "failed":  # a test may pass and then fail at its end
            found[each.test] = each
    return status, found


def may_run_again(each: Ended) -> bool:
    """Whether a failed test has a real Ray or a real browser. A lost process takes the marks of its test with it."""
    if LOST not in each.failure:
        return each.outside
    asked = [*PYTEST, "--collect-only", "-q", "-m", " or ".join(OUTSIDE), each.test]
    return subprocess.run(asked, stdout=subprocess.DEVNULL, check=False).returncode == 0


def passes_alone(each: Ended) -> bool:
    """Run one test in a process of its own, beside nothing else."""
    print(f"\nonce more, alone: {each.test}", flush=True)
    return subprocess.run([*PYTEST, each.test], check=False).returncode == 0


def main(arguments: list[str]) -> int:
    """Run the tests and print the result; the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        status, ended = run(arguments, Path(folder))
    failed = [each for each in ended.values() if each.outcome == "failed"]
    if not ended or (status and not failed):  # an option that pytest refuses, a module that cannot be imported
        return 0 if status == NO_TEST_CHOSEN else status or 1
    flaky: list[Ended] = []
    if len(failed) <= SECOND_CHANCES and all(may_run_again(each) for each in failed):
        flaky = [each for each in failed if passes_alone(each)]
    report(ended, [each for each in failed if each not in flaky], flaky)
    return int(len(flaky) < len(failed))


def report(ended: dict[str, Ended], failed: list[Ended], flaky: list[Ended]) -> None:
    """Print what failed, how many passed, and what passed only the second time."""
    for each in failed:
        print(f"failed: {each.test}: {each.failure}")
    count = {outcome: sum(each.outcome == outcome for each in ended.values()) for outcome in ("passed", "skipped")}
    print(f"{count['passed'] + len(flaky)} passed, {len(failed)} failed, {count['skipped']} skipped")
    for each in flaky:
        print(f"flaky: {each.test}, first failure: {each.failure}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
