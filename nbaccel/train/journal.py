"""The journal of a run: one append-only file of JSON lines, from which the run can be read again.

```
  {"v": 1, "run": "mnist", "started": 1795…}            a run begins
  {"gang": 0, "after": "", "ranks": [{"node": …}, …]}   its gang stands, after a checkpoint when it went on
  {"report": 7, "rank": 0, "metrics": {…}}
  {"checkpoint": "checkpoint_000007", "report": 7, "metrics": {…}}    a folder beside the journal
  {"deleted": "checkpoint_000004"}
  {"failure": "rank 1: ValueError: …"}
  {"end": "finished" | "stopped" | "failed", "error": ""}
```
Names of folders are relative, and nothing is pickled, so a run's folder can be moved. A line that a crash has cut is
ignored. Reports are flushed to the operating system; a checkpoint and the end are synced to the disk.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbaccel.train.line_file import LineFile, whole_lines
from nbaccel.train.retention import Kept

FILE = "run.jsonl"
VERSION = 1


@dataclass(slots=True)
class Past:
    """The content of a journal.

    reports   those of the lowest rank, {"report": n, "time": seconds, "metrics": {…}}, in order, without those that a
              restart has made again
    kept      the checkpoints that were committed and not deleted, oldest first
    deleted   names of checkpoints that were given up
    ended     "finished", "stopped", "failed", or "" when the run was interrupted
    length    bytes of whole lines
    """

    name: str = ""
    reports: list[dict[str, Any]] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    ended: str = ""
    error: str = ""
    length: int = 0

    @property
    def next_report(self) -> int:
        """The number of the first report of a gang that continues from here."""
        return self.kept[-1].report + 1 if self.kept else 0


def read(folder: str | Path) -> Past | None:
    """Read the journal in this folder; None if there is none. Without one whole line its `name` is empty.

    Raises ValueError for a journal of a later version.
    """
    try:
        return parse((Path(folder) / FILE).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None


def parse(data: bytes) -> Past:
    """Read a journal's bytes. Raises ValueError for a journal of a later version."""
    past = Past()
    for line, end in whole_lines(data):
        _apply(past, line)
        past.length = end
    return past


def _apply(past: Past, line: Mapping[str, Any]) -> None:
    if "v" in line:
        if line["v"] > VERSION:
            raise ValueError(
                f"The run {line.get('run')} was written by a later version of nbaccel (journal version {line['v']}, "
                f"this one reads up to {VERSION}): update nbaccel."
            )
        past.name, past.ended, past.error = line["run"], "", ""
    elif "gang" in line:
        first = line.get("first", 0)
        past.reports = [each for each in past.reports if each["report"] < first]
    elif "checkpoint" in line:
        past.kept.append(Kept(line["checkpoint"], line["report"], line["metrics"]))
    elif "report" in line:
        past.reports.append({key: line[key] for key in ("report", "time", "metrics")})
    elif "deleted" in line:
        past.kept = [each for each in past.kept if each.folder != line["deleted"]]
        past.deleted.add(line["deleted"])
    elif "failure" in line:
        past.failures.append(line["failure"])
    elif "end" in line:
        past.ended, past.error = line["end"], line.get("error", "")


class Journal:
    """The open journal of a run, for its driver; one thread writes."""

    def __init__(self, folder: str | Path, past: Past | None = None) -> None:
        """Continue a journal that was read as `past`; the rest of a line that a crash has cut is removed."""
        self._lines = LineFile(Path(folder) / FILE, past.length if past is not None else 0)

    def begin(self, name: str) -> None:
        self._write({"v": VERSION, "run": name, "started": time.time()}, safe=True)

    def gang(self, number: int, first: int, after: str, ranks: list[dict[str, Any]]) -> None:
        """Write that a gang stands; its first report has the number `first`."""
        self._write({"gang": number, "first": first, "after": after, "ranks": ranks, "time": time.time()})

    def report(self, number: int, rank: int, metrics: Mapping[str, Any]) -> None:
        self._write({"report": number, "rank": rank, "time": time.time(), "metrics": metrics})

    def checkpoint(self, kept: Kept) -> None:
        line = {"checkpoint": kept.folder, "report": kept.report, "metrics": kept.metrics, "time": time.time()}
        self._write(line, safe=True)

    def deleted(self, folder: str) -> None:
        self._write({"deleted": folder}, safe=True)

    def failure(self, words: str) -> None:
        self._write({"failure": words, "time": time.time()})

    def end(self, how: str, error: str = "") -> None:
        self._write({"end": how, "error": error, "time": time.time()}, safe=True)

    def close(self) -> None:
        self._lines.close()

    def _write(self, line: Mapping[str, Any], *, safe: bool = False) -> None:
        """Append a line. Raises OSError when the disk is full; a partly written line is removed."""
        self._lines.write([line], safe=safe)
