"""The folder of a run: how it begins or goes on, and how checkpoints get into it and into its remote copy.

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
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbaccel.train import journal
from nbaccel.train.checkpoint import as_fsspec, fsspec_for, is_local, is_remote
from nbaccel.train.configs import CheckpointConfig, RunConfig
from nbaccel.train.errors import ControllerError
from nbaccel.train.journal import FILE, Journal, Kept, Past
from nbaccel.views.stored_runs import DEFAULT_STORAGE, STORAGE_VARIABLE

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
    """Remove the uncommitted parts of a worker group that has ended, and the other traces of its ranks."""
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


# ---- checkpoints of ranks that do not see the driver's disk: their files travel as objects, which memory must hold


MOST_BYTES = 1 << 30

Files = dict[str, bytes]  # by their paths in the checkpoint
_REMEDY = (
    "Files travel between machines that do not share the run's folder only up to {most:.3g} GB at once: give a folder "
    "that all machines share, RunConfig(storage_path=...), or report smaller checkpoints."
)


def own_folder(run_folder: str, probe: str) -> str:
    """In a rank: leave a trace in the run's folder; returns the folder to work in, a temporary one where that fails."""
    try:
        Path(run_folder, probe).touch()
    except OSError:
        return tempfile.mkdtemp(prefix="nbaccel-run-")
    return run_folder


