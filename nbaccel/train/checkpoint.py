"""Checkpoint: a folder with the data that a training function needs to continue. Names as in Ray Train 2.60."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from nbaccel.views import full_disks

METADATA_FILE = ".metadata.json"

_OLD_NAMES = {
    "from_dict": "write a file into a folder and call Checkpoint.from_directory(folder)",
    "to_dict": "read your files from the folder: with checkpoint.as_directory() as folder: ...",
    "from_bytes": "write a file into a folder and call Checkpoint.from_directory(folder)",
    "to_bytes": "read your files from the folder: with checkpoint.as_directory() as folder: ...",
    "from_uri": "give a folder: Checkpoint(path)",
    "to_uri": "checkpoint.path says where it is",
    "uri": "checkpoint.path says where it is",
    "get_internal_representation": "checkpoint.path says where it is",
    "get_preprocessor": "keep a preprocessor in a file of its own in the folder",
    "set_preprocessor": "keep a preprocessor in a file of its own in the folder",
    "from_checkpoint": "Checkpoint(path) takes a folder of any framework",
}


class _OldNames(type):
    """Tells the users of old names what replaced them."""

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(_where_it_went(name) or f"type object {cls.__name__!r} has no attribute {name!r}")


def _where_it_went(name: str) -> str:
    instead = _OLD_NAMES.get(name)
    return f"Checkpoint.{name} is gone, in Ray Train as well: {instead}." if instead else ""


class Checkpoint(metaclass=_OldNames):
    """A folder of files: a local path, a URL that fsspec reads, or a path in a `filesystem` of fsspec or pyarrow.

    Two checkpoints of one path are not equal, as in Ray: compare their `path`.

    >>> checkpoint = Checkpoint.from_directory(os.getcwd())
    >>> with checkpoint.as_directory() as folder:          # the folder itself, without a copy
    ...     files = os.listdir(folder)
    """

    def __init__(self, path: str | os.PathLike[str], filesystem: Any = None) -> None:
        self.path = os.fspath(path)
        self._filesystem = None if is_local(filesystem) else filesystem
        self._is_for_one_report = False  # a temporary folder that nobody else knows of

    @property
    def filesystem(self) -> Any:
        """The given filesystem, else pyarrow's for the path; None if pyarrow has none."""
        return self._filesystem or filesystem_of(self.path)

    @property
    def _is_elsewhere(self) -> bool:
        return self._filesystem is not None or is_remote(self.path)

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """A checkpoint of this folder; nothing is copied."""
        return cls(path)

    def to_directory(self, path: str | os.PathLike[str] | None = None) -> str:
        """Copy the files to `path`, or to a new temporary folder, and return it. Raises FileNotFoundError."""
        fetch = self._fetch()
        target = os.fspath(path) if path is not None else tempfile.mkdtemp(prefix="nbaccel-checkpoint-")
        fetch(target)
        return target

    def _fetch(self) -> Callable[[str], Any]:
        """A function that copies the files into a folder."""
        if not self._is_elsewhere:
            return partial(shutil.copytree, self._folder(), dirs_exist_ok=True)
        filesystem, path = as_fsspec(self._filesystem), self.path
        if filesystem is None:
            filesystem, path = fsspec_for(f"Checkpoint({self.path!r})").core.url_to_fs(self.path)
        if not filesystem.isdir(path):
            raise FileNotFoundError(f"There is no checkpoint at {self.path}.")
        return partial(filesystem.get, f"{path.rstrip('/')}/", recursive=True)

    @contextmanager
    def as_directory(self) -> Iterator[str]:
        """Yield the folder for reading; for a URL, a copy that is deleted afterwards. Raises FileNotFoundError."""
        if not self._is_elsewhere:
            yield self._folder()
            return
        fetch = self._fetch()
        with tempfile.TemporaryDirectory(prefix="nbaccel-checkpoint-") as folder:
            fetch(folder)
            yield folder

    def _folder(self) -> str:
        if not os.path.isdir(self.path):
            raise FileNotFoundError(
                f"The checkpoint {self.path} is no folder (any more). CheckpointConfig(num_to_keep=...) deletes old "
                "checkpoints; a folder of another machine has to be on a disk that both share."
            )
        return self.path

    # ---- facts about it, in a file in the folder

    def get_metadata(self) -> dict[str, Any]:
        """The dict that `set_metadata` stored, or {}."""
        if self._is_elsewhere:
            with self.as_directory() as folder:
                return Checkpoint(folder).get_metadata()
        try:
            found: dict[str, Any] = json.loads((Path(self.path) / METADATA_FILE).read_text())
        except FileNotFoundError:
            return {}
        return found

    def set_metadata(self, metadata: dict[str, Any]) -> None:
        """Store a dict that JSON can represent, in place of the old one."""
        text = json.dumps(metadata)
        part = Path(self._folder()) / f"{METADATA_FILE}.part"
        part.write_text(text)
        part.rename(part.with_name(METADATA_FILE))

    def update_metadata(self, metadata: dict[str, Any]) -> None:
        """Add these entries to the stored ones."""
        self.set_metadata(self.get_metadata() | metadata)

    # ---- ours: one object

    @classmethod
    def save(cls, state: Any, path: str | os.PathLike[str] | None = None) -> Checkpoint:
        """Store one object in a folder. Without `path` it is temporary, and `report` moves it into the run's folder.

        An object that JSON can represent becomes state.json; `torch.save` writes any other object into state.pt. Raises
        TypeError if that needs torch and torch is not installed.
        """
        folder = Path(os.fspath(path) if path is not None else new_folder())
        try:
            _write(state, folder)
        except BaseException as error:
            full_disks.explain(error)
            if path is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        made = cls(folder)
        made._is_for_one_report = path is None
        return made

    def load(self) -> Any:
        """The object that `save` stored; tensors are on the CPU. Only plain containers and tensors are unpickled."""
        with self.as_directory() as given:
            folder = Path(given)
            if (folder / "state.json").exists():
                return json.loads((folder / "state.json").read_text())
            if (folder / "state.pt").exists():
                return _torch().load(folder / "state.pt", map_location="cpu", weights_only=True)
        raise FileNotFoundError(f"{self.path} has no state.json and no state.pt: Checkpoint.save() has not written it.")

    # ---- operations that it does not have

    def __fspath__(self) -> str:
        raise TypeError(
            "A Checkpoint is not a path: write checkpoint.path, or `with checkpoint.as_directory() as folder:`."
        )

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_where_it_went(name) or f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Checkpoint(path={self.path!r})"


