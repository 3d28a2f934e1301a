"""Virtual environments for `runtime_env={"pip": [...]}`: one for each distinct list, kept for later use.

On the local engine the process that becomes the worker creates the environment, so that nothing else waits for pip.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbaccel.exceptions import RuntimeEnvSetupError

TOOLS = ("pip", "uv")
SETUP_TIMEOUT_S = 600
MOST_OUTPUT = 8_000  # characters of a tool's output that an error shows
_READY = "nbaccel-ready"  # the name of the file that marks a finished environment


def directory() -> Path:
    """Where environments are kept between sessions."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.environ.get("NBACCEL_ENVIRONMENTS") or os.path.join(cache, "nbaccel", "environments"))


def spec_of(tool: str, given: Any) -> dict[str, Any]:
    """Turn a tool's three forms (list, requirements file, dict) into the dict, with absolute paths and file states.

    Raises ValueError for a requirements file that cannot be read.
    """
    spec = dict(given) if isinstance(given, Mapping) else {"packages": given}
    packages = spec.get("packages") or []
    if isinstance(packages, str):
        packages = _requirements(tool, packages)
    spec["packages"] = [os.path.abspath(each) if os.path.exists(each) else each for each in packages]
    spec["built"] = [state for each in spec["packages"] if (state := _state_of(each))]
    return spec


def _requirements(tool: str, path: str) -> list[str]:
    try:
        lines = Path(path).expanduser().read_text().splitlines()
    except OSError as error:
        raise ValueError(f"runtime_env[{tool!r}] names the file {path!r}, which cannot be read: {error}.") from None
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def python_for(environment: dict[str, Any]) -> str:
    """The interpreter of an environment ("" for the current one). Creates the environment if it does not exist.

    Raises RuntimeEnvSetupError, with the tool's output.
    """
    if environment.get("conda"):
        raise RuntimeEnvSetupError(
            "runtime_env has conda, which the local engine does not offer: use pip or uv, or py_executable with the "
            "path of the conda environment's python."
        )
    for tool in TOOLS:
        if environment.get(tool):
            timeout_s = (environment.get("config") or {}).get("setup_timeout_seconds", SETUP_TIMEOUT_S)
            return _made(tool, environment[tool], None if timeout_s == -1 else timeout_s)
    return ""


def command_for(environment: dict[str, Any]) -> list[str]:
    """The command line that starts a worker of this environment; [] for the current interpreter.

    `py_executable` is a command line, as in Ray: "python3.12 -u". Raises RuntimeEnvSetupError.
    """
    words = shlex.split(environment.get("py_executable") or "")
    made = python_for(environment)
    if made or not words:
        return [made] if made else []
    program = shutil.which(words[0])
    if program is None:
        raise RuntimeEnvSetupError(
            f"runtime_env has py_executable={environment['py_executable']!r}, but {words[0]!r} is not a program on "
            "this machine: give its full path, or the name of one that is found in PATH."
        )
    return [program, *words[1:]]


def is_made(tool: str, spec: dict[str, Any]) -> bool:
    """Whether the environment exists already."""
    return (_place(tool, spec) / _READY).exists()


def _place(tool: str, spec: dict[str, Any]) -> Path:
    key = json.dumps([tool, spec, sys.version, sys.prefix], sort_keys=True)
    return directory() / hashlib.blake2b(key.encode(), digest_size=12).hexdigest()


def _state_of(package: str) -> list[int]:
    """The state of a local wheel or archive, which tells it from a later file of the same name."""
    try:
        found = os.stat(package)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def _made(tool: str, spec: dict[str, Any], timeout_s: float | None) -> str:
    place = _place(tool, spec)
    python = place / "bin" / "python"
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:  # processes that want the same environment wait for the first
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / _READY).exists():
            shutil.rmtree(place, ignore_errors=True)
            try:
                _make(place, python, tool, spec, timeout_s)
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            (place / _READY).touch()
    return str(python)


def _make(place: Path, python: Path, tool: str, spec: dict[str, Any], timeout_s: float | None) -> None:
    has_pip = importlib.util.find_spec("pip") is not None
    without = ["--without-pip"] if tool == "uv" or has_pip else []
    _run([sys.executable, "-m", "venv", *without, str(place)], "making a virtual environment", timeout_s)
    _let_see_ours(place)
    packages, options = (
        spec.get("packages") or [],
        spec.get(f"{tool}_install_options") or spec.get("pip_install_options"),
    )
    if tool == "uv":
        command = [_uv(), "pip", "install", "--python", str(python)]
    elif without:
        command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--disable-pip-version-check"]
    else:
        command = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    words = f"{tool} install of {', '.join(packages)}"
    if packages:
        _run([*command, *(options or []), *packages], words, timeout_s)
    if spec.get(f"{tool}_check"):
        _run([*command[: command.index("install")], "check"], f"{tool} check", timeout_s)


def _uv() -> str:
    found = shutil.which("uv", path=f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise RuntimeEnvSetupError(
            "runtime_env uses uv, which is not installed: run `pip install uv`, or use pip instead."
        )
    return found


def _let_see_ours(place: Path) -> None:
    """Let the environment also see the packages of this interpreter, after its own."""
    purelib = Path(sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)}))
    ours = [
        path for path in dict.fromkeys([*site.getsitepackages(), sysconfig.get_path("purelib")]) if os.path.isdir(path)
    ]
    (purelib / "nbaccel-outer.pth").write_text("".join(f"{path}\n" for path in ours))


def _run(command: list[str], words: str, timeout_s: float | None) -> None:
    plain = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            command, env=plain, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=timeout_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RuntimeEnvSetupError(
            f"Failed to set up runtime environment: {words} took more than {timeout_s} s."
        ) from None
    except OSError as error:
        raise RuntimeEnvSetupError(f"Failed to set up runtime environment: {words} could not run: {error}") from error
    if done.returncode:
        output = done.stdout.decode(errors="replace")[-MOST_OUTPUT:]
        raise RuntimeEnvSetupError(
            f"Failed to set up runtime environment: {words} ended with code {done.returncode}:\n{output}"
        )
