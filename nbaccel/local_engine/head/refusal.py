"""The two ways in which a question gets no answer now: it is refused, or postponed."""

from __future__ import annotations


class Refusal(Exception):
    """A question is answered with an error: the class to raise at the client, and the message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def id_of(text: str, what: str) -> bytes:
    """The id that a hex text names. Raises Refusal, with `what` it is not the id of ("a task"), for any other text."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise Refusal("ValueError", f"{text!r} is not the hex id of {what}.") from None


class Later(Exception):
    """A question about a named actor that does not exist yet: ask again when the actor exists or never will."""

    def __init__(self, actor_id: bytes) -> None:
        super().__init__()
        self.actor_id = actor_id
