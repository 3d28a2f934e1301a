"""The scheduler's commands, each to the component that carries it out. Every act's answer comes back as an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.until_done import UntilDone
from nbaccel.scheduling.commands import Command
from nbaccel.scheduling.events import ObjectsReady

Act = Callable[[Any], None]


class Orders:
    """A table of acts by the type of the command. `answer` is called with what one of them raises."""

    def __init__(
        self,
        acts: Mapping[type, Act],
        tell: Tell,
        until_done: UntilDone,
        *,
        answer: Callable[[Command, Exception], None],
        take_ready: Callable[[], list[bytes]],
        changed: Callable[[], None],
    ) -> None:
        self._acts = dict(acts)
        self._tell = tell
        self._until_done = until_done
        self._answer = answer
        self._take_ready = take_ready  # objects that came into being, and that tasks may wait for
        self._changed = changed  # something is different from the last picture

    def carry_out(self, commands: Sequence[Command]) -> None:
        """Do all of them; then tell the scheduler of the objects that came into being on the way.

        Whatever one of them raises, the others are carried out, and it is answered (decision 0013).
        """
        acts = self._acts
        for command in commands:
            try:
                acts[type(command)](command)
            except Exception as error:
                self._answer(command, error)
        ready = self._take_ready()
        if ready:
            self._until_done(lambda: self._tell(ObjectsReady(ready)))
        self._until_done(self._changed)

    def act(self, command: Command) -> None:
        """Do one of them; what it raises is the caller's to answer."""
        self._acts[type(command)](command)
