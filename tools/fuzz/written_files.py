"""Files as others may have written them: ours with odd fields, nearly ours, or something else in their place."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tools.fuzz.cases import Cases

NUMBERS = (
    "Infinity",
    "-Infinity",
    "NaN",
    "1e400",
    "1e99",
    "-1",
    "0",
    "1.5",
    "9" * 60,
    "true",
    "null",
    '"1"',
    "[]",
    "{}",
)


def content(cases: Cases, record: dict[str, Any]) -> bytes:
    """The bytes of a file that should hold this record."""
    rng = cases.rng
    choice = rng.randrange(8)
    if choice < 4:
        return _with_odd_fields(cases, record)
    if choice < 6:
        return cases.mutated(json.dumps(record).encode())
    if choice == 6:
        return rng.choice((b"[", b'{"a":', b'{"holders":[')) * rng.choice((10, 1_100, 60_000))
    return rng.choice((b"", b"\0" * 70_000, b"\xff\xfe", b"[]", b"null", b"\n", b"x" * 100_000, rng.randbytes(300)))


def _with_odd_fields(cases: Cases, record: dict[str, Any]) -> bytes:
    """JSON, but for numbers that JSON does not have: others' programs write them all the same."""
    rng = cases.rng
    said = {
        json.dumps(name): rng.choice((rng.choice(NUMBERS), json.dumps(cases.plain_value())))
        if rng.random() < 0.25
        else _said(cases, value)
        for name, value in record.items()
        if rng.random() < 0.95
    }
    return ("{" + ", ".join(f"{name}: {value}" for name, value in said.items()) + "}").encode()


def _said(cases: Cases, value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + ", ".join(_with_odd_fields(cases, one).decode() for one in value) + "]"
    return json.dumps(value)


def place(cases: Cases, path: Path, record: dict[str, Any], victim: Path) -> None:
    """Put a file there, now and then a link to `victim`, a pipe or a directory."""
    rng = cases.rng
    choice = rng.randrange(20)
    if choice == 0:
        path.symlink_to(victim)
    elif choice == 1:
        path.hardlink_to(victim)
    elif choice == 2:
        os.mkfifo(path)
    elif choice == 3:
        path.mkdir()
    else:
        path.write_bytes(content(cases, record))
        path.chmod(rng.choice((0o600, 0o600, 0o644, 0o666)))


def clear(path: Path) -> None:
    """Whatever stands there goes."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
