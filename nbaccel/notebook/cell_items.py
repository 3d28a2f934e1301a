"""The items of `%%accel --each`: an expression of the notebook's names, or one line that says what is wrong."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Callable, Mapping
from typing import Any

from IPython.core.error import UsageError


def items(expression: str, variables: Mapping[str, Any], evaluate: Callable[[str], Any]) -> list[Any]:
    """All items of the expression's value. An exception of the user's own code is raised unchanged.

    Raises UsageError for an expression that is no Python, for an unknown name, and for a value that has no items.
    """
    _check(expression, variables)
    found = evaluate(expression)
    try:
        each = iter(found)
    except TypeError:
        kind = type(found).__name__
        raise UsageError(
            f"'--each={expression}': a value of type {kind} has no items. Example: --each=range(4)"
        ) from None
    return list(each)


def _check(expression: str, variables: Mapping[str, Any]) -> None:
    try:
        tree = ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise UsageError(
            f"'--each={expression}' is not a Python expression: {error.msg}. Example: --each=items"
        ) from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known = {*variables, *bound}
    for node in names:
        if node.id not in known and not hasattr(builtins, node.id):
            near = difflib.get_close_matches(node.id, [name for name in known if not name.startswith("_")], n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"'--each={expression}': there is no variable '{node.id}' in this notebook.{hint}")
