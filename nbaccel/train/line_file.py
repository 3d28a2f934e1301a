"""An append-only file of JSON lines; a line that a crash has cut is ignored, and removed by the next writer."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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
