"""Handles and refs that the user has forgotten, and what still holds them: an output, the last error, a sent function.

```
  Out[7], _, __, ___ ──────────┐
  frames of the last error ────┼──► a handle that no variable of the user's reaches ──► named where work waits for it
  a widget that is displayed ──┤                                                   └──► %accel_release
  a function, as it was sent ──┘
```
A placement group outlives its handles: one that no handle names is removed by its id, `%accel_release 4403…`.
"""

from __future__ import annotations

import gc
import re
import sys
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from nbaccel import engine as engines
from nbaccel.actor import ActorHandle
from nbaccel.handles.placement_group_handle import PlacementGroup, made_here
from nbaccel.handles.refs import ObjectRef
from nbaccel.handles.remote import ActorClass, RemoteFunction
from nbaccel.notebook.arguments import TypingMistake
from nbaccel.notebook.task_names import OF_HISTORY

MOST_OBJECTS = 10_000  # that are looked at from one name
THE_ERROR = "the last error"
_GROUP = re.compile(r"placement group ([0-9a-f]{36})")
_OF_COMMS = ("comm.", "ipykernel.")  # how a widget reaches the kernel, and all that is in it
_SHORT_NAMES = ("_", "__", "___")
_ABSENT = object()
_ERRORS = ("last_type", "last_value", "last_traceback", "last_exc")
_LEAVES = (
    InteractiveShell,
    str,
    bytes,
    int,
    float,
    type,
    ModuleType,
    BuiltinFunctionType,
    CodeType,
    FrameType,
    TracebackType,
)

Found = dict[str, list[Any]]  # a name, and the handles and refs that it reaches


def forgotten(shell: InteractiveShell) -> Found:
    """What only outputs, displayed widgets and the last error hold."""
    reached = _reached(shell)
    held = {f"Out[{number}]": list(_handles_in(value)) for number, value in _outputs(shell).items()}
    held |= {name: list(_handles_in(shell.user_ns[name])) for name in _SHORT_NAMES if name in shell.user_ns}
    for name, widget in _displayed_widgets().items():
        held[name] = list(_handles_in(widget))
    held[THE_ERROR] = [each for value in _values_of_the_error(shell) for each in _handles_in(value)]
    held = {name: [each for each in handles if _id(each) not in reached] for name, handles in held.items()}
    return {name: handles for name, handles in held.items() if handles}


def functions_with_forgotten(shell: InteractiveShell) -> dict[str, Any]:
    """The user's remote functions and actor classes whose code has such handles in it as it was sent."""
    reached = _reached(shell)
    return {
        name: value
        for name, value in _variables(shell.user_ns).items()
        if type(value) in (RemoteFunction, ActorClass) and not reached.issuperset(_sent_with(value))
    }


def added_to(shell: InteractiveShell, sentences: Sequence[str]) -> list[str]:
    """Sentences about work that waits; one that names an actor or a group that the user has forgotten also says what
    holds that.
    """
    kinds, functions = _held_actors(shell) if any("actor " in each for each in sentences) else ({}, [])
    groups = _forgotten_groups(" ".join(sentences))
    return [each + _about_actors(each, kinds, functions) + _about_groups(each, groups) for each in sentences]


def _held_actors(shell: InteractiveShell) -> tuple[dict[str, list[str]], list[str]]:
    """The classes of actors that no variable names, each with what holds one, and functions that were sent with one."""
    kinds: dict[str, list[str]] = {}
    for name, handles in forgotten(shell).items():
        for kind in sorted({each._class_name for each in handles if isinstance(each, ActorHandle)}):
            kinds.setdefault(kind, []).append(name)
    return kinds, list(functions_with_forgotten(shell))


def _about_actors(sentence: str, kinds: dict[str, list[str]], functions: list[str]) -> str:
    if "actor " not in sentence:
        return ""
    return "".join(
        f" An actor {kind} that no variable names is still held by {', '.join(names)}: %accel_release lets go of it."
        for kind, names in kinds.items()
        if f"actor {kind} " in sentence
    ) + "".join(
        f" {name} was sent with a handle that no variable names, and holds it: %accel_release lets go of it."
        for name in functions
    )


def _forgotten_groups(text: str) -> list[str]:
    made = [id for id in dict.fromkeys(_GROUP.findall(text)) if id in made_here]
    if not made:
        return []
    gc.collect()  # what only a cycle holds is forgotten too
    named = {each.id.hex() for each in gc.get_objects() if type(each) is PlacementGroup}
    return [id for id in made if id not in named]


def _about_groups(sentence: str, groups: list[str]) -> str:
    return "".join(
        f" Nothing here names placement group {id[:8]}… any more: %accel_release {id} removes it, with what runs in it."
        for id in groups
        if id in sentence
    )


def release(shell: InteractiveShell) -> list[str]:
    """Let go of all that holds handles or refs besides the user's variables. Returns what that was."""
    outputs, functions, widgets = list(forgotten(shell)), functions_with_forgotten(shell), _displayed_widgets()
    for name in outputs:
        if name == THE_ERROR:
            _forget_error(shell)
        elif name in widgets:
            widgets[name].close()
        else:
            _forget_output(shell, name)
    for code in functions.values():
        code._cache.clear()  # the next call sends it again, as it is then
    gc.collect()
    return [*outputs, *functions]


