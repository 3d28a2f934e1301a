"""Which engine an address of `init()` means: a path or name is a head of ours, host:port and ray:// are Ray's."""

from __future__ import annotations

import os
import sys

from nbaccel.handles.options import InitOptions
from nbaccel.views import sessions


def engine_of(options: InitOptions) -> str:
    """The name of the engine that `init()` starts or joins. Raises ConnectionError where "auto" finds nothing."""
    if options.engine is not None:
        return options.engine
    address = options.address
    if address in (None, "local"):
        return "local"
    if address == "auto":
        return _found_by_auto()
    is_rays = address is not None and (address.startswith("ray://") or _is_host_and_port(address))
    return "ray" if is_rays else "local"


def _is_host_and_port(address: str) -> bool:
    host, colon, port = address.rpartition(":")
    return bool(host and colon and port.isdigit() and "/" not in host)


def _found_by_auto() -> str:
    """A live nbaccel head, else the Ray that RAY_ADDRESS names; the choice is printed."""
    records = [record for record in sessions.find() if record.shared]
    if records:
        _say(f'nbaccel: address="auto" joins the head of pid {records[0].pid} ({records[0].title}).')
        return "local"
    ray_address = os.environ.get("RAY_ADDRESS")
    if ray_address:
        _say(f'nbaccel: address="auto" joins the Ray cluster of RAY_ADDRESS={ray_address}.')
        return "ray"
    note = os.path.join(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
    if os.path.exists(note):
        _say(f'nbaccel: address="auto" joins the Ray that `ray start` has noted in {note}.')
        return "ray"
    raise ConnectionError(
        f'address="auto": nothing to join. Looked for a shared nbaccel head in {sessions.directory()} (start one with '
        "`nbaccel start --head`), for RAY_ADDRESS in the environment, which is not set, and for "
        f"{note}, which `ray start` writes. Call init() without an address for a head of your own."
    )


def _say(text: str) -> None:
    """Tell the user, in the notebook or terminal."""
    sys.stdout.write(text + "\n")
