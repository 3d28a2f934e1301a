"""A typed question to a head: its fields say what is asked, its parameter is the type of the answer.

```
  class ReadLogs(Question[str], tag="logs"):     ──► {"ask": "logs", "task_id": …, "tail": 100}    as JSON
      task_id: str | None = None                 ──► Ask(7, "logs", <msgpack of the fields>)       in a driver's frame
      tail: int = 100
                                                 ◄── a str
```
`ReadLogs.answered_by(function)` makes one row of a head's table. The type checker compares the function's parameter and
result with the question, so a row can neither expect other fields nor give another answer than the asker expects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, get_args

import msgspec

A = TypeVar("A")  # the answer
_NIL = msgspec.msgpack.encode(None)
P = TypeVar("P")  # the head's record of the asker


class Question(msgspec.Struct, Generic[A], tag_field="ask", omit_defaults=True):
    """A question that a head answers. A subclass gives its `tag`, the name by which the question travels."""

    @classmethod
    def tag(cls) -> str:
        return str(cls.__struct_config__.tag)

    @classmethod
    def answer_type(cls) -> Any:
        """The type of the answer: the parameter of the class."""
        return get_args(cls.__dict__["__orig_bases__"][0])[0]

    @classmethod
    def answered_by(cls, answer: Callable[[P, Self], A]) -> Row[P]:
        """Make a row of a head's table: the function gets the asker and the question, and returns the answer."""
        return Row(cls, answer)

    def body(self) -> bytes:
        """MessagePack of the question; fields that have their defaults are left out."""
        return msgspec.msgpack.encode(self)

    def read_answer(self, body: bytes) -> A:
        """The answer, from what `Row.encoded_answer` wrote."""
        answer: A = msgspec.msgpack.decode(body or _NIL, type=self.answer_type())
        return answer


class Row(msgspec.Struct, Generic[P], frozen=True):
    """One question of a head's table, and the function that answers it."""

    question: type[Question[Any]]
    answer: Callable[[P, Any], Any]

    def encoded_answer(self, asker: P, body: bytes) -> bytes:
        """Answer a driver's question. Raises what the function raises, and ValidationError for wrong fields."""
        asked = msgspec.msgpack.decode(body, type=self.question) if body else self.question()
        return msgspec.msgpack.encode(self.answer(asker, asked))


def table_of(*rows: Row[P]) -> dict[str, Row[P]]:
    """The rows by the names of their questions."""
    return {row.question.tag(): row for row in rows}
