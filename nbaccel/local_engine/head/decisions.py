"""Passes events to the scheduler, one after the other, and its commands to the components that carry them out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from nbaccel.local_engine.head.poll import LoopTimers, Note, RetryUntilSuccess
from nbaccel.scheduling.commands import Command, WakeAt
from nbaccel.scheduling.events import Event, ObjectsReady, TasksReturned, TasksSubmitted, TimePassed
from nbaccel.scheduling.moves import IllegalEvent
from nbaccel.scheduling.scheduler import Scheduler

Notify = Callable[[Event], None]  # tells the scheduler what has happened
CarryOut = Callable[[Sequence[Command]], None]


class MayStop(Protocol):
    """The head's life, read before each event."""

    stopping: str  # why it ends; "" while it does not


class Decisions:
    """Passes each event to the scheduler, and has its commands carried out before the next event."""

    def __init__(
        self,
        timers: LoopTimers,
        scheduler: Scheduler,
        life: MayStop,
        *,
        changed: Callable[[], None],
        note: Note,
    ) -> None:
        self._timers = timers
        self._scheduler = scheduler
        self._life = life
        self.carry_out: CarryOut  # set by who makes the parts: orders are carried out by all of them
        self._changed = changed  # something may be different from the last snapshot
        self._note = note
        self._events: deque[Event] = deque()
        self._deciding = False
        self._next_wake: float | None = None

    def notify(self, event: Event) -> None:
        """Tell the scheduler of an event, and carry out its orders.

        Many an event changes what is to be seen and orders nothing: one more task waits, a direct call has begun.
        """
        if self._life.stopping:
            return
        events = self._events
        events.append(event)
        if self._deciding:
            return  # an event of an order that we carry out: the scheduler gets it when the order is done
        self._deciding = True
        try:
            while events:
                event = events.popleft()
                try:
                    commands = self._scheduler.handle(event, self._timers.now())
                except IllegalEvent as error:  # it changed nothing: one confused peer must not end everybody's work
                    each = event.each() if type(event) is TasksSubmitted or type(event) is TasksReturned else ()
                    if len(each) > 1:
                        events.extendleft(reversed(each))  # one task that is wrong, and others that are not
                    else:
                        self._note(f"an event was refused: {error}")
                    continue
                if commands:
                    self.carry_out(commands)
        finally:
            self._deciding = False
        self._changed()

    def wake_at(self, command: WakeAt) -> None:
        """Tell the scheduler at this time."""
        if self._next_wake is not None and self._next_wake <= command.at:
            return

        def wake() -> None:
            if self._next_wake == command.at:
                self._next_wake = None
            self.notify(TimePassed())

        self._timers.at(command.at, wake)
        self._next_wake = command.at  # only now: a later wish is left out where an earlier one stands


Act = Callable[[Any], None]


class CommandHandlers:
    """The functions that carry out commands, by the command's type. `answer` is called with an error of one of them."""

    def __init__(
        self,
        acts: Mapping[type, Act],
        notify: Notify,
        retry_until_success: RetryUntilSuccess,
        *,
        answer: Callable[[Command, Exception], None],
        ready: list[bytes],
    ) -> None:
        self._acts = dict(acts)
        self._notify = notify
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
            self._retry(lambda: self._notify(ObjectsReady(ready)))

    def act(self, command: Command) -> None:
        """Carry out one command. The caller answers its error."""
        self._acts[type(command)](command)
