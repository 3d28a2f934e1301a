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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
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


class Outcome:
    """The results of a body: `outcome.loss` is the name `loss` that it assigned, `outcome.result` its last value."""

    # Attributes begin with _, as no name that is sent back does: the cell may assign `names`, `shown` or any other.
    __slots__ = ("_lost", "_names", "_shown")

    def __init__(self) -> None:
        self._names: dict[str, Any] = {}
        self._lost: dict[str, str] = {}  # names whose values could not be sent -> why
        self._shown: list[Bundle] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._names:
            return self._names[name]
        if name in self._lost:
            raise AttributeError(f"'{name}' did not come back: {self._lost[name]}")
        known = ", ".join(sorted(self._names)) or "nothing"
        raise AttributeError(f"The cell assigned no '{name}'; it assigned {known}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names]  # for Tab

    def __getstate__(self) -> tuple[dict[str, Any], dict[str, str], list[Bundle]]:
        return self._names, self._lost, self._shown

    def __setstate__(self, state: tuple[dict[str, Any], dict[str, str], list[Bundle]]) -> None:
        self._names, self._lost, self._shown = state

    def __repr__(self) -> str:
        return f"Outcome({', '.join(f'{name}={value!r}' for name, value in self._names.items())})"


def shown(outcome: Outcome) -> list[Bundle]:
    """What the body has shown, in order."""
    return outcome._shown


def lost(outcome: Outcome) -> dict[str, str]:
    """The names that the body assigned and that could not be sent back, with the reasons."""
    return outcome._lost


def accel(body: Body, given: dict[str, Any] | None = None) -> Outcome:
    """Executes the body as IPython would and collects what it shows.

    Its name is what errors call the task: "in accel, on GPU 1".
    """
    outcome = Outcome()
    screen = _Shell() if importlib.util.find_spec("IPython") else _PlainScreen()
    module = types.ModuleType("__main__")
    namespace: dict[str, Any] = vars(module)
    namespace |= {"__builtins__": builtins, "display": screen.display, "get_ipython": screen.get_ipython}
    namespace |= {"exit": sys.exit, "quit": sys.exit, "input": _no_input}
    namespace |= {**body.reads, **(given or {})}
    # Without the lines, a traceback of the body would show line numbers only.
    linecache.cache[body.filename] = (len(body.code), None, body.code.splitlines(keepends=True), body.filename)
    with screen, _found_by_name(module) if screen.is_workers else nullcontext():
        try:
            result = _execute(body, namespace)
        except SystemExit as end:  # it would end the worker, and the cell would run again in another one
            said = f"The cell ended itself with SystemExit({end.code!r}): the rest of it did not run."
            raise RuntimeError(said).with_traceback(end.__traceback__) from None
        screen.show_figures()
        if result is not None:
            screen.show_result(result)
    outcome._shown = screen.shown
    if body.wants is not None:
        left = {name: namespace[name] for name in body.wants if name in namespace}
        if result is not None:
            left.setdefault("result", result)
        outcome._lost = {name: reason for name, value in left.items() if (reason := _why_it_stays(value))}
        outcome._names = {name: value for name, value in left.items() if name not in outcome._lost}
    return outcome


@contextmanager
def _found_by_name(module: types.ModuleType) -> Iterator[None]:
    """While the body runs, `__main__` has what it reads and defines, as in the notebook, and what the worker's has."""
    workers = sys.modules["__main__"]
    module.__getattr__ = lambda name: getattr(workers, name)  # type: ignore[method-assign]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = workers


def _why_it_stays(value: Any) -> str:
    """Why a value cannot be sent; "" if it can. One open file must not cost everything else that the cell made."""
    try:
        _trial().dump(value)
    except Exception as error:  # pickling runs the values' own code, which may raise anything
        return str(error).rstrip(".") or type(error).__name__
    return ""


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, data: Any) -> int:
        return len(data)


