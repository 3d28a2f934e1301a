"""Runs a cell's body in a worker as a cell runs, in its own namespace, and collects what the body shows.

This module travels alone to nodes that may have neither nbaccel nor IPython, so it imports the standard library only.
On a node with IPython it shows values as IPython does.
"""

from __future__ import annotations

import ast
import asyncio
import base64
import builtins
import importlib.util
import inspect
import io
import linecache
import sys
import types
from dataclasses import dataclass, field
from typing import Any

Bundle = tuple[dict[str, Any], dict[str, Any]]
"""What IPython displays: data by mime type, and its metadata."""

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

_SHOWN_BY = {
    "text/html": "_repr_html_",
    "text/markdown": "_repr_markdown_",
    "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}


@dataclass(frozen=True, slots=True)
class Body:
    """Code to run elsewhere, with the values that it needs."""

    code: str
    filename: str
    reads: dict[str, Any]
    wants: tuple[str, ...] | None  # names to send back with the last line's value; None: send nothing back


@dataclass(slots=True)
class Outcome:
    """The results of a body: `outcome.loss` is the name `loss` that it assigned, `outcome.result` its last value."""

    names: dict[str, Any] = field(default_factory=dict)
    shown: list[Bundle] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        names = object.__getattribute__(self, "names")
        if name in names:
            return names[name]
        raise AttributeError(f"The cell assigned no '{name}'; it assigned {', '.join(sorted(names)) or 'nothing'}.")

    def __getstate__(self) -> tuple[Any, ...]:
        return self.names, self.shown

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.names, self.shown = state

    def __repr__(self) -> str:
        return f"Outcome({', '.join(f'{name}={value!r}' for name, value in self.names.items())})"


def accel(body: Body, given: dict[str, Any] | None = None) -> Outcome:
    """Executes the body as IPython would and collects what it shows.

    Its name is what errors call the task: "in accel, on GPU 1".
    """
    outcome = Outcome()
    screen = _Shell() if importlib.util.find_spec("IPython") else _PlainScreen()
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, "display": screen.display}
    namespace |= {"get_ipython": screen.get_ipython, **body.reads, **(given or {})}
    # Without the lines, a traceback of the body would show line numbers only.
    linecache.cache[body.filename] = (len(body.code), None, body.code.splitlines(keepends=True), body.filename)
    with screen:
        result = _execute(body, namespace)
        screen.show_figures()
        if result is not None:
            screen.show_result(result)
    outcome.shown = screen.shown
    if body.wants is not None:
        outcome.names = {name: namespace[name] for name in body.wants if name in namespace}
        if result is not None:
            outcome.names.setdefault("result", result)
    return outcome


def _execute(body: Body, namespace: dict[str, Any]) -> Any:
    """Runs the body; returns the value of its last line if that is an expression, as a cell shows it."""
    tree = ast.parse(body.code, body.filename)
    last = tree.body[-1] if tree.body else None
    shows = isinstance(last, ast.Expr) and not body.code.rstrip().endswith(";")
    if shows:
        tree.body.pop()
    runner = asyncio.Runner()  # one loop for everything that the body awaits; it is made at the first await
    try:
        _run(compile(tree, body.filename, "exec", _FLAGS, dont_inherit=True), namespace, runner)
        if not shows:
            return None
        assert isinstance(last, ast.Expr)
        expression = ast.Expression(last.value)
        return _run(compile(expression, body.filename, "eval", _FLAGS, dont_inherit=True), namespace, runner)
    finally:
        runner.close()


def _run(code: types.CodeType, namespace: dict[str, Any], runner: asyncio.Runner) -> Any:
    """Runs the code; code that awaits runs in the runner's event loop, as in a notebook."""
    if code.co_flags & inspect.CO_COROUTINE:
        return runner.run(_awaited(eval(code, namespace)))
    return eval(code, namespace)


async def _awaited(coroutine: Any) -> Any:
    return await coroutine


class _Shell:
    """IPython's own shell; `shown` collects what it displays."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from IPython.display import display
        from traitlets.config import Config

        self.shown: list[Bundle] = []
        self.display = display
        # Without a history file: one would mean a thread and a lock in every worker.
        self._shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))

    def get_ipython(self) -> Any:
        return self._shell

    def __enter__(self) -> None:
        from IPython.core.displaypub import CapturingDisplayPublisher

        self._publisher = self._shell.display_pub
        self._shell.display_pub = CapturingDisplayPublisher()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: object) -> None:
        self._take()
        self._shell.display_pub = self._publisher

    def _take(self) -> None:
        outputs: list[dict[str, Any]] = self._shell.display_pub.outputs  # type: ignore[attr-defined]
        self.shown += [(output["data"], output["metadata"]) for output in outputs]
        outputs.clear()

    def show_result(self, value: Any) -> None:
        self._take()
        assert self._shell.display_formatter is not None
        self.shown.append(self._shell.display_formatter.format(value))  # type: ignore[no-untyped-call]

    def show_figures(self) -> None:
        """Shows the figures that the body drew but did not show, as a notebook does at the end of a cell."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        from IPython.core.pylabtools import print_figure
        from IPython.display import Image

        for number in pyplot.get_fignums():
            self.display(Image(print_figure(pyplot.figure(number))))  # type: ignore[no-untyped-call]
        pyplot.close("all")


class _PlainScreen:
    """The screen without IPython: values show their own `_repr_html_` and similar forms."""

    def __init__(self) -> None:
        self.shown: list[Bundle] = []

    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...

    def get_ipython(self) -> Any:
        raise RuntimeError(
            "This node has no IPython, which magics and shell commands in the body need. Install ipython there, or "
            "write them in Python: subprocess.run(...) for !command."
        )

    def display(self, *values: Any, **options: Any) -> None:
        """Replaces IPython's function of this name."""
        self.shown += [_bundle(value) for value in values]

    show_result = display

    def show_figures(self) -> None:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            drawn = io.BytesIO()
            pyplot.figure(number).savefig(drawn, format="png", bbox_inches="tight")
            png = base64.b64encode(drawn.getvalue()).decode()
            self.shown.append(({"image/png": png, "text/plain": f"Figure {number}"}, {}))
        pyplot.close("all")


def _bundle(value: Any) -> Bundle:
    """A value in all of its display forms, by MIME type."""
    data: dict[str, Any] = {"text/plain": repr(value)}
    for mime, name in _SHOWN_BY.items():
        if not isinstance(value, type) and callable(getattr(type(value), name, None)):
            made = getattr(value, name)()
            if made is not None:
                data[mime] = base64.b64encode(made).decode() if isinstance(made, bytes) else made
    return data, {}
