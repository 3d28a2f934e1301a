"""The journal of a run: one append-only file of JSON lines, from which the run can be read again.

```
  {"v": 1, "run": "mnist", "keeps": {…}, "config": {…}} a run begins, with its CheckpointConfig and train_loop_config
  {"worker_group": 0, "after": "", "ranks": [{"node": …}, …]}   it stands, after a checkpoint when it went on
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

import errno
import json
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbaccel.train.configs import CheckpointConfig
from nbaccel.views import wording

# ---- decides which checkpoints stay, by the rule of CheckpointConfig, without touching a file


@dataclass(frozen=True, slots=True)
class Kept:
    """A committed checkpoint.

    folder   its name inside the run's folder, "checkpoint_000007"
    report   the number of the report that brought it, from 0
    metrics  of that report, of the lowest rank that reported
    """

    folder: str
    report: int
    metrics: dict[str, Any]


def to_delete(kept: Sequence[Kept], config: CheckpointConfig) -> list[Kept]:
    """The checkpoints to delete, oldest first; never the latest one (Ray Train's rule)."""
    if config.num_to_keep is None or len(kept) <= config.num_to_keep:
        return []
    latest = max(kept, key=lambda each: each.report)
    ranked = sorted(kept, key=lambda each: rank_of(each, config), reverse=True)
    stays = {each.folder for each in ranked[: config.num_to_keep]} | {latest.folder}
    return sorted((each for each in kept if each.folder not in stays), key=lambda each: each.report)


def best(kept: Sequence[Kept], config: CheckpointConfig) -> Kept | None:
    """The best checkpoint by score, or the latest one without scores; None if there is none."""
    return max(kept, key=lambda each: rank_of(each, config), default=None)


def rank_of(kept: Kept, config: CheckpointConfig) -> tuple[bool, float, int]:
    """A sort key, higher is better: whether there is a score, the score in its direction, the report's number."""
    if config.checkpoint_score_attribute is None:
        return False, 0.0, kept.report
    score = score_of(kept.metrics, config.checkpoint_score_attribute)
    if score is None:
        return False, 0.0, kept.report
    return True, score if config.checkpoint_score_order == "max" else -score, kept.report


def score_of(metrics: dict[str, Any], name: str) -> float | None:
    """A metric as a number; "eval/loss" also looks into a nested dict. None if it is missing, NaN or no number."""
    value: Any = metrics.get(name)
    if value is None and "/" in name:
        value = metrics
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return None
    return float(value)


# ----


FILE = "run.jsonl"
VERSION = 1


@dataclass(slots=True)
class Past:
    """The content of a journal.

    reports   those of the lowest rank, {"report": n, "time": seconds, "metrics": {…}}, in order, without those that a
              restart has made again
    keeps     the CheckpointConfig of the last that began
    kept      the checkpoints that were committed and not deleted, oldest first
    deleted   names of checkpoints that were given up
    ended     "finished", "stopped", "failed", or "" when the run was interrupted
    length    bytes of whole lines
    """

    name: str = ""
    keeps: CheckpointConfig = field(default_factory=CheckpointConfig)
    reports: list[dict[str, Any]] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    deleted: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    ended: str = ""
    error: str = ""
    length: int = 0

    @property
    def next_report(self) -> int:
        """The number of the first report of a worker group that continues from here."""
        return self.kept[-1].report + 1 if self.kept else 0

    def keep(self, kept: Kept) -> None:
        """Add a checkpoint, in place of an earlier one in the same folder."""
        self.kept = [each for each in self.kept if each.folder != kept.folder] + [kept]
        self.deleted.discard(kept.folder)


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
        past.keeps = CheckpointConfig(**line.get("keeps", {}))
    elif "worker_group" in line or "gang" in line:  # "gang": as older journals have it
        first = line.get("first", 0)
        past.reports = [each for each in past.reports if each["report"] < first]
    elif "checkpoint" in line:
        past.keep(Kept(line["checkpoint"], line["report"], line["metrics"]))
    elif "report" in line:
        past.reports.append({key: line[key] for key in ("report", "time", "metrics")})
    elif "deleted" in line:
        past.kept = [each for each in past.kept if each.folder != line["deleted"]]
        past.deleted.add(line["deleted"])
    elif "failure" in line:
        past.failures.append(line["failure"])
    elif "end" in line:
        past.ended, past.error = line["end"], line.get("error", "")


_MOST_VALUES, _MOST_CHARACTERS = 100, 200  # of a config in the first line


def shown(value: Any) -> Any:
    """A config as JSON, to be read by people: what is no number, text or dict of names is short text."""
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: shown(inner) for name, inner in list(value.items())[:_MOST_VALUES]}
    if value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() < 64):
        return value
    text = value if type(value) is str else wording.text_of(value, text=repr)
    return text[:_MOST_CHARACTERS]


class Journal:
    """The open journal of a run, for its driver; one thread writes."""

    def __init__(self, folder: str | Path, past: Past | None = None) -> None:
        """Continue a journal that was read as `past`; the rest of a line that a crash has cut is removed."""
        self._lines = LineFile(Path(folder) / FILE, past.length if past is not None else 0)

    def begin(self, name: str, keeps: CheckpointConfig, config: Mapping[str, Any] | None = None) -> None:
        """Write that the run begins; `config` is its train_loop_config, for lists of runs."""
        names = ("num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order")
        line = {"v": VERSION, "run": name, "keeps": {each: getattr(keeps, each) for each in names}}
        self._write({**line, "config": shown(config or {}), "started": time.time()}, safe=True)

    def worker_group(self, number: int, first: int, after: str, ranks: list[dict[str, Any]]) -> None:
        """Write that a worker group stands; its first report has the number `first`."""
        self._write({"worker_group": number, "first": first, "after": after, "ranks": ranks, "time": time.time()})

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


# ---- an append-only file of JSON lines; a line that a crash has cut is ignored, and removed by the next writer


Line = Mapping[str, Any]


def whole_lines(data: bytes) -> Iterator[tuple[dict[str, Any], int]]:
    """The lines before the first cut or damaged one, with their ends in bytes; later lines cannot be trusted."""
    start = 0
    while (end := data.find(b"\n", start)) >= 0:
        try:
            line = json.loads(data[start:end])
        except (ValueError, RecursionError):
            return
        if not isinstance(line, dict):
            return
        yield line, end + 1
        start = end + 1


class LineFile:
    """The open file of one writer; one thread writes."""

    def __init__(self, path: Path, whole: int) -> None:
        """Continue a file of which the first `whole` bytes are whole lines; the rest is removed."""
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        if self._file.tell() > whole:
            self._file.truncate(whole)

    def write(self, lines: Sequence[Line], *, safe: bool = False) -> None:
        """Append lines; `safe` waits until the disk has them. Raises OSError when the disk is full.

        Lines that could not be written whole are removed.
        """
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        end = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if safe:
                self.sync()
        except OSError:
            self._file.truncate(end)
            raise

    def sync(self) -> None:
        """Wait until the disk has all lines."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
