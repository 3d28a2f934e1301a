"""Turns Ray's errors into nbaccel's own when they reach the user. Ray itself sees the errors that user code raised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import ray
from ray import cloudpickle
from ray.util.client import ray as client

from nbaccel import exceptions
from nbaccel.handles import unpicklable
from nbaccel.ray_engine.session import internals

WHERE = "_nbaccel_where"  # what nbaccel_in_ray.wrapping leaves on an exception
_FRAME = re.compile(r'(?P<margin>[ |]*)  File "(?P<file>[^"]*)", line \d+, in ')  # the margin is of exception groups
_RUNTIMES = re.compile(r"[/\\](?:nbaccel_in_ray|site-packages[/\\]ray)[/\\]")
_ABOVE_ACTORS = re.compile(r"[/\\]concurrent[/\\]futures[/\\](?:_base|thread)\.py$")  # Ray calls some actors through it
_CARETS = re.compile(r"\s+[\^~]+\s*")
_OF_AN_ARGUMENT = re.compile(r"\A(?:  At least one of the input arguments .*\n.*(?:\n|\Z))+")  # for each task between
_TRACEBACK = "Traceback (most recent call last):\n"
_REFUSED = re.compile(r"^.*ActorUnschedulableError: (.*)$", re.MULTILINE)
_NOT_SET_UP = re.compile(r"RuntimeEnvSetupError: (?:Failed to set up runtime environment\.\n)?(.*)\Z", re.DOTALL)
# What happened to an attempt, said by its supervisor (see supervising): it is the task's own fate.
_OF_THE_RUNTIME = (
    ray.exceptions.TaskUnschedulableError,
    ray.exceptions.WorkerCrashedError,
    ray.exceptions.OutOfMemoryError,
    ray.exceptions.NodeDiedError,
    ray.exceptions.RuntimeEnvSetupError,
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_HEADING = re.compile(r"ray::(?P<name>[^ ]+?)\(\)(?: \(pid=(?P<pid>\d+))?")


@contextmanager
def translated() -> Iterator[None]:
    """Inside the block, raise nbaccel's own class for each error of Ray."""
    try:
        yield
    except ray.exceptions.RayError as error:
        raise translate(error) from None


def translate(error: BaseException) -> BaseException:
    """nbaccel's error for an error of Ray; any other error is returned unchanged."""
    if not isinstance(error, ray.exceptions.RayError):
        return error
    if isinstance(error, ray.exceptions.RayTaskError):
        if isinstance(error.cause, _OF_THE_RUNTIME):
            return _named(error.cause)
        return _task_error(error).as_instanceof_cause()
    if isinstance(error, ray.exceptions.RayActorError):
        return _actor_error(error)
    return _named(error)


def _task_error(error: Any) -> exceptions.RayTaskError:
    """Ray's error is one of the user's class too, which hides what Ray knows: its text and our mark still tell."""
    heading, _, traceback = COLOUR.sub("", str(error)).partition("\n")
    found = _HEADING.match(heading)
    cause = error.cause
    where = _where(cause)
    if isinstance(cause, ray.exceptions.RayError):
        cause = translate(cause)
    pid = where.get("pid") or (int(found["pid"]) if found and found["pid"] else None)
    class_name, _, name = (where.get("name") or (found["name"] if found else "task")).rpartition(".")
    if "traceback" in where:
        text = _without_runtimes(where["traceback"])
    else:
        text = _with_inner(users_traceback(traceback), cause) if found else str(error)
    return exceptions.RayTaskError(
        name,
        text,
        cause,
        task_id=where.get("task_id"),
        pid=pid,
        device_ids=where.get("device_ids"),
        actor=class_name or None,
    )


def _without_runtimes(text: str) -> str:
    """A whole traceback, chain and groups included, without the frames of Ray and ours."""
    kept: list[str] = []
    hidden_below = ""  # lines that begin so belong to a frame that is left out
    for line in text.splitlines():
        frame = _FRAME.match(line)
        if frame:
            hidden_below = frame["margin"] + "    " if _RUNTIMES.search(frame["file"]) else ""
        if not (hidden_below and (frame or line.startswith(hidden_below))):
            hidden_below = ""
            kept.append(line)
    return "\n".join(kept)


