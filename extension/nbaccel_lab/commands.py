"""Commands of nbaccel with the Python of a kernelspec, `python -m nbaccel …`: they start a head, and list and delete
stored runs, and write notes on them.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from jupyter_client.kernelspec import NoSuchKernel
from jupyter_core.paths import jupyter_runtime_dir
from jupyter_core.utils import ensure_async

TIMEOUT_S = 60.0
_PYTHON = re.compile(r"python[\d.]*t?")
_STARTED = re.compile(r"nbaccel head started, pid (\d+)\.")


class CommandFailed(Exception):
    """The command was not carried out; the message is for a person."""


async def start(kernelspecs: Any, name: str, timeout_s: float = TIMEOUT_S) -> int:
    """Start a head; returns its pid. Raises CommandFailed."""
    failed = "The head was not started"
    started = _STARTED.search(await _command(kernelspecs, name, ["start", "--head"], failed, timeout_s))
    if started is None:
        raise CommandFailed(f"{failed}: the command did not say its pid.")
    return int(started[1])


async def stored_runs(
    kernelspecs: Any, name: str, only: Sequence[str] = (), experiment: str = ""
) -> list[dict[str, Any]]:
    """The runs of the storage folder, the newest first; those in the folders `only`, with curves; or the trials of
    an experiment, the best first.

    Raises CommandFailed.
    """
    failed = "The stored runs were not read"
    given = [
        "runs",
        "--json",
        *(f"--curves={each}" for each in only),
        *([f"--trials={experiment}"] if experiment else []),
    ]
    text = await _command(kernelspecs, name, given, failed, TIMEOUT_S)
    try:
        found: list[dict[str, Any]] = json.loads(text)
    except ValueError:
        raise CommandFailed(f"{failed}: the answer of nbaccel is no JSON.") from None
    return found


async def delete_run(kernelspecs: Any, name: str, run: str) -> None:
    """Delete a stored run. Raises CommandFailed."""
    await _command(kernelspecs, name, ["runs", f"--delete={run}", "--yes"], "The run was not deleted", TIMEOUT_S)


async def note_run(kernelspecs: Any, name: str, run: str, text: str) -> None:
    """Keep a text about a stored run; "" removes it. Raises CommandFailed."""
    await _command(kernelspecs, name, ["runs", "--note", run, text], "The note was not saved", TIMEOUT_S)


async def _command(kernelspecs: Any, name: str, given: list[str], failed: str, timeout_s: float) -> str:
    """What a command prints. Raises CommandFailed, which begins with `failed`."""
    spec = await asyncio.to_thread(_spec, kernelspecs, name)
    spec = await ensure_async(spec)
    environ = {**os.environ, **spec.env, "JUPYTER_RUNTIME_DIR": jupyter_runtime_dir()}
    code, output, errors = await _run([_python(spec), "-m", "nbaccel", *given], environ, failed, timeout_s)
    if code == 0:
        return output
    if "No module named nbaccel" in errors:
        raise CommandFailed(f"The environment of the kernel {spec.display_name} has no nbaccel. Install it there.")
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), f"exit code {code}")
    raise CommandFailed(f"{failed}: {last.removeprefix('Error: ')[:500]}")


def _spec(kernelspecs: Any, name: str) -> Any:
    try:
        return kernelspecs.get_kernel_spec(name)
    except (NoSuchKernel, ValueError, KeyError):
        raise CommandFailed("There is no such kernelspec.") from None


def _python(spec: Any) -> str:
    """The Python that the kernelspec's own command begins with. Raises CommandFailed."""
    first = spec.argv[0] if spec.argv else ""
    base = os.path.basename(first)
    if spec.language.lower() != "python" or not _PYTHON.fullmatch(base):
        raise CommandFailed(
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
        raise CommandFailed(f"The Python of the kernel {spec.display_name} is not there.")
    return found


async def _run(command: list[str], environ: dict[str, str], failed: str, timeout_s: float) -> tuple[int, str, str]:
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
        raise CommandFailed(f"{failed}: {error.strerror}.") from None
    except ValueError:
        raise CommandFailed(f"{failed}: a command takes no NUL and no half of a character.") from None
    try:
        async with asyncio.timeout(timeout_s):
            output, errors = await process.communicate()
    except TimeoutError:
        raise CommandFailed(f"{failed} within {timeout_s:g} s.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    return process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace")
