"""Checks of node types: those of `init(node_types={...})`, and those of a machines.toml, also of real machines.

```toml
[types.gpu]                # the type's name everywhere
num_gpus = 1
max = 2
arrives_after_s = 8        # how long a virtual node takes to come
```
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from nbaccel.handles import option_checks as checks

VIRTUAL, SSH, SLURM, KUBERNETES = "virtual", "ssh", "slurm", "kubernetes"  # where nodes come from
ELSEWHERE = (SSH, SLURM, KUBERNETES)
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
SOURCE_OPTIONS: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    SLURM: {"directives": checks.words, "python": checks.nonempty_word},
    SSH: {"hosts": checks.words, "python": checks.nonempty_word, "config": checks.nonempty_word},
}


def node_types(name: str, value: Any) -> dict[str, dict[str, Any]] | None:
    """The virtual node types by name, checked; `value` is a dict of them, or the path of a machines.toml.

    Raises TypeError, ValueError.
    """
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        name, value = f"{name}={os.fspath(value)!r}", _read(os.fspath(value))
    if not isinstance(value, Mapping):
        raise checks.wrong_type(name, value, "a dict of node types, or the path of a machines.toml")
    return {_type_name(name, given): _virtual_type(f"{name}: {given}", options) for given, options in value.items()}


def machine_types(path: str) -> dict[str, dict[str, Any]]:
    """The types of real machines in a machines.toml, checked; each has its source's options under the source's name.

    Raises ValueError, TypeError.
    """
    where = f"node_types={path!r}"
    return {_type_name(where, name): _machine_type(f"{where}: {name}", given) for name, given in _read(path).items()}


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
    return checked


def _virtual_type(where: str, options: Any) -> dict[str, Any]:
    checked = _node_type(where, options)
    if checked.get("from", VIRTUAL) != VIRTUAL:
        raise ValueError(
            f"{where}: from={checked['from']!r} brings machines to a Ray cluster, and the local engine has only this "
            "machine. Its nodes are virtual: leave `from` out to try the program here."
        )
    _bounds(where, checked, DEFAULT_MOST)
    return checked


def _machine_type(where: str, options: Any) -> dict[str, Any]:
    checked = _node_type(where, options)
    source = checked.get("from") or VIRTUAL
    if source == VIRTUAL:
        raise ValueError(
            f"{where}: virtual nodes are the local engine's. For a Ray cluster, say where its machines come from: "
            'from = "slurm" or from = "ssh". To try the program here, leave out --engine=ray.'
        )
    if source == KUBERNETES:
        raise ValueError(
            f"{where}: on Kubernetes its operator KubeRay brings nodes. Type: nbaccel kuberay render NAME "
            "--node-types FILE"
        )
    checked[source] = _source_options(f"{where}.{source}", source, options.get(source))
    _bounds(where, checked, len(checked[SSH]["hosts"]) if source == SSH else DEFAULT_MOST)
    return checked


def _source_options(where: str, source: str, given: Any) -> dict[str, Any]:
    """The options of [types.NAME.slurm] or [types.NAME.ssh]."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{where} takes a table of options, but got {given!r}.")
    known = SOURCE_OPTIONS[source]
    for name in given or {}:
        if name not in known:
            hint = checks.did_you_mean(str(name), known)
            raise ValueError(f"{where} has no option {name!r}.{hint} The options are {', '.join(known)}.")
    try:
        checked = {name: check(name, (given or {}).get(name)) for name, check in known.items()}
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    _check_directives(where, checked.get("directives", ()))
    if source == SSH:
        _check_hosts(where, checked["hosts"])
    return checked


def _check_directives(where: str, directives: tuple[str, ...]) -> None:
    """Each becomes a line of a job's script, so it must not begin another one."""
    for directive in directives:
        if not re.fullmatch(r"-[^\x00-\x1f\x7f]+", directive):
            raise ValueError(
                f"{where}: a directive is an option of sbatch such as '--gres=gpu:1', but got {directive!r}."
            )


def _check_hosts(where: str, hosts: tuple[str, ...]) -> None:
    """ssh takes what begins with a dash for an option, and one option names a program that it runs."""
    if not hosts:
        raise ValueError(f"{where} names no machine. Write: hosts = ['gpu1', 'gpu2'], names that ssh knows.")
    for host in hosts:
        if not re.fullmatch(r"[A-Za-z0-9_\[][A-Za-z0-9_.:%@\[\]-]*", host):
            raise ValueError(f"{where}: {host!r} is no name of a machine. Write it as for ssh: gpu1, or user@gpu1.")
    if len(set(hosts)) < len(hosts):
        raise ValueError(f"{where} names a machine twice: {', '.join(hosts)}. Each machine is one node.")


def _bounds(where: str, checked: dict[str, Any], most: int) -> None:
    least, most = checked.get("min") or 0, checked.get("max") or most
    if least > most:
        raise ValueError(f"{where}: min={least} is more than max={most}.")