def users_traceback(text: str) -> str:
    """A traceback that Ray has shortened, without the frames of Ray and ours, and without what Ray left of its own."""
    kept: list[str] = []
    hidden, seen_users = True, False  # what stands before the first frame is left of one that Ray has taken out
    for line in _OF_AN_ARGUMENT.sub("", text).rstrip().splitlines():
        frame = _FRAME.match(line)
        if frame:
            hidden = bool(_RUNTIMES.search(frame["file"]) or (not seen_users and _ABOVE_ACTORS.search(frame["file"])))
            seen_users = seen_users or not hidden
        elif not line.startswith("    "):
            hidden = False
        stray = _CARETS.fullmatch(line) and (not kept or _CARETS.fullmatch(kept[-1]) or kept[-1][:4].strip())
        if not hidden and not stray:
            kept.append(line)
    return (_TRACEBACK if seen_users else "") + "\n".join(kept)


def _with_inner(traceback: str, cause: Any) -> str:
    """Where the task raised what another task had raised, that one's traceback as it stood there."""
    if isinstance(cause, exceptions.RayTaskError):
        heading = str(cause).partition("\n")[0]
        before, found, _ = traceback.partition(heading)
        if found:
            return before + str(cause)
    return traceback


def _where(cause: Any) -> dict[str, Any]:
    """What the wrapper has left on the exception; taken off, so that the user's exception is as it was raised."""
    found = getattr(cause, "__dict__", {}).pop(WHERE, None)
    return found or {}


def _actor_error(error: Any) -> exceptions.RayError:
    refused = _REFUSED.search(str(error)) if error.actor_init_failed else None
    if refused:
        return exceptions.ActorUnschedulableError(refused[1])
    not_set_up = _NOT_SET_UP.search(str(error)) if error.actor_init_failed else None
    if not_set_up:
        return exceptions.RuntimeEnvSetupError(not_set_up[1])
    kind = getattr(exceptions, type(error).__name__, exceptions.RayActorError)
    inner = getattr(error, "cause", None) or error.__cause__
    cause = translate(inner) if inner is not None else None
    actor_id = error.actor_id
    heading, _, rest = COLOUR.sub("", str(error)).partition("\n")
    made: exceptions.RayError = kind(
        "\n".join(filter(None, (heading, users_traceback(rest) if _FRAME.search(rest) else rest))),
        actor_id=actor_id.hex() if isinstance(actor_id, (bytes, ray.ActorID)) else actor_id,
        actor_init_failed=error.actor_init_failed,
        cause=cause,
    )
    return made


def _named(error: Any) -> exceptions.RayError:
    """The class of the same name, with what it knows beside its words."""
    kind = next((found for cls in type(error).__mro__ if (found := getattr(exceptions, cls.__name__, None))), None)
    if kind is None or not issubclass(kind, exceptions.RayError):
        kind = exceptions.RaySystemError
    facts: dict[str, Any] = {}
    if issubclass(kind, exceptions.ObjectLostError):
        facts["object_ref_hex"] = getattr(error, "object_ref_hex", None)
    if kind is exceptions.TaskCancelledError and error.task_id is not None:
        facts["task_id"] = error.task_id.hex()
    if kind is exceptions.RpcError:
        facts["rpc_code"] = error.rpc_code
    made: exceptions.RayError = kind(str(error) or f"{type(error).__name__}.", **facts)
    return made


# ---- errors of Ray's pickler, with the name of the part that cannot be pickled


_RAYS_WORDS = "Could not serialize"  # with these it replaces a TypeError


def can_pickle(value: Any) -> bool:
    try:
        if client.is_connected():
            cloudpickle.dumps(value)
        else:
            internals.serialization_context().serialize(value)
    except Exception:  # a user's __reduce__ may raise anything; the error is the answer
        return False
    return True


def name_culprit(error: Exception, name: str, code: Any, plain: Sequence[Any], named: Mapping[str, Any]) -> None:
    """Raise the error of a submission again if the code or one of its arguments cannot be pickled, naming the part."""
    if isinstance(error, ray.exceptions.RayError):
        return
    cause = _cause(error)
    unpicklable.refuse_argument(name, plain, named, cause, can_pickle)
    if code is not None and not can_pickle(code):
        unpicklable.refuse_code(name, code, cause, can_pickle)


def name_culprit_of_put(error: Exception, value: Any) -> None:
    """The same for a value that is put into the store."""
    if not can_pickle(value):
        unpicklable.refuse("the value", value, _cause(error), can_pickle)


def refuse_returned(name: str, value: Any, error: Exception) -> NoReturn:
    """The same for what a task or a call returns, in its worker."""
    unpicklable.refuse(f"the return value of {name}", value, error, can_pickle, unpicklable.ADVICE_TO_RETURN)


def _cause(error: Exception) -> Exception:
    cause = error.__cause__
    return cause if isinstance(cause, Exception) and str(error).startswith(_RAYS_WORDS) else error
