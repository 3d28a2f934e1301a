"""The folder of a run; a checkpoint gets into it whole or not at all.

```
  <storage_path>/<name>/run.jsonl                        the journal
                       /.lock                            held by the driver of the run
                       /.checkpoint_000007.part/rank_1/… each rank puts its files here
                       /checkpoint_000007/…              … and the driver makes one folder of them when all have
```
If ranks bring different files of one name, that of the lowest rank has the name, and the others are below rank_1/, ….
A rank copies its files, or moves them if nobody needs them afterwards. It never makes hard links: a program that writes
its file again in place would change the checkpoint.
"""

from __future__ import annotations

import contextlib
import fcntl
import filecmp
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from nbaccel.train import journal
from nbaccel.train.journal import Kept

LOCK = ".lock"
SAVED = ".saved-"  # begins the names of temporary folders in a run's folder
_FOLDER = re.compile(r"checkpoint_(\d{6,})")
_RANK = re.compile(r"rank_(\d+)")
_PART = re.compile(r"\.checkpoint_\d{6,}\.(part|deleted)|\.saved-.*")
_TRACE = re.compile(r"\.(where|probe)-.*")


def folder_name(report: int) -> str:
    """The folder of the checkpoint that came with this report."""
    return f"checkpoint_{report:06d}"


def part_name(report: int) -> str:
    return f".{folder_name(report)}.part"


# ---- of a rank


def bring(source: str, run_folder: str, report: int, rank: int = 0, *, move: bool = False) -> int:
    """Put a rank's files beside those of others, to be committed later; returns the number of bytes.

    They get the rank's name once all of them are there. Raises OSError if the disk is full.
    """
    whole = Path(run_folder) / part_name(report) / _of_rank(rank)
    coming = whole.with_name(f"{whole.name}.coming")
    for each in (whole, coming):  # of an earlier try, for which there was no room
        shutil.rmtree(each, ignore_errors=True)
    size = 0
    for file in files_in(Path(source)):
        target = coming / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        size += file.stat().st_size
        _put(file, target, move=move)
    coming.mkdir(parents=True, exist_ok=True)  # of a checkpoint without files
    os.rename(coming, whole)
    return size


def _of_rank(rank: int) -> str:
    return f"rank_{rank}"


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a checkpoint, also those in its folders. Raises FileNotFoundError."""
    if not folder.is_dir():
        raise FileNotFoundError(f"The checkpoint that was reported has no files: {folder} is no folder.")
    for path in sorted(folder.rglob("*")):
        if not path.is_dir():
            yield path


def _put(file: Path, target: Path, *, move: bool) -> None:
    if move and not file.is_symlink():
        try:
            os.replace(file, target)
            return
        except OSError:
            pass  # another disk
    shutil.copy2(file, target)


# ---- of the driver


def commit(run_folder: str, report: int, name: str = "", into: str = "") -> tuple[str, list[str]]:
    """Make one folder of the parts that are whole. Raises OSError.

    name  of the folder, in place of an earlier one; by default that of the report's checkpoint
    into  where the folder goes; by default into the run's folder
    Returns the name, and the files of which ranks brought different ones.
    """
    folder, part = Path(into or run_folder), Path(run_folder) / part_name(report)
    ranks = sorted(int(found[1]) for each in os.listdir(part) if (found := _RANK.fullmatch(each)))
    lowest, *others = [part / _of_rank(rank) for rank in ranks]
    differing = [each for other in others for each in _merge(other, lowest)]
    if name and (folder / name).is_dir():
        delete(str(folder), name)
    name = name or folder_name(report)
    os.rename(lowest, folder / name)
    with contextlib.suppress(OSError):  # a rank that is late has put something there
        os.rmdir(part)
    return name, differing


def _merge(part: Path, whole: Path) -> list[str]:
    """Move a rank's files to those of others; returns the files whose names are taken by other contents."""
    taken = []
    for file in files_in(part):
        inside = file.relative_to(part)
        if _move(file, whole / inside) or _are_the_same(file, whole / inside):
            continue
        taken.append(str(inside))
        own = part.name
        while not _move(file, whole / own / inside):
            own += "_"
    shutil.rmtree(part)
    return taken


def _move(file: Path, target: Path) -> bool:
    """Whether the place was free: a file is a part of no path below it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    if os.path.lexists(target):
        return False
    os.rename(file, target)
    return True


def _are_the_same(file: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(file, other, shallow=False)


def delete(run_folder: str, folder: str) -> None:
    """Remove a checkpoint; files that cannot be removed stay for the next start.

    It loses its name first, so that a process that is killed meanwhile leaves no half of a checkpoint under that name.
    """
    going = Path(run_folder) / f".{folder}.deleted"
    shutil.rmtree(going, ignore_errors=True)  # of an earlier try
    with contextlib.suppress(OSError):  # the checkpoint has gone already
        os.rename(Path(run_folder) / folder, going)
    shutil.rmtree(going, ignore_errors=True)


def discard_part(run_folder: str, report: int) -> None:
    """Remove a part that came too late for its checkpoint."""
    shutil.rmtree(Path(run_folder) / part_name(report), ignore_errors=True)


def clear_parts(run_folder: str) -> None:
    """Remove the uncommitted parts of a gang that has ended, and the other traces of its ranks."""
    for name in os.listdir(run_folder):
        if _PART.fullmatch(name):
            shutil.rmtree(Path(run_folder) / name, ignore_errors=True)
        elif _TRACE.fullmatch(name):
            (Path(run_folder) / name).unlink(missing_ok=True)


def settle(run_folder: str, past: journal.Past) -> None:
    """Make the journal and the folders agree, after a crash or a move.

    A checkpoint whose folder is gone is forgotten. A folder that was renamed but has no line in the journal is whole,
    and is added with the metrics of its report. A folder that was given up is removed.
    """
    clear_parts(run_folder)
    past.kept = [each for each in past.kept if os.path.isdir(os.path.join(run_folder, each.folder))]
    known = {each.folder for each in past.kept}
    metrics = {each["report"]: each["metrics"] for each in past.reports}
    for name in set(os.listdir(run_folder)) - known:
        if name in past.deleted:
            delete(run_folder, name)
        elif found := _FOLDER.fullmatch(name):
            past.kept.append(Kept(name, int(found[1]), metrics.get(int(found[1]), {})))
    past.kept.sort(key=lambda each: each.report)


class RunLock:
    """The sign that a run is under way: a lock of the kernel, which ends with the process."""

    def __init__(self, run_folder: str) -> None:
        """Raises BlockingIOError when another run holds it; `holder()` says who."""
        self._path = Path(run_folder) / LOCK
        self._file = open(self._path, "a+")  # noqa: SIM115
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let others have the folder, also while a process that was forked meanwhile has the file open."""
        if self._file.closed:
            return
        self._file.truncate(0)
        fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()


def holder(run_folder: str) -> str:
    """The pid of the process that holds the lock, as text."""
    try:
        return (Path(run_folder) / LOCK).read_text() or "unknown"
    except OSError:
        return "unknown"
