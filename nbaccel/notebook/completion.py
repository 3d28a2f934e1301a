"""Tab after one of our magics: its keys, and after `=` their values. It asks no process, so it costs microseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell

from nbaccel import api
from nbaccel.handles.placement_group_handle import PlacementGroup
from nbaccel.notebook import views
from nbaccel.notebook.arguments import Option
from nbaccel.notebook.options import MAGICS, WORDS
from nbaccel.notebook.task_names import TASKS
from nbaccel.views import tables, wording


def install(ipython: InteractiveShell) -> None:
    """Adds our matcher to IPython's completer, once."""
    matchers = ipython.Completer.custom_matchers
    if magic_options not in matchers:
        matchers.append(magic_options)


@context_matcher()  # type: ignore[untyped-decorator]
def magic_options(context: CompletionContext) -> SimpleMatcherResult:
    """Completes `%accel_… key=value`; returns nothing on every other line."""
    line = context.text_until_cursor.split("\n")[-1]
    magic, _, typed = line.lstrip().partition(" ")
    options = MAGICS.get(magic.lstrip("%"))
    if options is None or not magic.startswith("%") or not (typed or line.endswith(" ")):
        return SimpleMatcherResult(completions=[], suppress=False)
    *before, current = typed.split(" ")
    given = {piece.lstrip("-").partition("=")[0].replace("-", "_") for piece in before}
    fragment, words = _candidates(current, before, [option for option in options if option.name not in given], options)
    if fragment == current and magic.lstrip("%") in WORDS and not current.startswith("-"):
        words += _starting(current, _tasks(magic.lstrip("%")))
    return SimpleMatcherResult(
        completions=[SimpleCompletion(text=word, type="param") for word in words],
        matched_fragment=fragment,
        # Without this, Jedi and the notebook's variables fill the list with names that the magic does not accept.
        suppress=True,
    )


def _candidates(
    current: str, before: list[str], free: list[Option], options: Iterable[Option]
) -> tuple[str, list[str]]:
    """The part of the text to complete, and its possible completions."""
    table = {option.name: option for option in options}
    key, equals, value = current.partition("=")
    if equals:
        return value, _starting(value, _choices(table.get(_name(key))))
    previous = (
        table.get(_name(before[-1])) if before and before[-1].startswith("--") and "=" not in before[-1] else None
    )
    if previous is not None and not previous.is_switch:
        return current, _starting(current, _choices(previous))
    style: Callable[[Option], str] = _dashed if current.startswith("-") else _keyword
    return current, _starting(current, [style(option) for option in free])


def _tasks(magic: str) -> list[str]:
    """The ids in the last snapshot that was shown, and the notebook's variables that hold what the magic takes."""
    snapshot = views.last_seen() if api.is_initialized() else None
    rows = snapshot.tasks if snapshot is not None else []
    over = tables.ENDED if magic == "accel_cancel" else ()
    if snapshot is not None and magic == "accel_cancel":
        rows = [row for row in rows if not tables.owner(snapshot, row.job)]
    kinds = (*TASKS, PlacementGroup) if magic == "accel_why" else TASKS
    return [wording.short_id(row.task_id) for row in rows if row.state not in over] + [
        name for name, value in _variables().items() if isinstance(value, kinds)
    ]


def _variables() -> dict[str, Any]:
    """The notebook's own variables, without those of IPython."""
    shell = get_ipython()
    if shell is None:
        return {}
    named = dict(shell.user_ns)
    return {name: named[name] for name in named if not name.startswith("_") and name not in shell.user_ns_hidden}


def _choices(option: Option | None) -> Iterable[str]:
    if option is not None and option.name == "each":  # any expression; usually a variable
        return [name for name, value in _variables().items() if hasattr(type(value), "__iter__")]
    return option.choices if option else ()


def _starting(typed: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(typed)]


def _name(key: str) -> str:
    return key.lstrip("-").replace("-", "_")


def _dashed(option: Option) -> str:
    return f"{'-' if len(option.name) == 1 else '--'}{option.name.replace('_', '-')}"


def _keyword(option: Option) -> str:
    return _dashed(option) if option.choices == ("true",) or len(option.name) == 1 else f"{option.name}="
