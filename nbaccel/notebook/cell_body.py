"""A cell's text as the body of a task: what it reads is sent along, what it assigns and shows comes back.

```
  notebook                                worker
  Body(text, names that it reads) ──────► run_body: execute ──► Outcome(names that it assigned, what it showed)
```
The text runs as a cell does, in a namespace of its own: nothing that it assigns changes the notebook unless asked for.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Bundle = tuple[dict[str, Any], dict[str, Any]]
"""What IPython displays: data by mime type, and its metadata."""

_OF_THE_SHELL = ("get_ipython", "In", "Out", "exit", "quit", "open")  # a worker has its own


@dataclass(frozen=True, slots=True)
class Body:
    """Code to run elsewhere, with the values that it needs."""

    code: str
    filename: str
    reads: dict[str, Any]
    wants: tuple[str, ...]  # names to send back


@dataclass(slots=True)
class Outcome:
    """What a body left: `outcome.loss` is the name `loss` that it assigned, `outcome.result` its last line's value."""

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


def prepare(code: str, filename: str, namespace: Mapping[str, Any], *, keep: bool, item: str = "") -> Body:
    """Finds what the code reads of the notebook's `namespace`; with `keep`, what it assigns is sent back.

    Raises SyntaxError as Python does. `item` is a name that the body is given for each run.
    """
    tree = ast.parse(code, filename)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load | ast.Del)}
    # "x += 1" and "del x" read a name that only seems to be written.
    read |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    reads = {
        name: namespace[name] for name in sorted(read - {item}) if name in namespace and not hasattr(builtins, name)
    }
    return Body(code, filename, reads, tuple(sorted(_assigned(tree))) if keep else ())


def _assigned(tree: ast.Module) -> set[str]:
    """Names that stand for something new once the code has run; imports are left out, since a notebook can import."""
    found: set[str] = set()
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            pending.extend(ast.iter_child_nodes(node))
    return {name for name in found if not name.startswith("_")}


def run_body(body: Body, given: dict[str, Any] | None = None) -> Outcome:
    """Runs in the worker: executes the body as IPython would and collects what it shows."""
    from IPython.display import display

    shell = _shell()
    outcome = Outcome()
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, "display": display}
    namespace |= {"get_ipython": lambda: shell, **body.reads, **(given or {})}
    # Without its lines, a traceback of the body would be line numbers only.
    linecache.cache[body.filename] = (len(body.code), None, body.code.splitlines(keepends=True), body.filename)
    with _collecting(shell, outcome):
        result = _execute(body, namespace)
        _show_figures()
    if result is not None:
        outcome.shown.append(shell.display_formatter.format(result))
    outcome.names = {name: namespace[name] for name in body.wants if name in namespace}
    if body.wants and result is not None:
        outcome.names.setdefault("result", result)
    return outcome


def _execute(body: Body, namespace: dict[str, Any]) -> Any:
    """Runs all, and gives the value of a last line that is an expression, as a cell shows it."""
    tree = ast.parse(body.code, body.filename)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or body.code.rstrip().endswith(";"):
        exec(compile(tree, body.filename, "exec"), namespace)
        return None
    tree.body.pop()
    exec(compile(tree, body.filename, "exec"), namespace)
    return eval(compile(ast.Expression(last.value), body.filename, "eval"), namespace)


def _shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    # A history file of its own would be a thread and a lock in every worker.
    return InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))


class _collecting:
    """Takes what is displayed meanwhile into an outcome."""

    def __init__(self, shell: Any, outcome: Outcome) -> None:
        self._shell = shell
        self._outcome = outcome

    def __enter__(self) -> None:
        from IPython.core.displaypub import CapturingDisplayPublisher

        self._publisher = self._shell.display_pub
        self._shell.display_pub = CapturingDisplayPublisher()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: object) -> None:
        outputs = self._shell.display_pub.outputs
        self._shell.display_pub = self._publisher
        self._outcome.shown += [(output["data"], output["metadata"]) for output in outputs]


def _show_figures() -> None:
    """Shows the figures that the body drew and did not show, as a notebook does at the end of a cell."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    from IPython.core.pylabtools import print_figure
    from IPython.display import Image, display

    for number in pyplot.get_fignums():
        display(Image(print_figure(pyplot.figure(number))))  # type: ignore[no-untyped-call]
    pyplot.close("all")
