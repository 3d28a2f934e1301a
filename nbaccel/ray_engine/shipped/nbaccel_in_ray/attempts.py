"""A task with several choices: a small task without a CPU owns the attempts, and the user's code begins only once.

```
  driver ─► supervise ─┬─► attempt at the first choice ──┐  claims: the first to write one key of Ray's store runs,
                       │  (it is busy: after a while)    ├─ whoever comes later ends without having run anything
                       └─► attempt at the next choice ───┘
```
Which attempt begins is decided where it begins, so a choice that becomes free while another is about to start can
never make the code run twice. An attempt that raised one of the named exceptions is followed by the next choice, in a
new round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray.reporting import NAMESPACE, Note, first_line, reporter

Answer = Any  # what Ray's `.remote` gives: a ref, several of them, or a stream

LOOK_EVERY_S = 0.25  # whether one of several attempts has begun
NEXT_JOINS_S = 2.0  # so much later than the one before: choices are tried in order
STARTS_WITHIN_S = 15.0  # what is free begins within this, though Ray has to start a process for it


class PassedOver(Exception):
    """Another attempt of the task has begun; its supervisor has stopped to listen to this one."""


@dataclass(frozen=True)
class Claim:
    """The right of one attempt to run the code, and what the task's record will say of it."""

    key: bytes
    mine: bytes
    task_id: str  # of the supervisor, which is the one that the user knows; "" for an actor
    choice: str = ""
    why: str = ""
    demand: dict[str, float] = field(default_factory=dict)
    round: int = 0  # how many choices have failed before
    on: tuple[type[BaseException], ...] = ()  # of an actor: what its constructor may raise for the next choice

    def raised(self, error: BaseException) -> None:
        """An actor's constructor has raised: leave word for who decides, since Ray keeps the error's text only."""
        if self.on and isinstance(error, self.on):
            internal_kv._internal_kv_put(self.key + b":raised", first_line(error).encode(), namespace=NAMESPACE)

    def won(self) -> bool:
        """Whether this attempt runs; also when Ray runs it again since its worker has died."""
        if not internal_kv._internal_kv_put(self.key, self.mine, overwrite=False, namespace=NAMESPACE):
            return True  # Ray answers whether the key was there already
        return bool(internal_kv._internal_kv_get(self.key, namespace=NAMESPACE) == self.mine)

    def facts(self, note: Note) -> Note:
        """For the note of the attempt, which stands for the task that the user knows."""
        facts = {"choice": self.choice, "choice_why": self.why, "demand": self.demand}
        if not self.task_id:
            return facts  # of an actor
        return {**facts, "stands_for": self.task_id, "attempt": note["attempt"] + self.round}

    def check(self) -> None:
        """Raise PassedOver when another attempt has begun."""
        if self.key and not self.won():
            raise PassedOver("another attempt of this task has begun")


@dataclass(frozen=True)
class Attempt:
    """One choice: Ray's remote function, the options to call it with, and in words which choice it is."""

    function: Any
    options: dict[str, object]
    demand: dict[str, float]
    choice: str = ""
    why: str = ""  # when it is the first: those before it can never be met


@dataclass(frozen=True)
class Plan:
    """What a supervisor is given."""

    attempts: tuple[Attempt, ...]
    after_s: float | None  # the next choice joins when the ones before have been busy for so long; None: never
    on: tuple[type[BaseException], ...]  # an attempt that raises one of these is followed by the next
    busy: str  # why the first choice could not start when the task was submitted


