"""One workload on nbaccel and on what users would pick instead, in turn on this machine; prints ratios and goals.

    python benchmarks/core.py                                    # everything that is installed, seven rounds
    python benchmarks/core.py --only nbaccel,ray --rows task,tasks --repeat 3
    python benchmarks/core.py --json figures.json --docs docs/benchmarks.md

A round starts each contender in a process of its own, one after the other, and measures every row; the next round goes
in the other direction. A figure is the median over the rounds, a ratio to Ray the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from benchmarks import census, floor, report  # noqa: E402
from benchmarks.census import TOKEN_VARIABLE  # noqa: E402
from benchmarks.contenders import CONTENDERS, is_installed  # noqa: E402
from benchmarks.rows import BY_KEY, SESSIONS  # noqa: E402
from nbaccel import light_imports  # noqa: E402

SESSION_TIMEOUT_S = 600


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_names(CONTENDERS, "contender"), default=list(CONTENDERS), metavar="NAME,NAME")
    parser.add_argument(
        "--rows", type=_names(BY_KEY, "row"), default=list(BY_KEY), metavar="KEY,KEY", help=", ".join(BY_KEY)
    )
    parser.add_argument(
        "--repeat", type=int, default=7, help="rounds; slow contenders take part in 3 or 1 (default: 7)"
    )
    parser.add_argument("--json", type=Path, help="write every figure of every round there")
    parser.add_argument("--docs", type=Path, help="put the tables into this page, between its two marks")
    parser.add_argument("--no-floor", action="store_true", help="leave out the system's own prices")
    return parser.parse_args()


def _names(known: Any, what: str) -> Any:
    def parse(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {what} {name!r}; there are {', '.join(known)}")
        return names

    return parse


class Run:
    """All rounds: what was measured, and what went wrong."""

    def __init__(self, contenders: list[str], rows: list[str]) -> None:
        self.contenders = contenders
        self.rows = rows
        self.figures: report.Figures = {name: {} for name in contenders}
        self.problems: dict[str, str] = {}

    def round(self, number: int) -> None:
        """Each session, one contender after the other; every second round in the other direction."""
        for session in SESSIONS:
            rows = [key for key in self.rows if BY_KEY[key].session == session]
            if not rows:
                continue
            for name in self.contenders if number % 2 == 0 else reversed(self.contenders):
                if number < CONTENDERS[name].rounds and _takes_part(name, session):
                    self._session(name, session, rows, number)

    def _session(self, name: str, session: str, rows: list[str], number: int) -> None:
        began = time.monotonic()
        lines, problem = run_session(name, session, rows)
        for line in lines:
            if "problem" in line:
                self.problems[f"{name}, {line['row']}"] = line["problem"]
            elif line["row"] in rows:
                self.figures[name].setdefault(line["row"], {})[number] = line["value"]
        if problem:
            self.problems[f"{name}, {session} session"] = problem
        print(f"  {session} session of {name}: {time.monotonic() - began:.1f} s", file=sys.stderr)


def _takes_part(name: str, session: str) -> bool:
    """Devices and values are nbaccel's and Ray's, whose flag for tensors matters for values only; what a line of tasks
    costs the head is asked of nbaccel alone.
    """
    if name == "ray_zero_copy":
        return session == "values"
    return session == "main" or name == "nbaccel" or (name == "ray" and session in ("torch", "values"))


def run_session(name: str, session: str, rows: list[str]) -> tuple[list[dict[str, Any]], str]:
    """(the figures, what went wrong) of one session; nothing of it is left running."""
    token = secrets.token_hex(8)
    with tempfile.TemporaryDirectory() as directory:
        figures, said = Path(directory, "figures"), Path(directory, "output")
        process = _started([name, session, ",".join(rows), str(figures)], token, said)
        left = 0
        try:
            problem = "" if process.wait(SESSION_TIMEOUT_S) == 0 else _last_line(said)
        except subprocess.TimeoutExpired:
            problem = f"not done after {SESSION_TIMEOUT_S} s; it last said: {_last_line(said)}"
        finally:
            left = _end(process, token)
        if left and not problem:
            problem = f"{left} of its processes were still there at its end"
        lines = figures.read_text().splitlines() if figures.exists() else []
    return [json.loads(line) for line in lines], problem


def _started(arguments: list[str], token: str, said: Path) -> subprocess.Popen[bytes]:
    # Beside JupyterLab Ray starts three times as fast with nbaccel's stand-in for a package that it imports by the way;
    # ipyparallel gains too. All are measured at their best.
    path = os.pathsep.join([str(light_imports.FOLDER), str(ROOT)])
    environment = {**os.environ, TOKEN_VARIABLE: token, "PYTHONPATH": path}
    # An installed package is compiled; a checkout's first start would not be, nor any of them with this variable.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with said.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.session", *arguments],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "nothing"


def _end(process: subprocess.Popen[bytes], token: str) -> int:
    """End what a session has left behind; returns how many processes that was."""
    left = census.members(token)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    return len(left)


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what runs is ended then, too
    asked = arguments()
    missing = [name for name in asked.only if not is_installed(name)]
    present = [name for name in asked.only if name not in missing]
    conditions = described(present, asked.repeat)
    print(conditions)
    for name in missing:
        print(f"{CONTENDERS[name].title} is missing: `pip install nbaccel[bench]` brings it.")
    floors = {} if asked.no_floor else floor.measure()
    run = Run(present, asked.rows)
    for number in range(asked.repeat):
        print(f"round {number + 1} of {asked.repeat}", file=sys.stderr)
        run.round(number)
    show(asked, run, floors, conditions)


def described(names: list[str], rounds: int) -> str:
    """What was compared with what, on what machine."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    versions = ", ".join(f"{CONTENDERS[name].title} {_version(name)}".rstrip() for name in names)
    return f"{machine}; {versions}; medians of {rounds} rounds (loky at most 3, Dask and ipyparallel 1)."


def show(asked: argparse.Namespace, run: Run, floors: dict[str, float], conditions: str) -> None:
    """The tables on the terminal, and wherever else they were asked for."""
    kinds = {BY_KEY[key].session == "values" for key in asked.rows}
    tables = [report.table(run.figures, asked.rows)] if False in kinds else []
    tables += [report.values_table(run.figures, asked.rows)] if True in kinds else []
    tables += [report.floor_table(floors)] if floors else []
    print("", *tables, sep="\n\n")
    for where, problem in run.problems.items():
        print(f"{where}: {problem}")
    if asked.json:
        everything = {"conditions": conditions, "figures": run.figures, "floor": floors, "problems": run.problems}
        asked.json.write_text(json.dumps(everything, indent=1) + "\n")
    if asked.docs:
        asked.docs.write_text(report.put_into(asked.docs.read_text(), [conditions, *tables]))


def _version(name: str) -> str:
    try:
        return metadata.version(CONTENDERS[name].needs)
    except metadata.PackageNotFoundError:  # the standard library's, or a checkout that is not installed
        return ""


if __name__ == "__main__":
    main()
