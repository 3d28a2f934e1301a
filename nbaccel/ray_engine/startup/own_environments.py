"""Installs the packages that tasks request, for a Ray that nbaccel started, as the local engine does.

Ray's own tool needs `virtualenv`, and where Ray runs in a virtual environment it copies all of that for each list and
session: 42 s for one small wheel where JupyterLab and torch are installed, instead of 2 s once. It is left to clusters
that we join, whose nodes do not see our files.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from nbaccel import engine as engines
from nbaccel import exceptions, package_environments, surroundings
from nbaccel.ray_engine.border.rays import Environment
from nbaccel.views import sinks

_HERE = "NBACCEL_RAY_OF_THIS_MACHINE"
_LOG_LEVELS = "NBACCEL_LOG_LEVELS"  # as nbaccel_in_ray.printing calls it


@contextmanager
def told_to_workers() -> Iterator[None]:
    """Inside of it a Ray is started whose processes know that its only node is this machine, and how to log."""
    before = dict(os.environ)
    variables = {_HERE: "1", _LOG_LEVELS: json.dumps(surroundings.log_levels())}
    forced = before.keys() - surroundings.without_forced_colour().keys()
    os.environ.update(variables)
    for name in forced:
        del os.environ[name]
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update({name: before[name] for name in forced})


def is_worker_of_one() -> bool:
    """Whether this process belongs to such a Ray."""
    return _HERE in os.environ


def or_error(environment: Environment) -> Environment:
    """The environment with its packages installed, or one in which every task raises why they could not be."""
    try:
        return installed(environment)
    except exceptions.RuntimeEnvSetupError as error:
        fail = importlib.import_module("nbaccel_in_ray.setup_hooks").fail
        sentence = str(error).removeprefix("Failed to set up runtime environment: ")  # Ray's class says that itself
        return {**_without_tools(environment), "worker_process_setup_hook": partial(fail, sentence)}


def installed(environment: Environment) -> Environment:
    """The environment with an interpreter that sees its packages, in the place of their list.

    Raises RuntimeEnvSetupError with the tool's output, ValueError for a requirements file that cannot be read.
    """
    tool = next((name for name in package_environments.TOOLS if environment.get(name)), None)
    if tool is None:
        return environment
    spec = package_environments.spec_of(tool, environment[tool])
    with _line_under_the_cell(tool, spec):
        python = package_environments.python_for({tool: spec, "config": environment.get("config")})
    return {**_without_tools(environment), "py_executable": shlex.quote(python)}


def _without_tools(environment: Environment) -> Environment:
    return {name: value for name, value in environment.items() if name not in package_environments.TOOLS}


@contextmanager
def _line_under_the_cell(tool: str, spec: Environment) -> Iterator[None]:
    """What the cell waits for, while it does."""
    if package_environments.is_made(tool, spec):
        yield
        return
    parent = engines.cell_source()[1] if engines.cell_source is not None else b""
    words = f"{tool} installs {', '.join(spec['packages'])} for this runtime_env; it is kept for the next time."
    line = b"installing"
    sinks.installed.notice(sinks.Notice("waiting", words, parent, line))
    try:
        yield
    finally:
        sinks.installed.notice(sinks.Notice("waiting", "", parent, line))
