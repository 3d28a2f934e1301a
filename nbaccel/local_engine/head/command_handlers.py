"""Passes each of the scheduler's commands to the component that carries it out. The result comes back as an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.retry_until_success import RetryUntilSuccess
from nbaccel.scheduling.commands import Command
from nbaccel.scheduling.events import ObjectsReady

Act = Callable[[Any], None]


class CommandHandlers:
    """The functions that carry out commands, by the command's type. `answer` is called with an error of one of them."""

    def __init__(
        self,
        acts: Mapping[type, Act],
        tell: Tell,
        retry_until_success: RetryUntilSuccess,
        *,
        answer: Callable[[Command, Exception], None],
        ready: list[bytes],
    ) -> None:
        self._acts = dict(acts)
        self._tell = tell
        self._retry = retry_until_success
        self._answer = answer
        self._ready = ready  # objects that came into being since we looked, and that tasks may wait for

    def carry_out(self, commands: Sequence[Command]) -> None:
        """Carry out all commands, then tell the scheduler of the objects that were made meanwhile.

        If one command raises an error, the error is answered and the others are still carried out (decision 0013).
        """
        acts = self._acts
        for command in commands:
            try:
                acts[type(command)](command)
            except Exception as error:
                self._answer(command, error)
        if self._ready:
            ready = self._ready.copy()
            self._ready.clear()
            self._retry(lambda: self._tell(ObjectsReady(ready)))

    def act(self, command: Command) -> None:
        """Carry out one command. The caller answers its error."""
        self._acts[type(command)](command)
