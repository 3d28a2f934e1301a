"""A task with several choices: a small task without a CPU owns the attempts, and the user's code starts only once.

```
  driver ─► supervise ─┬─► attempt at the first choice ──┐  claims: the first to write one key of Ray's store runs,
                       │  (it is busy: after a while)    ├─ whoever comes later ends without having run anything
                       └─► attempt at the next choice ───┘
```
The attempts themselves decide which of them begins, so a choice that becomes free while another is about to start
cannot make the code run twice. After an attempt that raised one of the named exceptions, the next choice is tried in a
new round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.experimental import internal_kv

from nbaccel_in_ray import internals
from nbaccel_in_ray.collector_link import NAMESPACE, Note
from nbaccel_in_ray.reporting import first_line, reporter

Answer = Any  # what Ray's `.remote` returns: a ref, several refs, or a stream

LOOK_EVERY_S = 0.25  # the interval of checks whether one of several attempts has begun
NEXT_JOINS_S = 2.0  # the delay of each further choice: choices are tried in order
STARTS_WITHIN_S = 30.0  # a free choice begins within this, even if Ray has to start a process


class PassedOver(Exception):
    """Another attempt of the task has begun; the supervisor no longer waits for this one."""


@dataclass(frozen=True)
class Claim:
    """The right of one attempt to run the code, with the facts about it for the task's record."""

    key: bytes
    mine: bytes
    task_id: str  # the id of the supervising task, which the user sees; "" for an actor
    choice: str = ""
    why: str = ""
    demand: dict[str, float] = field(default_factory=dict)
    round: int = 0  # how many choices failed before
    on: tuple[type[BaseException], ...] = ()  # of an actor: constructor errors after which the next choice is tried

    def raised(self, error: BaseException) -> None:
        """Store an error of an actor's constructor for the code that decides: Ray keeps the error's text only."""
        if self.on and isinstance(error, self.on):
            internal_kv._internal_kv_put(self.key + b":raised", first_line(error).encode(), namespace=NAMESPACE)

    def won(self) -> bool:
        """Whether this attempt may run; also true when Ray repeats it because its worker died."""
        if not internal_kv._internal_kv_put(self.key, self.mine, overwrite=False, namespace=NAMESPACE):
            return True  # Ray answers whether the key existed already
        return bool(internal_kv._internal_kv_get(self.key, namespace=NAMESPACE) == self.mine)

    def facts(self, note: Note) -> Note:
        """The facts for the note of this attempt, which stands for the task that the user knows."""
        facts = {"choice": self.choice, "choice_why": self.why, "demand": self.demand}
        if not self.task_id:
            return facts  # facts of an actor
        return {**facts, "stands_for": self.task_id, "attempt": note["attempt"] + self.round}

    def check(self) -> None:
        """Raise PassedOver when another attempt has begun."""
        if self.key and not self.won():
            raise PassedOver("another attempt of this task has begun")


@dataclass(frozen=True)
class Attempt:
    """One choice: Ray's remote function, its options, and the choice in words."""

    function: Any
    options: dict[str, object]
    demand: dict[str, float]
    choice: str = ""
    why: str = ""  # for the first attempt: why the choices before it are impossible


@dataclass(frozen=True)
class Plan:
    """The choices of a supervisor, and when it takes the next one."""

    attempts: tuple[Attempt, ...]
    after_s: float | None  # seconds of waiting after which the next choice is tried as well; None: never
    on: tuple[type[BaseException], ...]  # errors after which the next choice is tried
    busy: str  # why the first choice could not start when the task was submitted


