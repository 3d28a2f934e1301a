"""Code and bound values of a deployment as bytes, and a digest by which two runs of one cell are the same.

The digest leaves out what differs although nothing has changed: line numbers, and the identity of a class that a cell
defines anew.
"""

from __future__ import annotations

import _thread
import hashlib
import io
import linecache
import os
import sys
import threading
from types import CodeType
from typing import Any

import cloudpickle

from nbaccel import engine as engines
from nbaccel.handles.remote import ActorHandle, ObjectRef, ObjectRefGenerator

_ENGINES_OWN = (ObjectRef, ActorHandle, ObjectRefGenerator)
_RLOCK = type(threading.RLock())


def _new_lock() -> Any:
    return _thread.allocate_lock()


def _new_rlock() -> Any:
    return threading.RLock()


def _received_code(parts: tuple[Any, ...], filename: str, source: str) -> CodeType:
    """Code with the file or cell that it is from, so that tracebacks show its lines."""
    if source and filename not in linecache.cache:
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    return CodeType(*parts).replace(co_filename=filename)


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """A lock becomes a fresh one: an app of FastAPI's may hold some. Code keeps its file's name, and a cell's text."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.has_engines_own = False  # refs or actors among what was pickled
        self._sources: dict[str, str] = {}

    def _source(self, filename: str) -> str:
        if filename not in self._sources:
            is_file = os.path.exists(filename)
            self._sources[filename] = "" if is_file else "".join(linecache.getlines(filename))
        return self._sources[filename]

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, CodeType):
            _, parts = cloudpickle.Pickler._dispatch_table[CodeType](obj)
            return _received_code, (parts, obj.co_filename, self._source(obj.co_filename))
        if isinstance(obj, _ENGINES_OWN):
            self.has_engines_own = True
            return NotImplemented
        if isinstance(obj, _thread.LockType):
            return _new_lock, ()
        if isinstance(obj, _RLOCK):
            return _new_rlock, ()
        if type(obj).__name__ == "State" and type(obj).__module__ == "starlette.datastructures":
            return type(obj), (dict(obj._state),)  # its own way ends in a recursion when it is unpickled
        return super().reducer_override(obj)


class _Digester(_Pickler):
    """Pickles what matters of code, for a digest alone: nothing can be made of it."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, CodeType):
            facts = (obj.co_code, obj.co_consts, obj.co_names, obj.co_varnames, obj.co_freevars, obj.co_cellvars)
            return tuple, ((*facts, obj.co_argcount, obj.co_kwonlyargcount, obj.co_flags, obj.co_name),)
        reduced = super().reducer_override(obj)
        if isinstance(obj, type) and isinstance(reduced, tuple) and len(reduced[1]) == 6:
            kind, name, bases, keywords, _tracker, extra = reduced[1]  # the tracker differs with each run of a cell
            members = {key: value for key, value in reduced[2][0].items() if key not in ("__firstlineno__", "__doc__")}
            return (tuple, ((kind, name, bases, keywords, extra),), (members, {}))
        return reduced


def pickled(thing: Any, name: str) -> bytes:
    """Raises TypeError, naming the part, for what cannot be pickled."""
    try:
        return _dumped(_Pickler, thing)
    except Exception as error:  # whatever a captured object's pickling raises
        raise TypeError(
            f"The deployment {name} cannot be sent to a replica: {_culprit(thing, name)} cannot be pickled ({error}). "
            "Make it in the constructor, or, if it belongs to an app, use @serve.ingress(build_app) with a function "
            "that makes the app."
        ) from error


def digest(thing: Any) -> str:
    """The same for the same code and values; a random one where that cannot be known."""
    try:
        packed = _dumped(_Digester, thing)
    except Exception:  # it may be pickled all the same, by a method that wants more than a digest gives
        packed = os.urandom(16)
    return hashlib.blake2b(packed + _edited_modules(thing), digest_size=16).hexdigest()


def packed(value: Any) -> bytes:
    """A value that travels over a link."""
    return _dumped(_Pickler, value)


def _dumped(kind: type[_Pickler], thing: Any) -> bytes:
    file = io.BytesIO()
    pickler = kind(file)
    pickler.dump(thing)
    if pickler.has_engines_own:
        _wait_for_head()
    return file.getvalue()


def _wait_for_head() -> None:
    """Return when the head has read what this process has sent it: a link is faster, and whoever gets a ref or an actor
    asks the head for it.
    """
    engine = engines.started()
    if engine is not None and engine.name == "local":
        engine.available_resources()


def _edited_modules(thing: Any) -> bytes:
    """When the file of the class's own module was written, if it is a module of the user's."""
    target = thing[0] if isinstance(thing, tuple) and thing else thing
    module = sys.modules.get(getattr(target, "__module__", "") or "")
    path = getattr(module, "__file__", None)
    if not path or getattr(target, "__module__", "") == "__main__":
        return b""
    try:
        return str(os.stat(path).st_mtime_ns).encode()
    except OSError:
        return b""


def _culprit(thing: Any, name: str, deep: int = 6) -> str:
    """The path of the innermost attribute that cannot be pickled."""
    if not deep:
        return name
    for part, value in _parts(thing, name):
        try:
            _dumped(_Pickler, value)
        except Exception:  # as above
            return _culprit(value, part, deep - 1)
    return f"{name}, a {type(thing).__name__}," if not isinstance(thing, (type, tuple)) else name


def _parts(thing: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(thing, tuple) and len(thing) == 3:  # the target, its arguments, its keywords
        target, args, kwargs = thing
        given = [(f"argument {index} of bind()", each) for index, each in enumerate(args)]
        return [(name, target), *given, *((f"argument {key} of bind()", each) for key, each in kwargs.items())]
    if isinstance(thing, dict):
        return [(f"{name}[{key!r}]", value) for key, value in thing.items()]
    if isinstance(thing, (list, tuple, set)):
        return [(f"{name}[{index}]", value) for index, value in enumerate(thing)]
    found = [(f"{name}.{key}", value) for key, value in getattr(thing, "__dict__", {}).items()]
    code = getattr(thing, "__code__", None)
    if code is not None:
        scope = thing.__globals__
        found += [(f"the global {key} of {name}", scope[key]) for key in code.co_names if key in scope]
        cells = thing.__closure__ or ()
        found += [
            (f"{key}, which {name} captures,", cell.cell_contents)
            for key, cell in zip(code.co_freevars, cells, strict=False)
        ]
    return [(part, value) for part, value in found if not part.endswith("__")]