def pack(folder: str) -> Files:
    """The files of a folder. Raises ValueError with the remedy when they are too large."""
    paths = list(files_in(Path(folder)))
    size = sum(path.stat().st_size for path in paths)
    if size > MOST_BYTES:
        raise ValueError(f"The checkpoint {folder} has {size / 1e9:.3g} GB. {_REMEDY.format(most=MOST_BYTES / 1e9)}")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def unpack(files: Files, folder: str) -> None:
    """Write the files of a checkpoint. Raises OSError with the path if the disk is full."""
    for name, data in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            path.write_bytes(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None


def arrive(files: Files, run_folder: str, report: int, rank: int) -> None:
    """In the driver: put the files of a rank beside those of others. Raises OSError as bring."""
    with tempfile.TemporaryDirectory(prefix=SAVED, dir=run_folder) as folder:
        unpack(files, folder)
        bring(folder, run_folder, report, rank, move=True)


# ---- how a run begins or goes on


# ---- runs in remote storage, by fsspec: a run works in a folder of this machine, and a copy follows its checkpoints
#
# ```
#   <storage_path>/<name>/run.jsonl                          the journal, after each checkpoint and at the end
#                        /checkpoint_000007/…                its files, first
#                        /.checkpoint_000007.complete        … and then this: without it the checkpoint does not count
# ```
# Object stores have no rename, so a file that is written last says that a checkpoint is whole. If an upload fails, the
# run goes on, and the next upload brings what is missing.


_MANIFEST = re.compile(r"\.(checkpoint_\d{6,})\.complete")
_COPIES = ".remote"


@dataclass(slots=True)
class RemoteStorage:
    """A `storage_path` in remote storage.

    url  how users name it
    """

    filesystem: Any
    path: str
    url: str

    def local_root(self) -> Path:
        """The folder of this machine in which the runs of this storage work."""
        chosen = os.environ.get(STORAGE_VARIABLE, "")
        root = DEFAULT_STORAGE if not chosen or is_remote(chosen) else chosen
        return Path(root).expanduser().absolute() / _COPIES / quote(self.url, safe="")

    def run(self, name: str) -> RemoteRun:
        return RemoteRun(self.filesystem, f"{self.path.rstrip('/')}/{name}", f"{self.url.rstrip('/')}/{name}")


def storage_of(storage_path: str, filesystem: Any = None) -> RemoteStorage | None:
    """The remote storage of a RunConfig; None for a folder. Raises ImportError that names the missing wheel."""
    if is_local(filesystem) and not is_remote(storage_path):
        return None
    fsspec = fsspec_for(f"{storage_path!r} in remote storage")
    if is_local(filesystem):
        found, path = fsspec.core.url_to_fs(storage_path)
        return RemoteStorage(found, path, storage_path)
    filesystem = as_fsspec(filesystem)
    return RemoteStorage(filesystem, storage_path, filesystem.unstrip_protocol(storage_path))


class RemoteRun:
    """The copy of one run."""

    def __init__(self, filesystem: Any, path: str, url: str) -> None:
        self.url = url
        self._filesystem = filesystem
        self._path = path
        self._there: set[str] | None = None  # checkpoints that are whole; None: not asked yet

    def journal(self) -> bytes:
        """The journal of the copy; b"" without one."""
        try:
            found: bytes = self._filesystem.cat_file(f"{self._path}/{FILE}")
        except FileNotFoundError:
            return b""
        return found

    def bring_to(self, folder: Path, kept: Callable[[bytes], list[Kept]]) -> None:
        """Make the folder of this machine a copy of the remote one, unless it is ahead of it.

        It is ahead if its journal begins with the remote one: this machine has run it last. `kept` reads a journal.
        """
        remote, local = self.journal(), _bytes_of(folder / FILE)
        if local.startswith(remote) and local != remote:
            return
        if not remote.startswith(local):  # both have gone on, and the copy is what everybody sees
            own = {each.folder for each in kept(local)}
            for name in os.listdir(folder):
                if name.startswith("checkpoint_") or name in own:
                    delete(str(folder), name)
            clear_parts(str(folder))
        if remote != local:
            (folder / FILE).write_bytes(remote)
        for name in sorted({each.folder for each in kept(remote)} & self._complete()):
            if not (folder / name).exists():
                self._download(name, folder)

    def _download(self, name: str, folder: Path) -> None:
        part = folder / f".{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        for file in json.loads(self._filesystem.cat_file(self._manifest(name))):
            (part / file).parent.mkdir(parents=True, exist_ok=True)
            self._filesystem.get_file(f"{self._path}/{name}/{file}", str(part / file))
        part.rename(folder / name)

    def follow(self, folder: str, kept: list[Kept]) -> None:
        """Upload what the folder has and the copy lacks, then remove checkpoints that were given up.

        Raises whatever the filesystem raises; what is uploaded stays, and the next call goes on.
        """
        wanted = [each.folder for each in kept]
        for name in wanted:
            if name not in self._complete():
                self._upload(Path(folder), name)
        self._filesystem.makedirs(self._path, exist_ok=True)
        self._filesystem.pipe_file(f"{self._path}/{FILE}", _bytes_of(Path(folder) / FILE))
        for name in self._complete() - set(wanted):
            self._filesystem.rm_file(self._manifest(name))  # first: what is half removed is not whole
            if self._filesystem.exists(f"{self._path}/{name}"):
                self._filesystem.rm(f"{self._path}/{name}", recursive=True)
            self._complete().discard(name)

    def _upload(self, folder: Path, name: str) -> None:
        files = sorted(file.relative_to(folder / name) for file in (folder / name).rglob("*") if file.is_file())
        for file in files:
            target = f"{self._path}/{name}/{file.as_posix()}"
            self._filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._filesystem.put_file(str(folder / name / file), target)
        manifest = json.dumps([file.as_posix() for file in files])
        self._filesystem.makedirs(self._path, exist_ok=True)
        self._filesystem.pipe_file(self._manifest(name), manifest.encode())
        self._complete().add(name)

    def _manifest(self, name: str) -> str:
        return f"{self._path}/.{name}.complete"

    def _complete(self) -> set[str]:
        if self._there is None:
            try:
                names = [each.rpartition("/")[2] for each in self._filesystem.ls(self._path, detail=False)]
            except FileNotFoundError:
                names = []
            self._there = {found[1] for name in names if (found := _MANIFEST.fullmatch(name))}
        return self._there


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


# ----


@dataclass(slots=True)
class OpenRun:
    """A run's folder, open for its driver.

    said  how the run begins, a sentence for the user; "" for a new one under the name that was asked for
    """

    name: str
    folder: str
    past: Past
    journal: Journal
    lock: RunLock
    notice: str = ""
    begin_from: str = ""  # a checkpoint of another run, for one that has none of its own
    remote: RemoteRun | None = None

    def close(self) -> None:
        self.journal.close()
        self.lock.release()


def open_run(config: RunConfig, default_name: str, loop_config: dict[str, Any] | None = None) -> OpenRun:
    """Open the run that the config names. Raises ControllerError if it cannot be written or is under way."""
    assert config.storage_path is not None
    wanted = config.name or default_name
    storage_ = storage_of(config.storage_path, config.storage_filesystem)
    root = storage_.local_root() if storage_ is not None else Path(config.storage_path)
    folder = root / wanted
    try:
        if config.name:
            name, past = _choose(root, storage_, wanted, bool(config.resume))
        else:
            name, past = _new(root, storage_, wanted)
        folder = root / name
        folder.mkdir(parents=True, exist_ok=True)
        lock = RunLock(str(folder))
    except BlockingIOError:
        raise ControllerError(
            f"The run {name} is under way in process {holder(str(folder))}: two runs cannot share a folder. "
            f"Wait for it, stop it, or give this one another name: RunConfig(name={name + '-other'!r})."
        ) from None
    except OSError as error:
        raise _not_writable(folder, error) from error
    remote = storage_.run(name) if storage_ is not None else None
    try:
        if remote is not None:
            remote.bring_to(folder, lambda data: journal.parse(data).kept)
        # Read again: whoever held the lock a moment ago may have written.
        past = journal.read(folder) or past
        settle(str(folder), past)
        log = _begun(folder, past, name, config.checkpoint_config, loop_config)
    except BaseException:  # of a network, or of a disk
        lock.release()
        raise
    notice = _how_it_begins(config.name or name, name, past)
    past.name = name
    past.ended = past.error = ""
    if remote is not None:
        notice = f"{notice} The run is copied to {remote.url}; it works in {folder}.".strip()
    return OpenRun(name, str(folder), past, log, lock, notice, remote=remote)


def _begun(folder: Path, past: Past, name: str, keeps: CheckpointConfig, loop_config: dict[str, Any] | None) -> Journal:
    """The run's journal, with the line that it begins. Raises ControllerError if the disk is full."""
    try:
        log = Journal(folder, past)
        try:
            log.begin(name, keeps, loop_config)
        except OSError:
            log.close()
            raise
    except OSError as error:
        raise _not_writable(folder, error) from error
    return log


def _not_writable(folder: Path, error: OSError) -> ControllerError:
    return ControllerError(
        f"The run's folder {folder} cannot be written: {error.strerror or error}. Give another one: "
        "RunConfig(storage_path=...), or the environment variable NBACCEL_STORAGE.",
        error,
    )


def _choose(root: Path, remote: RemoteStorage | None, wanted: str, resume: bool) -> tuple[str, Past]:
    """The first of name, name-2, … that has not finished."""
    name, number = wanted, 1
    while True:
        past = journal.read(root / name) or Past()
        if remote is not None and not past.ended:  # another machine may have gone on with it
            there = journal.parse(remote.run(name).journal())
            past = there if there.length > past.length else past
        if resume or past.ended != "finished":
            return name, past
        number += 1
        name = f"{wanted}-{number}"


def _new(root: Path, remote: RemoteStorage | None, wanted: str) -> tuple[str, Past]:
    """A folder that nobody has, for a run that was given no name: another one may have begun in the same second."""
    name, number = wanted, 1
    while True:
        try:
            (root / name).mkdir(parents=True)
            if remote is None or not remote.run(name).journal():
                return name, Past()
        except FileExistsError:
            pass
        number += 1
        name = f"{wanted}-{number}"


def _how_it_begins(wanted: str, name: str, past: Past) -> str:
    if name != wanted and not past.name:
        return (
            f"The run {wanted} has finished, so {name} begins. RunConfig(name={wanted!r}, resume=True) goes on with "
            f"{wanted} from its latest checkpoint."
        )
    if not past.name and not past.kept:
        return ""
    how = {"stopped": "was stopped", "failed": "failed", "finished": "has finished"}.get(past.ended, "was interrupted")
    after = f"from {past.kept[-1].folder}" if past.kept else "from its beginning: it has no checkpoint"
    return f"The run {name} {how}; it goes on {after}. A new name begins a new run: RunConfig(name=...)."


def bring_here(path: str, filesystem: Any = None) -> Path:
    """The folder of a run on this machine; for a run in remote storage, a copy that is made or brought up to date."""
    parent, _, name = path.rstrip("/").rpartition("/")
    remote = storage_of(parent, filesystem)
    if remote is None:
        return Path(path.removeprefix("file://")).expanduser()
    folder = remote.local_root() / name
    folder.mkdir(parents=True, exist_ok=True)
    remote.run(name).bring_to(folder, lambda data: journal.parse(data).kept)
    return folder


def read_run(path: str | os.PathLike[str]) -> Past:
    """A run's journal, with the existing checkpoints. Raises FileNotFoundError for a folder that holds no run."""
    past = journal.read(os.fspath(path))
    if past is None:
        raise FileNotFoundError(f"{os.fspath(path)} holds no training run of nbaccel: it has no {journal.FILE}.")
    there = set(os.listdir(path))
    past.kept = [each for each in past.kept if each.folder in there]
    return past