def _trial() -> Any:
    """Pickles to nowhere; skips the data of arrays and tensors, and the values that engines send in their own way."""
    try:
        import cloudpickle
    except ImportError:  # a node that has only Ray
        from ray import cloudpickle

    class DryPickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            kind = type(value)
            room = str(kind.__module__).partition(".")[0]
            is_tensor = room == "torch" and kind.__name__ in ("Tensor", "Parameter")
            if room in ("nbaccel", "ray") or is_tensor or _is_plain_array(value):
                return int, ()
            return super().reducer_override(value)

    return DryPickler(_Nowhere())


def _is_plain_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and not value.dtype.hasobject


def _no_input(prompt: object = "") -> str:
    raise EOFError(
        f"A task cannot ask for input ({prompt}). Ask in a cell of its own; this cell can read the variable."
    )


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
        self._places: dict[str, list[int]] = {}  # where an output with this display_id is, to update it
        self.display = display
        # Without a history file: one would mean a thread and a lock in every worker. A shell adds its module to those
        # that are loaded, and by itself that would be another `__main__`, for all later tasks too.
        config = Config({"HistoryManager": {"enabled": False}})
        self._shell = InteractiveShell.instance(config=config, user_module=types.ModuleType("_accel"), user_ns={})
        self.is_workers = (
            self._shell.user_module is not sys.modules["__main__"]
        )  # else the debug engine's kernel has it

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
        for output in outputs:
            bundle = output["data"], output["metadata"] or {}
            id = (output["transient"] or {}).get("display_id")
            places = self._places.setdefault(id, []) if id is not None else []
            if output["update"]:
                for place in places:
                    self.shown[place] = bundle
            else:
                places.append(len(self.shown))
                self.shown.append(bundle)
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

    is_workers = True

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


# ----
# a cell's text as the body of a task: the notebook's names that it reads travel along, its own names can come back
#
# ```
#   notebook                                worker
#   Body(text, names that it reads) ──────► cell_run: execute ──► Outcome(names that it assigned, what it showed)
# ```


class BodySyntaxError(SyntaxError):
    """The body is no valid Python; IPython shows this error as for any cell."""


def prepare(code: str, filename: str, namespace: Mapping[str, Any], *, keep: bool, item: str = "") -> Body:
    """Finds the names of `namespace` that the code reads; with `keep`, the names that it assigns are sent back.

    Raises BodySyntaxError. `item` is a name that the body is given for each run.
    """
    try:
        tree = ast.parse(code, filename)
        # Compile it as well: the parser accepts `return` outside of a function.
        compile(tree, filename, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        raise BodySyntaxError(*error.args) from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load | ast.Del)}
    # "x += 1" reads x as well.
    read |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    sent = (name for name in sorted(read - {item}) if name in namespace and not _is_at_hand(name, namespace[name]))
    reads = {name: namespace[name] for name in sent}
    return Body(code, filename, reads, tuple(sorted(_assigned(tree))) if keep else None)


def _is_at_hand(name: str, value: Any) -> bool:
    """Whether the worker has it: a builtin that the notebook has not replaced, or what IPython puts into notebooks."""
    home = str(getattr(value, "__module__", "")).partition(".")[0]
    own = ("io", "_io") if name == "open" else ("IPython", "ipykernel")  # its open() is made to look like that of io
    is_ipythons = home in own and name in ("display", "exit", "get_ipython", "open", "quit")
    return is_ipythons or (hasattr(builtins, name) and getattr(builtins, name) is value)


def _assigned(tree: ast.Module) -> set[str]:
    """The names that the code assigns; imports are left out, because the notebook can import them itself."""
    found: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            found.add((node.rest if isinstance(node, ast.MatchMapping) else node.name) or "_")
            pending.extend(ast.iter_child_nodes(node))
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            pending.extend(ast.iter_child_nodes(node))
    return {name for name in found if not name.startswith("_")}
