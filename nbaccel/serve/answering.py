"""What a deployment returns, as an answer by HTTP.

None → empty; bytes and str → text/plain; a Starlette Response → as it is; a generator → its items as they come;
anything else → JSON, with arrays as lists. A tuple is a list, not (body, status).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import msgspec

from nbaccel import cloudpickle, roots
from nbaccel.exceptions import RayTaskError
from nbaccel.serve.records import AnswerHead, ErrorWords, answer_head, encode

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]

_TEXT = b"text/plain; charset=utf-8"
_JSON = b"application/json"


def is_response(value: Any) -> bool:
    """Whether it is an ASGI app with a status and headers, as Starlette's responses are."""
    starlette = sys.modules.get("starlette.responses")
    return starlette is not None and isinstance(value, starlette.Response)


def head_and_body(value: Any) -> tuple[bytes, bytes]:
    """The packed head and the body. Raises TypeError for what cannot be JSON, naming the place in the value."""
    if value is None:
        kind, body = _TEXT, b""
    elif isinstance(value, str):
        kind, body = _TEXT, value.encode()
    elif isinstance(value, (bytes, bytearray, memoryview)):
        kind, body = _TEXT, bytes(value)
    else:
        kind, body = _JSON, to_json(value)
    block = b"content-length: %d\r\ncontent-type: %b\r\n" % (len(body), kind)
    return encode(AnswerHead(200, block, len(body))), body


STREAM_HEAD = answer_head(200, [(b"content-type", _TEXT)])


def as_bytes(item: Any) -> bytes:
    """An item of a generator that answers by HTTP."""
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    return to_json(item)


def to_json(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        raise TypeError(_why_no_json(value, error)) from None


def _plain(value: Any) -> Any:
    """What msgspec does not know: arrays and scalars of NumPy and torch, and models of pydantic."""
    for name in ("model_dump", "tolist", "isoformat", "__json__"):
        method = getattr(value, name, None)
        if callable(method):
            if name == "model_dump":
                return method(mode="json")
            if getattr(value, "requires_grad", False):
                return value.detach().tolist()
            return method()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, complex) or not hasattr(value, "__iter__"):
        raise NotImplementedError(type(value).__name__)
    return list(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain)


def _why_no_json(value: Any, error: Exception) -> str:
    place, part = _culprit(value, "result")
    return (
        f"The answer cannot be made JSON: {place} is a {type(part).__name__} ({error}). Return what JSON has, bytes, "
        "or a starlette Response."
    )


def _culprit(value: Any, place: str, deep: int = 20) -> tuple[str, Any]:
    """The innermost part that cannot be encoded."""
    items: Any = ()
    if isinstance(value, Mapping):
        items = ((f"{place}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, (list, tuple)):
        items = ((f"{place}[{index}]", part) for index, part in enumerate(value))
    for name, part in items if deep else ():
        try:
            _encoder.encode(part)
        except Exception:  # whatever a user's class raises while it is encoded
            return _culprit(part, name, deep - 1)
    return place, value


# ---- what user code raised


_OURS = (roots.PACKAGE, "<frozen importlib")


def users_part(tb: TracebackType | None) -> TracebackType | None:
    """From the first frame on that is not ours; all of it if all frames are."""
    start = tb
    while start is not None and _is_ours(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    return start or tb


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS) or "/asyncio/" in filename or "/concurrent/futures/" in filename


def task_error(error: BaseException, where: str, facts: Mapping[str, Any]) -> RayTaskError:
    """An exception of user code, as callers raise it."""
    if isinstance(error, RayTaskError):
        return error
    error.with_traceback(users_part(error.__traceback__))
    return RayTaskError(where, "".join(traceback.format_exception(error)).rstrip(), error, **facts)


def failure(error: BaseException, request_id: str = "") -> bytes:
    """Words about it, packed."""
    cause = error.cause if isinstance(error, RayTaskError) and error.cause is not None else error
    text = (
        error.traceback_str if isinstance(error, RayTaskError) else "".join(traceback.format_exception(error)).rstrip()
    )
    try:
        message = str(cause)
    except Exception:  # a user's __str__ may raise as well
        message = ""
    return encode(ErrorWords(type(cause).__name__, message, text, request_id))


def pickled(error: BaseException) -> bytes:
    """An exception for the caller; a plain one with its words if it cannot be pickled."""
    try:
        return cloudpickle.dumps(error)  # type: ignore[no-any-return]
    except Exception:  # whatever an attribute of a user's exception raises
        words = error.traceback_str if isinstance(error, RayTaskError) else str(error)
        name = error.function_name if isinstance(error, RayTaskError) else type(error).__name__
        return cloudpickle.dumps(RayTaskError(name, words, None))  # type: ignore[no-any-return]
