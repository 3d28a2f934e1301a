"""Checks of node types: those of `init(node_types={...})`, and those of a machines.toml.

```toml
[types.gpu]                # the type's name everywhere
num_gpus = 1
max = 2
arrives_after_s = 8        # how long a virtual node takes to come
```
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from nbaccel.handles import option_checks as checks

VIRTUAL, ELSEWHERE = "virtual", ("ssh", "slurm", "kubernetes")  # where nodes come from
DEFAULT_MOST = 1
DEFAULT_IDLE_S = 60.0

NODE_TYPE_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "num_cpus": checks.whole_quantity,
    "num_gpus": checks.whole_quantity,
    "resources": checks.whole_resources,
    "labels": checks.string_dict,
    "memory": checks.size_bytes,
    "accelerator_type": checks.nonempty_word,
    "min": checks.whole_number(0, none=0),
    "max": checks.whole_number(1, none=DEFAULT_MOST),
    "idle_s": checks.seconds,
    "priority": checks.whole_number(0, none=0),
    "from": checks.one_of(VIRTUAL, *ELSEWHERE, none=VIRTUAL),
    "arrives_after_s": checks.seconds,
    "fails": checks.nonempty_word,
}


def node_types(name: str, value: Any) -> dict[str, dict[str, Any]] | None:
    """The node types by name, checked; `value` is a dict of them, or the path of a machines.toml.

    Raises TypeError, ValueError.
    """
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        return _checked(f"{name}={os.fspath(value)!r}", _read(os.fspath(value)))
    if not isinstance(value, Mapping):
        raise checks.wrong_type(name, value, "a dict of node types, or the path of a machines.toml")
    return _checked(name, value)


def _read(path: str) -> Mapping[str, Any]:
    import tomllib  # only for a file

    try:
        with open(path, "rb") as file:
            read = tomllib.load(file)
    except OSError as error:
        raise ValueError(f"The node types cannot be read from {path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error}. A node type begins with a line such as [types.gpu].") from error
    types = read.get("types")
    if not isinstance(types, Mapping) or not types:
        raise ValueError(f"{path} has no node type: each begins with a line such as [types.gpu].")
    return types


def _checked(where: str, types: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {_type_name(where, name): _node_type(f"{where}: {name}", options) for name, options in types.items()}


def _type_name(where: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"{where}: the name of a node type is a string, but got {name!r}.")
    return str.__str__(name)


def _node_type(where: str, options: Any) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise TypeError(f"{where} takes a dict of options such as {{'num_gpus': 1, 'max': 2}}, but got {options!r}.")
    own = {name: value for name, value in options.items() if name not in ELSEWHERE}
    for name in own:
        if name not in NODE_TYPE_OPTIONS:
            hint = checks.did_you_mean(str(name), NODE_TYPE_OPTIONS)
            known = ", ".join(NODE_TYPE_OPTIONS)
            raise ValueError(f"{where}: a node type has no option {name!r}.{hint} The options are {known}.")
    try:
        checked = {name: NODE_TYPE_OPTIONS[name](name, value) for name, value in own.items()}
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    if checked.get("from", VIRTUAL) != VIRTUAL:
        raise ValueError(
            f"{where}: from={checked['from']!r} brings machines to a Ray cluster, and the local engine has only this "
            "machine. Its nodes are virtual: leave `from` out to try the program here."
        )
    least, most = checked.get("min") or 0, checked.get("max") or DEFAULT_MOST
    if least > most:
        raise ValueError(f"{where}: min={least} is more than max={most}.")
    return checked
