"""The command `nbaccel` as a shell runs it: `nbaccel kuberay` imports nothing of heads and views.

Writing and checking a manifest takes a tenth of a second, and the modules of the other commands as long again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import click

from nbaccel.exceptions import RayError

HELP = {"help_option_names": ["-h", "--help"]}
_REFUSALS = (RayError, ValueError, ConnectionError, RuntimeError, OSError)


def _kuberay() -> click.Command:
    from nbaccel.machines.kuberay.commands import kuberay

    return kuberay


def _token() -> click.Command:
    from nbaccel.machines.joining import token

    return token


class Sentences(click.Group):
    """Turns what nbaccel refuses into a sentence and an exit code; a traceback means a bug of ours.

    Commands of other modules are imported when they are asked for: `nbaccel kuberay check` needs nothing of a node.
    """

    elsewhere: ClassVar[dict[str, Callable[[], click.Command]]] = {"kuberay": _kuberay, "token": _token}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, *self.elsewhere])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        make = self.elsewhere.get(cmd_name)
        return make() if make is not None else super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):  # how click ends --help and Ctrl-C; both are RuntimeErrors
            raise
        except _REFUSALS as error:
            raise click.ClickException(str(error)) from None


def main() -> None:
    """Run the command of this process's arguments, and end the process."""
    if sys.argv[1:2] == ["kuberay"]:
        Sentences("nbaccel", context_settings=HELP)(prog_name="nbaccel")
    from nbaccel.cli import main as all_commands

    all_commands(prog_name="nbaccel")
