"""Graphs of calls that are written down first and run later: `bind` instead of `remote`, then `execute`.

>>> with InputNode() as number:
...     graph = double.bind(increment.bind(number))
>>> nbaccel.get(graph.execute(20))
42

Each `execute` makes every call once and starts the graph's actors anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn


class _Run:
    """One execution: its input, and the result of each node."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.done: dict[DAGNode, Any] = {}

    def of(self, value: Any) -> Any:
        """A bound argument with each node in it replaced by its result, also inside lists, tuples and dicts."""
        if isinstance(value, DAGNode):
            if value not in self.done:
                self.done[value] = value._made(self)
            return self.done[value]
        if type(value) in (list, tuple):
            return type(value)(self.of(item) for item in value)
        if type(value) is dict:
            return {key: self.of(item) for key, item in value.items()}
        return value


class DAGNode:
    """A step of a graph."""

    def execute(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph up to here with this input: a ref for a call, a handle for an actor."""
        return _Run(args, kwargs).of(self)

    def experimental_compile(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("Compiled graphs are not supported: execute() runs the same graph call by call.")

    def _made(self, run: _Run) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define how it is executed.")


class _CallNode(DAGNode):
    """A call of something that has `.remote`."""

    def __init__(self, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self._target = target
        self._bound_args = args
        self._bound_kwargs = dict(kwargs)

    def _made(self, run: _Run) -> Any:
        return self._target.remote(*run.of(self._bound_args), **run.of(self._bound_kwargs))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._target!r})"


class FunctionNode(_CallNode):
    """A call of a remote function."""


class ClassNode(_CallNode):
    """An actor of the graph; its methods can be bound like those of a handle."""

    def __getattr__(self, name: str) -> _MethodOfNode:
        if name.startswith("_"):
            raise AttributeError(name)
        return _MethodOfNode(self, name, {})


class _MethodOfNode:
    """`node.method`, to be bound: a method of an actor that each execution makes."""

    def __init__(self, node: ClassNode, name: str, options: Mapping[str, Any]) -> None:
        self._node = node
        self._name = name
        self._options = options

    def options(self, **options: Any) -> _MethodOfNode:
        return _MethodOfNode(self._node, self._name, {**self._options, **options})

    def bind(self, *args: Any, **kwargs: Any) -> ClassMethodNode:
        return ClassMethodNode(self, args, kwargs)

    def of(self, run: _Run) -> Any:
        """The method of the actor that this execution has made."""
        method = getattr(run.of(self._node), self._name)
        return method.options(**self._options) if self._options else method

    def __repr__(self) -> str:
        return f"{self._node!r}.{self._name}"


class ClassMethodNode(_CallNode):
    """A call of a method of an actor that the graph starts, or of an existing actor."""

    def _made(self, run: _Run) -> Any:
        method = self._target.of(run) if isinstance(self._target, _MethodOfNode) else self._target
        return method.remote(*run.of(self._bound_args), **run.of(self._bound_kwargs))


class InputNode(DAGNode):
    """The input of execute(): the node itself if there is one value, `node[0]` or `node.name` if there are several.

    >>> @nbaccel.remote
    ... def double(x): return 2 * x
    >>> with InputNode() as given:
    ...     graph = double.bind(double.bind(given))
    >>> nbaccel.get(graph.execute(3))
    12
    """

    def __enter__(self) -> InputNode:
        return self

    def __exit__(self, *exc: object) -> None:
        """The block only shows what the input is for."""

    def __getitem__(self, key: int | str) -> InputAttributeNode:
        return InputAttributeNode(key)

    def __getattr__(self, name: str) -> InputAttributeNode:
        if name.startswith("_"):
            raise AttributeError(name)
        return InputAttributeNode(name)

    def _made(self, run: _Run) -> Any:
        if len(run.args) != 1 or run.kwargs:
            raise ValueError(
                f"The graph takes one input, but execute() got {len(run.args)} arguments and the keywords "
                f"{sorted(run.kwargs)}: bind input[0] or input.name to choose among several."
            )
        return run.args[0]


class InputAttributeNode(DAGNode):
    """One of several inputs: a positional one by its number, a keyword by its name."""

    def __init__(self, key: int | str) -> None:
        self._key = key

    def _made(self, run: _Run) -> Any:
        if isinstance(self._key, int):
            if self._key >= len(run.args):
                raise ValueError(f"The graph uses input[{self._key}], but execute() got {len(run.args)} arguments.")
            return run.args[self._key]
        if self._key in run.kwargs:
            return run.kwargs[self._key]
        if len(run.args) == 1 and not run.kwargs:  # of one value, its own part
            value = run.args[0]
            return value[self._key] if isinstance(value, Mapping) else getattr(value, self._key)
        raise ValueError(f"The graph uses input.{self._key}, but execute() got the keywords {sorted(run.kwargs)}.")


class MultiOutputNode(DAGNode):
    """Several ends of a graph: execute() returns a list."""

    def __init__(self, nodes: Sequence[DAGNode]) -> None:
        self._nodes = list(nodes)

    def _made(self, run: _Run) -> Any:
        return run.of(self._nodes)


__all__ = [
    "ClassMethodNode", "ClassNode", "DAGNode", "FunctionNode", "InputAttributeNode", "InputNode", "MultiOutputNode",
]  # fmt: skip
