"""A cell's text as the body of a task: the notebook's names that it reads travel along, its own names can come back.

```
  notebook                                worker
  Body(text, names that it reads) ──────► cell_run: execute ──► Outcome(names that it assigned, what it showed)
```
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from typing import Any

from nbaccel.notebook.cell_run import Body


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
