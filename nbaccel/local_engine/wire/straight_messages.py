"""Messages on a connection between a driver and a worker, and what the head is told of it and says about it."""

from __future__ import annotations

import msgspec

from nbaccel.local_engine.wire.message_parts import Message, Value


class StraightSubmit(Message, tag="C"):
    """Call an actor, straight: what of a Submit such a call needs. Thousands of these are sent in a second."""

    task_id: bytes
    template: int
    args: bytes
    straight: int


class StraightAnswer(Message, tag="A"):
    """A straight call of an actor has returned a small value without refs, and has said nothing to the head."""

    task_id: bytes
    data: bytes
    times: list[float]  # as in Done


class StraightCall(msgspec.Struct, array_like=True, gc=False):
    """A call that went straight to its actor, as the head is told of it."""

    task_id: bytes
    template: int  # the caller's number
    actor_id: bytes  # or the loan of the worker that a task went to
    sent_at: float  # Unix seconds
    times: list[float] = []  # once it has ended: Done.times
    value: Value | None = None  # its result, if the head had promised it to others
    args: bytes = b""  # of a task that is under way: it may have to run again


class StraightNews(Message):
    """What a caller tells of its straight calls, in batches. Each call is told until it has ended or is known."""

    opened: list[StraightCall] = []  # under way
    ended: list[StraightCall] = []  # returned, and the result is with the caller
    known: list[bytes] = []  # tasks whose results the head has, as the actor told the caller
    promised: list[bytes] = []  # open tasks whose results others may ask for
    lost: list[tuple[bytes, bool]] = []  # tasks whose worker gave no answer; whether it may have begun them


class CallTold(Message):
    """An actor tells of a straight call, before it says anything else on the call's behalf."""

    call: StraightCall


class LoanOver(Message):
    """A driver or a worker has ended a loan. `is_free`: its tasks are over; a driver that lost its worker knows not."""

    loan_id: bytes
    is_free: bool = True


class Connected(Message):
    """The end of a connection between an actor and its caller comes with this message, as a descriptor.

    To a driver also: the end of one to a worker that it was lent.
    """

    actor_id: bytes  # or the loan
    socket: int  # the descriptor's inode: of several that come, and of which some may be lost, it is this one


class Lent(Message):
    """The worker is lent to its driver; its end of the connection comes with this message, as a descriptor."""

    loan_id: bytes
    socket: int  # as in Connected


class EndLoan(Message):
    """End the loan as soon as no task runs. The worker answers with LoanOver."""

    loan_id: bytes


class LineEnd(Message):
    """The last word of a worker to a driver: it has begun the first `taken` tasks of the loan, and no others."""

    taken: int
