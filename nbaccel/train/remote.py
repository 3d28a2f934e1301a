"""Runs in remote storage, by fsspec: a run works in a folder of this machine, and a copy follows its checkpoints.

```
  <storage_path>/<name>/run.jsonl                          the journal, after each checkpoint and at the end
                       /checkpoint_000007/…                its files, first
                       /.checkpoint_000007.complete        … and then this: without it the checkpoint does not count
```
Object stores have no rename, so a file that is written last says that a checkpoint is whole. If an upload fails, the
run goes on, and the next upload brings what is missing.
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

from nbaccel.train import storage
from nbaccel.train.configs import DEFAULT_STORAGE, STORAGE_VARIABLE
from nbaccel.train.journal import FILE
from nbaccel.train.retention import Kept
from nbaccel.train.urls import fsspec_for, is_remote

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
    if type(filesystem).__module__.startswith("pyarrow"):
        from fsspec.implementations.arrow import ArrowFSWrapper

        filesystem = ArrowFSWrapper(filesystem)
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
            for name in os.listdir(folder):
                if name.startswith("checkpoint_"):
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