def remove_groups(words: list[str]) -> int:
    """Remove the placement groups with these ids, which nothing has to name. Raises TypingMistake for other words."""
    engine = engines.current()
    known = engine.group_table(None)
    for word in words:
        if word not in known:
            raise TypingMistake(f"No placement group has the id {word!r}: the line of what waits for it has the id.")
    for word in words:
        engine.remove_group(bytes.fromhex(word))
    return len(words)


# ---- looking


def _id(handle: Any) -> bytes:
    return bytes(handle._actor_id_bytes if isinstance(handle, ActorHandle) else handle._id)


def _variables(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The user's own variables."""
    return {
        name: value
        for name, value in list(namespace.items())
        if not OF_HISTORY.fullmatch(name) and name != "Out" and not name.startswith("__")
    }


def _reached(shell: InteractiveShell) -> set[bytes]:
    """The ids of the handles and refs that the user's variables reach."""
    return {_id(each) for value in _variables(shell.user_ns).values() for each in _handles_in(value)}


def _outputs(shell: InteractiveShell) -> dict[int, Any]:
    return dict(shell.user_ns.get("Out") or {})


def _displayed_widgets() -> dict[str, Any]:
    """Those that no variable has to name: ipywidgets keeps them as long as a page may show them."""
    module: Any = sys.modules.get("ipywidgets.widgets.widget")
    instances = dict(getattr(module, "_instances", {}))
    return {f"widget {type(each).__name__} {id[:8]}": each for id, each in instances.items()}


def _handles_in(value: Any) -> Iterator[Any]:
    """The handles and refs that an object reaches through containers, attributes and closures."""
    seen, waiting = {id(value)}, deque([value])
    while waiting and len(seen) < MOST_OBJECTS:
        thing = waiting.popleft()
        if type(thing) is ActorHandle or type(thing) is ObjectRef:
            if hasattr(thing, "_engine"):  # one that another thread is just making has not got all yet
                yield thing
            continue
        for part in _parts(thing):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def _parts(thing: Any) -> list[Any]:
    kind = type(thing)
    if kind is FunctionType:  # its globals are the user's variables
        return [*(thing.__closure__ or ()), *(thing.__defaults__ or ())]
    if kind is RemoteFunction:
        return [thing._function]
    if kind is ActorClass or issubclass(kind, _LEAVES) or kind.__module__.startswith(_OF_COMMS):
        return []
    if kind is dict:
        return list(islice(thing.values(), MOST_OBJECTS))
    if kind in (list, tuple, set):
        return list(islice(thing, MOST_OBJECTS))
    return gc.get_referents(thing)


def _values_of_the_error(shell: InteractiveShell) -> list[Any]:
    """The local variables of all functions that the last error has passed."""
    return [
        value
        for last in _tracebacks(shell)
        for frame, _line in traceback.walk_tb(last)
        if frame.f_globals is not frame.f_locals
        for value in frame.f_locals.values()
    ]


def _tracebacks(shell: InteractiveShell) -> list[TracebackType]:
    """Those of the last error and of what it came from."""
    found = [getattr(sys, "last_traceback", None), getattr(shell.InteractiveTB, "tb", None)]
    result = getattr(shell, "last_execution_result", None)
    errors = [getattr(sys, "last_value", None), getattr(result, "error_in_exec", None)]
    seen = set[int]()
    while errors:
        error = errors.pop()
        if isinstance(error, BaseException) and id(error) not in seen:
            seen.add(id(error))
            found.append(error.__traceback__)
            errors += [error.__cause__, error.__context__]
    return [each for each in found if each is not None]


def _sent_with(code: Any) -> list[bytes]:
    """The ids of the objects and actors in the code of a remote function or actor class, as it was sent."""
    sent = [entry[0] for key, entry in code._cache.items() if isinstance(key, tuple) and key[1] == "key"]
    return [id for each in sent for id in getattr(each, "refs", ())]  # on Ray nothing of this is known


# ---- letting go


def _forget_output(shell: InteractiveShell, name: str) -> None:
    hook, number = shell.displayhook, name.removeprefix("Out[").removesuffix("]")
    value = _outputs(shell).get(int(number)) if number.isdigit() else shell.user_ns.get(name)
    for place in (shell.user_ns, shell.user_ns_hidden):
        for each in [f"_{number}", *_SHORT_NAMES]:
            if place.get(each, _ABSENT) is value:
                place[each] = ""
    for each in _SHORT_NAMES:
        if getattr(hook, each, _ABSENT) is value:
            setattr(hook, each, "")
    if number.isdigit():
        shell.user_ns["Out"].pop(int(number), None)


def _forget_error(shell: InteractiveShell) -> None:
    for last in _tracebacks(shell):
        traceback.clear_frames(last)
    for name in _ERRORS:
        if hasattr(sys, name):
            delattr(sys, name)
    for name in ("etype", "evalue", "tb"):
        if hasattr(shell.InteractiveTB, name):
            setattr(shell.InteractiveTB, name, None)
    result = getattr(shell, "last_execution_result", None)
    if result is not None:
        result.error_in_exec = None
