"""The folder of a run; a checkpoint gets into it whole or not at all.

```
  <storage_path>/<name>/run.jsonl                        the journal
                       /.lock                            held by the driver of the run
                       /.checkpoint_000007.part/…        ranks put their files here
                       /checkpoint_000007/…              … and the driver renames it when all have
```
A rank copies its files, or moves them if nobody needs them afterwards. It never makes hard links: a program that writes
its file again in place would change the checkpoint.
"""

from __future__ import annotations

import contextlib
import fcntl
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
_PART = re.compile(r"\.checkpoint_\d{6,}\.(part|deleted)|\.saved-.*")
_TRACE = re.compile(r"\.(where|probe)-.*")


def folder_name(report: int) -> str:
    """The folder of the checkpoint that came with this report."""
    return f"checkpoint_{report:06d}"


def part_name(report: int) -> str:
    return f".{folder_name(report)}.part"


# ---- of a rank


def bring(source: str, run_folder: str, report: int, *, move: bool = False) -> int:
    """Put a rank's files beside those of others, to be committed later; returns the number of bytes.

    Raises ValueError if another rank has brought a file of the same name, OSError if the disk is full.
    """
    part = Path(run_folder) / part_name(report)
    size = 0
    for file in files_in(Path(source)):
        relative = file.relative_to(source)
        target = part / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        size += file.stat().st_size
        _put(file, target, move=move)
    part.mkdir(parents=True, exist_ok=True)  # of a checkpoint without files
    return size


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a checkpoint, also those in its folders. Raises FileNotFoundError."""
    if not folder.is_dir():
        raise FileNotFoundError(f"The checkpoint that was reported has no files: {folder} is no folder.")
    for path in sorted(folder.rglob("*")):
        if not path.is_dir():
            yield path


def _put(file: Path, target: Path, *, move: bool) -> None:
    try:
        # Reserves the name, so that two ranks cannot both believe that they were first.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except FileExistsError:
        raise ValueError(
            f"Two ranks brought a file of the same name to one checkpoint: {target.name}. Put the rank into the name "
            f"(f'model-{{rank}}.pt'), or let only rank 0 bring it."
        ) from None
    if move and not file.is_symlink():
        try:
            os.replace(file, target)
            return
        except OSError:
            pass  # another disk
    shutil.copy2(file, target)


# ---- of the driver


def commit(run_folder: str, report: int) -> str:
    """Rename the finished part to its final name; returns the name. Raises OSError."""
    name = folder_name(report)
    os.rename(Path(run_folder) / part_name(report), Path(run_folder) / name)
    return name


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
    present = {name: int(found[1]) for name in os.listdir(run_folder) if (found := _FOLDER.fullmatch(name))}
    past.kept = [each for each in past.kept if each.folder in present]
    known = {each.folder for each in past.kept}
    metrics = {each["report"]: each["metrics"] for each in past.reports}
    for name, report in present.items():
        if name in past.deleted:
            delete(run_folder, name)
        elif name not in known:
            past.kept.append(Kept(name, report, metrics.get(report, {})))
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
