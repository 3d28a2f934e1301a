"""What an address of `init()` means: which engine it names, which nbaccel head, and where to find a Ray cluster.

```
  None, "local"        a new cluster of this process, on this machine
  "auto"               a shared nbaccel head, else the Ray of RAY_ADDRESS, else the Ray that `ray start` wrote down
  a name, or a path    an nbaccel head: its session, socket or directory
  "host:6379", "ray://host:10001"    a Ray cluster
```
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from nbaccel import plain_files
from nbaccel.handles.options import InitOptions
from nbaccel.views import sessions

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST_NOTE_BYTES = 4096


def is_own(address: str | None) -> bool:
    """Whether this address starts a cluster instead of joining one."""
    return address in (None, "local")


def engine_of(options: InitOptions) -> str:
    """The name of the engine that `init()` starts or joins. Raises ConnectionError where "auto" finds nothing."""
    name = _engine_of(options)
    if options.token_file and (name != "ray" or is_own(options.address)):
        raise ValueError(
            f"token_file={options.token_file!r} is shown to a Ray cluster that runs already: give its address as well, "
            "for example address='host:6379' or address='ray://host:10001'."
        )
    return name


def _engine_of(options: InitOptions) -> str:
    if options.engine is not None:
        return options.engine
    address = options.address
    if address is None or is_own(address):
        return "local"
    if address == "auto":
        return _found_by_auto()
    return "ray" if address.startswith("ray://") or _is_host_and_port(address) else "local"


def _is_host_and_port(address: str) -> bool:
    host, colon, port = address.rpartition(":")
    return bool(host and colon and port.isdigit() and "/" not in host)


def _found_by_auto() -> str:
    """A live nbaccel head, else the Ray that RAY_ADDRESS names; the choice is printed."""
    records = _shared_heads()
    if records:
        _say(f'nbaccel: address="auto" joins the head of pid {records[0].pid} ({records[0].title}).')
        return "local"
    ray_address, where = find_ray()
    if ray_address:
        _say(f'nbaccel: address="auto" joins the {where}.')
        return "ray"
    raise ConnectionError(
        f'address="auto": nothing to join. Looked for a shared nbaccel head in {sessions.directory()} (start one with '
        "`nbaccel start --head`), for RAY_ADDRESS in the environment, which is not set, and for "
        f"{note_of_ray()}, which `ray start` writes. Call init() without an address for a head of your own."
    )


# ---- our heads


def head_named(address: str) -> sessions.SessionRecord:
    """The head that an address names: "auto", a session's name, or the path of a socket or session file.

    Raises ConnectionError.
    """
    shared = _shared_heads() if address == "auto" else []
    if shared:
        return shared[0]
    for record in sessions.find():
        if address in (record.session, record.socket, record.directory):
            return record
    raise ConnectionError(
        f"address={address!r}: no nbaccel head found. Looked for session files in {sessions.directory()}. Start "
        "one with "
        "`nbaccel start --head`, or call init() without an address for a head of your own."
    )


def _shared_heads() -> list[sessions.SessionRecord]:
    return [record for record in sessions.find() if record.shared]


# ---- Ray


def find_ray() -> tuple[str, str]:
    """The address of a Ray that should run here, and the source that names it; both are empty if no source does."""
    named = os.environ.get("RAY_ADDRESS")
    if named and named != "auto":
        return named, f"Ray cluster of RAY_ADDRESS={named}"
    try:
        noted = plain_files.read(note_of_ray(), _LONGEST_NOTE_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        noted = ""
    if noted and noted != "auto":
        return noted, f"Ray that `ray start` has noted in {note_of_ray()}"
    return "", ""


def note_of_ray() -> Path:
    """The file in which `ray start` writes the address of the cluster that it started."""
    from pathlib import Path

    return Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")


def _say(text: str) -> None:
    """Tell the user, in the notebook or terminal."""
    sys.stdout.write(text + "\n")
