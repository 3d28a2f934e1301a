"""Checkpoints of ranks that do not see the driver's disk: their files travel to the driver and back as objects.

```
  rank ── probe file ──► the run's folder ◄── the driver looks for it: is it one disk?
     yes: the rank puts its files there by itself                       (storage.py)
     no:  report ── an object with the files ──► driver ──► the run's folder
          the checkpoint to go on from ◄── an object with its files
```
Such a rank has a temporary folder instead, for what it would put into the run's folder. An object may have MOST_BYTES:
it is held in memory, on both machines.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from nbaccel.train import storage

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
    paths = list(storage.files_in(Path(folder)))
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
    """In the driver: put the files of a rank beside those of others. Raises OSError as storage.bring."""
    with tempfile.TemporaryDirectory(prefix=storage.SAVED, dir=run_folder) as folder:
        unpack(files, folder)
        storage.bring(folder, run_folder, report, rank, move=True)