def _write(state: Any, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        text = json.dumps(state)
    except (TypeError, ValueError):
        _torch().save(state, folder / "state.pt")
    else:
        (folder / "state.json").write_text(text)


def new_folder() -> str:
    """A temporary folder; inside a run it belongs to the run, which removes what a crash has left."""
    from nbaccel.train import session

    if session.is_there():
        return tempfile.mkdtemp(prefix=".saved-", dir=session.current("Checkpoint.save").run_folder)
    return tempfile.mkdtemp(prefix="nbaccel-checkpoint-")


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise TypeError(
            "Checkpoint.save() keeps what JSON can write, and with torch installed what torch.save() can. Write your "
            "own files into a folder instead: Checkpoint.from_directory(folder)."
        ) from None
    return torch


# ---- URLs of remote storage, and the library that reads them


def is_remote(path: str) -> bool:
    """Whether a path is a URL that fsspec reads, and no path of this machine."""
    return "://" in path and not path.startswith("file://")


def is_local(filesystem: Any) -> bool:
    """Whether a filesystem, of fsspec or of pyarrow, is that of this machine; None is."""
    return filesystem is None or type(filesystem).__name__ == "LocalFileSystem"


def filesystem_of(path: str) -> Any:
    """The filesystem of pyarrow in which a path is, as Ray's results have one; None if pyarrow cannot give it."""
    try:
        from pyarrow import fs
    except ImportError:
        return None
    try:
        return fs.FileSystem.from_uri(path)[0] if is_remote(path) else fs.LocalFileSystem()
    except (ValueError, OSError):
        return None


def as_fsspec(filesystem: Any) -> Any:
    """A filesystem of fsspec, also where pyarrow's was given; None for None."""
    if not type(filesystem).__module__.startswith("pyarrow"):
        return filesystem
    fsspec_for("A filesystem of pyarrow")
    from fsspec.implementations.arrow import ArrowFSWrapper

    return ArrowFSWrapper(filesystem)


def fsspec_for(use: str) -> Any:
    """The library fsspec. Raises ImportError, which names the use and the extra."""
    try:
        import fsspec
    except ImportError:
        raise ImportError(f"{use} needs fsspec: pip install 'nbaccel[train]', or pip install fsspec.") from None
    return fsspec
