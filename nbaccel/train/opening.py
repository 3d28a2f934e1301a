"""Begins or continues a run: chooses the folder, reads its journal, and takes the lock that keeps others out.

```
  no name was given                ──► begin, in a folder that nobody has
  no folder of this name           ──► begin
  interrupted, stopped or failed   ──► go on from its latest checkpoint
  finished                         ──► look at name-2, name-3, …; with resume=True go on with it
  under way in another process     ──► refuse
```
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbaccel.train import journal, storage
from nbaccel.train.checkpoint import as_fsspec, fsspec_for, is_remote
from nbaccel.train.configs import DEFAULT_STORAGE, STORAGE_VARIABLE, CheckpointConfig, RunConfig
from nbaccel.train.errors import ControllerError
from nbaccel.train.journal import FILE, Journal, Kept, Past

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
    if filesystem is None and not is_remote(storage_path):
        return None
    fsspec = fsspec_for(f"{storage_path!r} in remote storage")
    if filesystem is None:
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
                    storage.delete(str(folder), name)
            storage.clear_parts(str(folder))
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
    lock: storage.RunLock
    said: str = ""
    begin_from: str = ""  # a checkpoint of another run, for one that has none of its own
    remote: RemoteRun | None = None

    def close(self) -> None:
        self.journal.close()
        self.lock.release()


def open_run(config: RunConfig, default_name: str) -> OpenRun:
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
        lock = storage.RunLock(str(folder))
    except BlockingIOError:
        raise ControllerError(
            f"The run {name} is under way in process {storage.holder(str(folder))}: two runs cannot share a folder. "
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
        storage.settle(str(folder), past)
        log = _begun(folder, past, name, config.checkpoint_config)
    except BaseException:  # of a network, or of a disk
        lock.release()
        raise
    said = _how_it_begins(config.name or name, name, past)
    past.name = name
    past.ended = past.error = ""
    if remote is not None:
        said = f"{said} The run is copied to {remote.url}; it works in {folder}.".strip()
    return OpenRun(name, str(folder), past, log, lock, said, remote=remote)


def _begun(folder: Path, past: Past, name: str, keeps: CheckpointConfig) -> Journal:
    """The run's journal, with the line that it begins. Raises ControllerError if the disk is full."""
    try:
        log = Journal(folder, past)
        try:
            log.begin(name, keeps)
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
        return Path(path)
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