class Rounds:
    """The attempts of one task, until one has returned."""

    def __init__(self, plan: Plan, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self._plan = plan
        self._args = args
        self._kwargs = kwargs
        self._task_id: str = ray.get_runtime_context().get_task_id()
        core = ray._private.worker.global_worker.core_worker
        self._run = int(core.get_current_task_attempt_number())  # Ray runs a supervisor again whose node was lost
        self._raced: dict[bytes, list[Answer]] = {}
        self._why = ""
        self._failed = 0

    def winners(self) -> Iterator[tuple[Answer, bool]]:
        """(what `.remote` gave for the attempt that has begun, whether another choice is left), round by round."""
        _wait_for_arguments(self._args, self._kwargs)
        first = 0
        try:
            while first < len(self._plan.attempts):
                won, answer = self._round(first)
                first = won + 1
                yield answer, first < len(self._plan.attempts)
        finally:
            self._clear()

    def failed(self, error: BaseException) -> bool:
        """Whether the next choice answers this error; it is remembered as the reason."""
        cause = getattr(error, "cause", None) or error
        if not self._plan.on or not isinstance(cause, self._plan.on):
            return False
        self._failed += 1
        self._why = f"because the choice before raised {first_line(cause)}"
        return True

    def _round(self, first: int) -> tuple[int, Answer]:
        """(which attempt has begun, its answer); the others are called off."""
        key = f"nbaccel:begins:{self._task_id}:{self._run}:{first}".encode()
        racing: dict[int, Answer] = {}
        began = time.monotonic()
        won = None
        while won is None:
            number = first + len(racing)
            racing[number] = self._begin(number, first, key, time.monotonic() - began)
            self._raced[key] = list(racing.values())
            won = self._begun(key, racing, self._patience_s(number, first))
        for number, answer in racing.items():
            if number != won:
                _call_off(answer)
        return won, racing[won]

    def _begin(self, number: int, first: int, key: bytes, waited_s: float) -> Answer:
        attempt = self._plan.attempts[number]
        why = attempt.why
        if number > first:
            why = f"{attempt.choice} was taken after {waited_s:.1f} s, because {self._plan.busy}"
        elif self._why:
            why = f"{attempt.choice} was taken, {self._why}"
        claim = Claim(key, str(number).encode(), self._task_id, attempt.choice, why, attempt.demand, self._failed)
        return _one(attempt.function.options(**attempt.options).remote(claim, *self._args, **self._kwargs))

    def _patience_s(self, number: int, first: int) -> float | None:
        """How long the attempts that are out are waited for before the next joins; None: without end."""
        if number + 1 == len(self._plan.attempts) or self._plan.after_s is None:
            return None
        return self._plan.after_s if number == first else NEXT_JOINS_S

    def _begun(self, key: bytes, racing: dict[int, Answer], patience_s: float | None) -> int | None:
        """The attempt that has begun; None when the patience is over."""
        if len(racing) == 1 and patience_s is None:
            (only,) = racing
            return only  # nobody competes: its end will tell
        deadline = None if patience_s is None else time.monotonic() + patience_s
        ended: int | None = None
        while True:
            found = internal_kv._internal_kv_get(key, namespace=NAMESPACE)
            if found is not None:
                return int(found)
            if ended is not None:
                return ended  # its process could not be made, say: its error is the user's
            left = LOOK_EVERY_S if deadline is None else min(LOOK_EVERY_S, deadline - time.monotonic())
            if left <= 0:
                return None
            refs = {_end_of(answer): number for number, answer in racing.items()}
            done, _ = ray.wait(list(refs), num_returns=1, timeout=left, fetch_local=False)
            ended = refs[done[0]] if done else None

    def _clear(self) -> None:
        """Nothing of the task goes on. A key is taken away only when nobody is left who could win it a second time."""
        for key, answers in self._raced.items():
            for answer in answers:
                _call_off(answer)
            ends = [_end_of(answer) for answer in answers]
            if len(ray.wait(ends, num_returns=len(ends), timeout=0, fetch_local=False)[0]) == len(ends):
                internal_kv._internal_kv_del(key, namespace=NAMESPACE)


def supervise(plan: Plan, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Return what the task returns, at the first choice that can be had; runs in a task that holds no CPU."""
    rounds = Rounds(plan, args, kwargs)
    for answer, another in rounds.winners():
        try:
            return ray.get(answer)
        except Exception as error:
            if not another or not rounds.failed(error):
                raise
    raise AssertionError("a task has at least one choice")


def supervise_stream(plan: Plan, args: tuple[object, ...], kwargs: dict[str, object]) -> Iterator[object]:
    """The same for a generator. One that has yielded is not begun again: its consumer gets the error."""
    rounds = Rounds(plan, args, kwargs)
    for answer, another in rounds.winners():
        begun = False
        try:
            for ref in answer:
                value = ray.get(ref)
                begun = True
                yield value
            return
        except Exception as error:
            if begun or not another or not rounds.failed(error):
                raise


def refuse(sentence: str, *unused: object) -> None:
    """A task that can never run where `infeasible="raise"` was asked: its error in its place, and in every view."""
    error = ray.exceptions.TaskUnschedulableError(sentence)
    reporter.ended(reporter.began(ray.get_runtime_context().get_task_name(), "task", (), ""), error)
    raise error


def _one(answer: Answer) -> object:
    """Attempts return one value or a stream."""
    return answer[0] if isinstance(answer, list) else answer


def _call_off(answer: Answer) -> None:
    """Cancel an attempt that goes on. Ray's process may crash when a task is cancelled at the moment of its end."""
    if not ray.wait([_end_of(answer)], timeout=0, fetch_local=False)[0]:
        ray.cancel(answer)


def _end_of(answer: Answer) -> object:
    """Ray's ref that is ready once the attempt has ended."""
    return answer.completed() if isinstance(answer, ray.ObjectRefGenerator) else answer


def _wait_for_arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    """A choice is busy only when everything else is there."""
    refs = list({value for value in (*args, *kwargs.values()) if isinstance(value, ray.ObjectRef)})
    if refs:
        ray.wait(refs, num_returns=len(refs), fetch_local=False)
