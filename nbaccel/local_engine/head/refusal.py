"""The two ways in which a question gets no answer now: it is refused, or postponed."""

from __future__ import annotations

from nbaccel.handles import ids


class Refusal(Exception):
    """A question is answered with an error: the class to raise at the client, and the message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def id_of(text: str, what: str) -> bytes:
    """The id that a hex text names. Raises Refusal for other text; `what` is whose id was wanted ("a task")."""
    try:
        return ids.id_of(text, what)
    except ValueError as error:
        raise Refusal("ValueError", str(error)) from None


class Later(Exception):
    """A question about a named actor that does not exist yet: ask again when the actor exists or never will."""

    def __init__(self, actor_id: bytes) -> None:
        super().__init__()
        self.actor_id = actor_id