class Rounds:
    """The attempts of one task, until one has returned."""

    def __init__(self, plan: Plan, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self._plan = plan
        self._args = args
        self._kwargs = kwargs
        self._task_id: str = ray.get_runtime_context().get_task_id()
        self._run = internals.attempt()  # Ray runs a supervisor again if its node was lost
        self._raced: dict[bytes, list[Answer]] = {}
        self._why = ""
        self._failed = 0

    def winners(self) -> Iterator[tuple[Answer, bool]]:
        """For each round: (what `.remote` returned for the attempt that has begun, whether another choice is left)."""
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
        """Whether the next choice follows this error; then the error is remembered as the reason."""
        cause = getattr(error, "cause", None) or error
        if not self._plan.on or not isinstance(cause, self._plan.on):
            return False
        self._failed += 1
        self._why = f"because the choice before raised {first_line(cause)}"
        return True

    def _round(self, first: int) -> tuple[int, Answer]:
        """Run one round: (the number of the attempt that has begun, its answer). The others are cancelled."""
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
        """How long to wait for the submitted attempts before the next one joins; None: forever."""
        if number + 1 == len(self._plan.attempts) or self._plan.after_s is None:
            return None
        return self._plan.after_s if number == first else NEXT_JOINS_S

    def _begun(self, key: bytes, racing: dict[int, Answer], patience_s: float | None) -> int | None:
        """Wait for the attempt that begins; None when the patience is over."""
        if len(racing) == 1 and patience_s is None:
            (only,) = racing
            return only  # without a competitor there is nothing to decide
        deadline = None if patience_s is None else time.monotonic() + patience_s
        ended: int | None = None
        while True:
            found = internal_kv._internal_kv_get(key, namespace=NAMESPACE)
            if found is not None:
                return int(found)
            if ended is not None:
                return ended  # its process could not start, for example: the user gets its error
            left = LOOK_EVERY_S if deadline is None else min(LOOK_EVERY_S, deadline - time.monotonic())
            if left <= 0:
                return None
            refs = {_end_of(answer): number for number, answer in racing.items()}
            done, _ = ray.wait(list(refs), num_returns=1, timeout=left, fetch_local=False)
            ended = refs[done[0]] if done else None

    def _clear(self) -> None:
        """Cancel all attempts. A key is removed only when no attempt is left that could win it a second time."""
        for key, answers in self._raced.items():
            for answer in answers:
                _call_off(answer)
            ends = [_end_of(answer) for answer in answers]
            if len(ray.wait(ends, num_returns=len(ends), timeout=0, fetch_local=False)[0]) == len(ends):
                internal_kv._internal_kv_del(key, namespace=NAMESPACE)


def supervise(plan: Plan, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Return the task's result at the first choice that can start; runs in a task that holds no CPU."""
    rounds = Rounds(plan, args, kwargs)
    for answer, another in rounds.winners():
        try:
            return ray.get(answer)
        except Exception as error:
            if not another or not rounds.failed(error):
                raise
    raise AssertionError("a task has at least one choice")


def supervise_stream(plan: Plan, args: tuple[object, ...], kwargs: dict[str, object]) -> Iterator[object]:
    """The same for a generator. A generator that has yielded is not started again: its consumer gets the error."""
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
    """Raise the error of a task that can never run, if `infeasible="raise"` is set; views show it too."""
    error = ray.exceptions.TaskUnschedulableError(sentence)
    note = reporter.began(ray.get_runtime_context().get_task_name(), "task", (), "")
    if note is not None:
        reporter.ended(note, error)
    raise error


def _one(answer: Answer) -> object:
    """The ref or the stream of an attempt, which returns one value or a stream."""
    return answer[0] if isinstance(answer, list) else answer


def _call_off(answer: Answer) -> None:
    """Cancel an attempt unless it has ended: Ray's process may crash when a task is cancelled at its end."""
    if not ray.wait([_end_of(answer)], timeout=0, fetch_local=False)[0]:
        ray.cancel(answer)


def _end_of(answer: Answer) -> object:
    """Ray's ref that is ready once the attempt has ended."""
    return answer.completed() if isinstance(answer, ray.ObjectRefGenerator) else answer


def _wait_for_arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> None:
    """Wait for the arguments first: a choice counts as busy only when all else is there."""
    refs = list({value for value in (*args, *kwargs.values()) if isinstance(value, ray.ObjectRef)})
    if refs:
        ray.wait(refs, num_returns=len(refs), fetch_local=False)
