"""Runs user code as a worker does, but in this process, and keeps what the code raised for a debugger."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from typing import Any

from nbaccel import exceptions
from nbaccel.local_engine.worker import worker_setup
from nbaccel.local_engine.worker.execution import Execution, Running, set_variables
from nbaccel.local_engine.worker.worker_setup import expanded

MOST_RAISED = 50  # their frames hold arguments, and the refs of the code that has submitted them


class DebugExecution(Execution):
    """The local engine's `Execution`, with whole tracebacks."""

    is_worker = False

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.may_set_threads = False  # this process is the user's own
        self.raised: dict[bytes, BaseException] = {}  # task -> what it raised

    def learn(self, key: bytes, code: Any) -> None:
        """Store a function or class as the object itself, so that breakpoints in it work."""
        self._loaded[key] = code

    def _let_go_of(self, running: Running, error: BaseException) -> None:
        """Keep the newest errors with their frames, because `%debug` looks at the frames."""
        self.raised[running.task_id] = error
        for oldest in list(self.raised)[:-MOST_RAISED]:
            del self.raised[oldest]

    def surroundings(self, running: Running) -> ExitStack:
        """Set the task's variables, working directory and import path; leaving the stack restores the old ones."""
        environment = running.environment or {}
        asked = (environment.get("env_vars") or {}).items()
        own = {name: expanded(str(value), os.environ) for name, value in asked}
        variables = {**own, **(running.run.environ or {})}
        with ExitStack() as stack:
            stack.callback(set_variables, {name: os.environ.get(name) for name in variables})
            set_variables(variables)
            if environment.get("working_dir"):
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="nbaccel-"))
                _go_to(worker_setup.unpacked(environment["working_dir"], scratch), stack)
            _look_in([os.path.dirname(str(path)) for path in environment.get("py_modules") or []], stack)
            return stack.pop_all()


def set_up(environment: dict[str, Any]) -> None:
    """Call the environment's hook. Raises RuntimeEnvSetupError if this process cannot provide the environment."""
    for field in ("pip", "uv", "conda", "py_executable"):
        if environment.get(field):
            why = f"runtime_env has {field}, but engine='debug' runs everything in this process, as it was started."
            raise exceptions.RuntimeEnvSetupError(why)
    if environment.get("worker_process_setup_hook"):
        worker_setup.call_hook(environment["worker_process_setup_hook"])


def _go_to(path: str, stack: ExitStack) -> None:
    stack.callback(os.chdir, os.getcwd())
    os.chdir(path)
    _look_in([path], stack)


def _look_in(directories: list[str], stack: ExitStack) -> None:
    sys.path[:0] = directories
    stack.callback(_look_no_more_in, directories)


def _look_no_more_in(directories: list[str]) -> None:
    for directory in directories:
        if directory in sys.path:
            sys.path.remove(directory)
