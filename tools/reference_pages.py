"""The reference as Markdown: public names from their docstrings, magics and commands from their own help.

    PACKAGES ─► module ─► public_names ─► function_entry | class_entry ─┐
    options.MAGICS ──────────────────────► magics_page                  ├─► reference/api/*.md
    click ───────────────────────────────► commands_page                ┘

Docstrings here are Markdown, as in a notebook's `?`. Sphinx's autodoc reads reStructuredText, in which `a name` is
emphasis; so the pages are written here, for Sphinx's own directives.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

# What has a page, in this order: the module, and what its page is about.
PACKAGES = {
    "nbaccel": "Tasks, actors, objects, devices",
    "nbaccel.actor": "Actors and their handles",
    "nbaccel.exceptions": "Exceptions",
    "nbaccel.runtime_context": "Where this code runs",
    "nbaccel.runtime_env": "Runtime environments",
    "nbaccel.train": "Training",
    "nbaccel.train.data_parallel_trainer": "A trainer, and the options of all trainers",
    "nbaccel.train.torch": "Training with PyTorch",
    "nbaccel.train.lightning": "Training with Lightning",
    "nbaccel.train.huggingface.transformers": "Training with Transformers",
    "nbaccel.train.collective": "Collective calls of a training function",
    "nbaccel.tune": "Tuning",
    "nbaccel.tune.search": "Search algorithms",
    "nbaccel.tune.search.optuna": "Optuna's search",
    "nbaccel.tune.schedulers": "Schedulers of trials",
    "nbaccel.tune.stopper": "Stoppers",
    "nbaccel.serve": "Serving",
    "nbaccel.serve.handle": "Handles of deployments",
    "nbaccel.serve.exceptions": "Exceptions of serving",
    "nbaccel.serve.schema": "The state of deployments",
    "nbaccel.autoscaler": "Nodes that come and go",
    "nbaccel.autoscaler.sdk": "Asking for room",
    "nbaccel.util": "Placement groups and more",
    "nbaccel.util.placement_group": "Placement groups",
    "nbaccel.util.scheduling_strategies": "Scheduling strategies",
    "nbaccel.util.accelerators": "Names of accelerator types",
    "nbaccel.util.state": "State",
    "nbaccel.util.metrics": "Metrics",
    "nbaccel.util.queue": "Queues",
    "nbaccel.util.actor_pool": "Pools of actors",
    "nbaccel.util.multiprocessing": "multiprocessing.Pool",
    "nbaccel.util.joblib": "joblib",
    "nbaccel.util.dask": "Dask",
    "nbaccel.util.collective": "Collective calls of actors",
    "nbaccel.util.serialization": "Serialisation",
    "nbaccel.util.check_serialize": "Why an object cannot travel",
    "nbaccel.util.tpu": "TPU slices",
    "nbaccel.util.debug": "Debugging",
    "nbaccel.cluster_utils": "Virtual nodes",
    "nbaccel.dag": "Graphs of tasks",
}


def write(folder: Path) -> None:
    """Write every page; a page whose text has not changed stays as it is, so that Sphinx does not read it again."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: package_page(name, title) for name, title in PACKAGES.items()}
    pages |= {"magics": magics_page(), "command-line": commands_page(), "index": index_page()}
    for old in folder.glob("*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def index_page() -> str:
    """The list of packages, with what each is about."""
    rows = [f"| [`{name}`]({name}.md) | {title} |" for name, title in PACKAGES.items()]
    listed = "\n".join(PACKAGES)
    return (
        "# Python names\n\nA name that is not here is private.\n\n| module | about |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )


# ---- Python


def public_names(module: types.ModuleType) -> list[str]:
    """The names of `__all__`, or those that the module itself defines; submodules have pages of their own."""
    if module.__name__ == "nbaccel.exceptions":
        return [name for name, value in vars(module).items() if is_error_of(value, module)]
    listed = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    values = ((name, getattr(module, name)) for name in listed if f"{module.__name__}.{name}" not in PACKAGES)
    return [name for name, value in values if not inspect.ismodule(value) and not isinstance(value, _TYPES_ONLY)]


_TYPES_ONLY = (TypeVar, ParamSpec)


def is_error_of(value: Any, module: types.ModuleType) -> bool:
    """Whether the value is an exception that this module defines."""
    return inspect.isclass(value) and issubclass(value, BaseException) and value.__module__ == module.__name__


def package_page(name: str, title: str) -> str:
    """One module: its docstring, then an entry for each public name."""
    module = importlib.import_module(name)
    entries = (entry(each, getattr(module, each)) for each in public_names(module))
    heading = f"# {name}\n\n```{{py:module}} {name}\n```\n\n{title}.\n\n"
    return heading + "\n\n".join([*_examples(inspect.getdoc(module) or ""), *entries]) + "\n"


def _examples(docstring: str) -> list[str]:
    """The examples of a module's docstring; the rest of it is for those who change the module."""
    blocks = markdown(docstring).split("\n\n")
    return [block for block in blocks if block.startswith("```pycon")]


def entry(name: str, value: Any) -> str:
    """The entry of one public name."""
    if inspect.isclass(value):
        return _class_entry(name, value)
    if callable(value) and hasattr(value, "__name__"):
        return _directive("function", name + _signature(value), markdown(inspect.getdoc(value) or ""))
    return _directive("data", name, f"Its value is `{value!r}`." if isinstance(value, str | int | float) else "")


def _class_entry(name: str, kind: type) -> str:
    members = "\n\n".join(_member_entries(kind))
    options = "exception" if issubclass(kind, BaseException) else "class"
    # Most exceptions are made by nbaccel alone, so what their constructors take is of no use to a reader.
    shown = name if options == "exception" else name + _signature(kind).removesuffix(" -> None")
    own = kind.__dict__.get("__doc__") or inspect.getdoc(kind) or ""
    bases = ", ".join(f"`{base.__name__}`" for base in kind.__bases__ if base is not object)
    origin = f"Also a {bases}.\n\n" if options == "exception" and bases else ""
    return _directive(options, shown, f"{markdown(inspect.cleandoc(own))}\n\n{origin}{members}", depth=4)


def _member_entries(kind: type) -> Iterator[str]:
    """Public methods and properties that nbaccel defines and that say what they do, those of base classes too."""
    seen: set[str] = set()
    for holder in kind.__mro__:
        if not holder.__module__.startswith("nbaccel"):
            continue
        for name, value in vars(holder).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            described = _member_entry(name, value)
            if described:
                yield described


def _member_entry(name: str, value: Any) -> str:
    if isinstance(value, property) and value.__doc__:
        return _directive("property", name, markdown(inspect.cleandoc(value.__doc__)))
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    if not inspect.isfunction(function) or not function.__doc__:
        return ""
    kinds = {classmethod: ":classmethod:\n", staticmethod: ":staticmethod:\n"}
    signature = _signature(function, without_first=not isinstance(value, staticmethod))
    return _directive(
        "method", name + signature, kinds.get(type(value), "") + "\n" + markdown(inspect.cleandoc(function.__doc__))
    )


def _directive(kind: str, heading: str, body: str, *, depth: int = 3) -> str:
    fence = ":" * depth
    return f"{fence}{{py:{kind}}} {heading}\n{body.rstrip()}\n{fence}"


class _Annotation:
    """An annotation as it is written in the source; `inspect` would put quotes around it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _signature(value: Any, *, without_first: bool = False) -> str:
    """The parameters with their types. A default that is no plain value is shown as three dots."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        each.replace(annotation=_plain(each.annotation), default=_default(each.default))
        for each in list(found.parameters.values())[int(without_first) :]
    ]
    return str(found.replace(parameters=parameters, return_annotation=_plain(found.return_annotation)))


def _plain(annotation: Any) -> Any:
    return _Annotation(annotation) if isinstance(annotation, str) else annotation


def _default(value: Any) -> Any:
    shown = value is inspect.Parameter.empty or isinstance(value, str | int | float | tuple | dict | list | None)
    return value if shown else _Annotation("...")


def markdown(docstring: str) -> str:
    """The docstring for a page: examples become blocks of Python, and `<` in prose is a sign and no HTML."""
    blocks = []
    for block in re.split(r"\n[ \t]*\n", docstring.strip("\n")):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
        elif block.startswith("    "):
            blocks.append(f"```text\n{inspect.cleandoc(block)}\n```")
        else:
            blocks.append(_escaped(_listed(block)))
    return "\n\n".join(blocks)


_TERM = re.compile(r"(\*{0,2}\w[\w.,/* ]*?) {2,}(\S.*)")


def _listed(block: str) -> str:
    """A block of lines such as `name  what it is` as a list; other lines go on with the one before."""
    if not _TERM.fullmatch(block.split("\n", 1)[0]):
        return block
    lines = []
    for line in block.split("\n"):
        term = _TERM.fullmatch(line)
        lines.append(f"- `{term[1]}`: {term[2]}" if term else f"  {line.strip()}")
    return "\n".join(lines)


def _escaped(prose: str) -> str:
    parts = re.split(r"(``.*?``|`[^`]*`)", prose, flags=re.DOTALL)
    parts[::2] = [re.sub(r"([<*\[\]{}])", r"\\\1", re.sub(r"(?m)^\* ", "- ", part)) for part in parts[::2]]
    return "".join(parts)


# ---- magics and commands


def magics_page() -> str:
    """Each magic with the text of `%magic?`."""
    from nbaccel.notebook import magics, options

    kinds = (magics.ClusterMagics, magics.TaskMagics, magics.CellMagics, magics.DashboardMagics, magics.GrowingMagics)
    parts = ["# Magics\n\n`%load_ext nbaccel` registers them. `%accel_init?` shows the same text in a notebook."]
    for name in options.MAGICS:
        holder = next(kind for kind in kinds if hasattr(kind, name))
        sign = "%%" if name in options.CELL_MAGICS else "%"
        parts.append(f"## `{sign}{name}`\n\n{markdown(inspect.getdoc(getattr(holder, name)) or '')}")
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Each command with the text of `nbaccel COMMAND --help`."""
    from nbaccel.cli import main
    from nbaccel.command import HELP

    parts = ["# Command line\n\n`nbaccel COMMAND --help` shows the same text."]
    parts += _command_parts(main, click.Context(main, info_name="nbaccel", max_content_width=100, **HELP))
    return "\n\n".join(parts) + "\n"


def _command_parts(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## `{context.command_path}`\n\n```text\n{command.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield from _command_parts(inner, click.Context(inner, parent=context, info_name=name))
