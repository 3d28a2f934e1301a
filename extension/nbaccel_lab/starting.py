"""Starts a head that notebooks share, with the Python of a kernelspec: `python -m nbaccel start --head`."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from typing import Any

from jupyter_client.kernelspec import NoSuchKernel
from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_async

TIMEOUT_S = 60.0
_PYTHON = re.compile(r"python[\d.]*t?")
_STARTED = re.compile(r"nbaccel head started, pid (\d+)\.")


class CannotStart(Exception):
    """The head was not started; the message is for a person."""


async def start(kernelspecs: Any, name: str, timeout_s: float = TIMEOUT_S) -> int:
    """Start a head; returns its pid. Raises CannotStart."""
    spec = await asyncio.to_thread(_spec, kernelspecs, name)
    spec = await ensure_async(spec)
    command = [_python(spec), "-m", "nbaccel", "start", "--head"]
    environ = {**os.environ, **spec.env, "JUPYTER_RUNTIME_DIR": jupyter_runtime_dir()}
    code, output, errors = await _run(command, environ, timeout_s)
    started = _STARTED.search(output)
    if code == 0 and started is not None:
        return int(started[1])
    if "No module named nbaccel" in errors:
        raise CannotStart(f"The environment of the kernel {spec.display_name} has no nbaccel. Install it there.")
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), f"exit code {code}")
    raise CannotStart(f"The head was not started: {last[:500]}")


def _spec(kernelspecs: Any, name: str) -> Any:
    try:
        return kernelspecs.get_kernel_spec(name)
    except (NoSuchKernel, ValueError, KeyError):
        raise CannotStart("There is no such kernelspec.") from None


def _python(spec: Any) -> str:
    """The Python that the kernelspec's own command begins with. Raises CannotStart."""
    first = spec.argv[0] if spec.argv else ""
    base = os.path.basename(first)
    if spec.language.lower() != "python" or not _PYTHON.fullmatch(base):
        raise CannotStart(
            f"The kernel {spec.display_name} does not begin with a Python, so its environment is unknown."
        )
    if first == base and base in (
        "python",
        f"python{sys.version_info[0]}",
        f"python{sys.version_info[0]}.{sys.version_info[1]}",
    ):
        return sys.executable  # as Jupyter itself reads these names
    found = shutil.which(first)
    if found is None:
        raise CannotStart(f"The Python of the kernel {spec.display_name} is not there.")
    return found


async def _run(command: list[str], environ: dict[str, str], timeout_s: float) -> tuple[int, str, str]:
    """(exit code, stdout, stderr)"""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environ,
            cwd=os.path.expanduser("~"),
            start_new_session=True,
        )
    except OSError as error:
        raise CannotStart(f"The head was not started: {error.strerror}.") from None
    try:
        async with asyncio.timeout(timeout_s):
            output, errors = await process.communicate()
    except TimeoutError:
        raise CannotStart(f"The head has not started within {timeout_s:g} s.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")
