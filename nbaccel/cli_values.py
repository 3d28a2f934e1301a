"""Checks of what options of the command `nbaccel` are given; each says what is wrong in the words of a shell."""

from __future__ import annotations

import math
import os
from importlib.machinery import PathFinder
from importlib.util import find_spec

import click

from nbaccel.handles import option_checks as checks

SHORTEST_S, LONGEST_S = 0.2, 86_400.0


def text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Text with something in it: an empty value is mostly a shell's variable that was never set."""
    if value is None:
        return None
    if not value.strip():
        raise click.BadParameter("it is empty. Leave it out, or give it a value (is a variable of the shell not set?).")
    if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
        raise click.BadParameter(f"{value!r} has bytes that are no text.")
    return value


def no_name(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Refuse the name of a head, which people look for."""
    if value is not None:
        raise click.UsageError(
            "A head gets its name by itself: `nbaccel status` shows it, and `nbaccel stop NAME` takes it. "
            "Leave --name out."
        )


def modules(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names of modules, with commas between. None is imported here: the first part of each is looked for."""
    given = text(ctx, param, value)
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    for name in names:
        top = name.partition(".")[0]
        try:
            found = find_spec(top) or PathFinder.find_spec(top, [os.getcwd()])
        except (ImportError, ValueError):
            found = None
        if not found:
            raise click.BadParameter(f"there is no module {top!r} here. Is it installed in the environment of nbaccel?")
    return names or None


def seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """A number of seconds, up to a day."""
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not SHORTEST_S <= number <= LONGEST_S:
        raise click.BadParameter(f"{value!r} is no number of seconds from {SHORTEST_S:g} to {LONGEST_S:g}.")
    return number


def size_bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of bytes, or a size such as "10GiB"."""
    if value is not None and value.strip().startswith("-"):
        raise click.BadParameter(f"{value!r} is negative.")
    try:
        return checks.size_bytes(str(param.name), value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
