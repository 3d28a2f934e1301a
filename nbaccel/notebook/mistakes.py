"""What a person probably meant, from an error that Python raised about a name or a value of nbaccel's.

Example::

    hint(TypeError("ScalingConfig.__init__() got an unexpected keyword argument 'num_worker'"), magics=())
    # "Did you mean num_workers? ScalingConfig takes num_workers, use_gpu, …"
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from types import ModuleType

MOST_NAMES = 12  # that are listed
_KEYWORD = re.compile(r"^(?P<owner>[\w.]+?)(?:\.__init__)?\(\) got an unexpected keyword argument '(?P<name>\w+)'")
_MODULE = re.compile(r"^module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_MAGIC = re.compile(r"function `%+(?P<name>accel_\w*)")
_REF = re.compile(r"'ObjectRef'")
REF_IS_NO_VALUE = (
    "A ref stands for a result that may not be there yet: nbaccel.get(ref) waits for it and returns the value."
)
_OF_VALUES = frozenset({"result", "value", "get", "results", "done", "item", "wait"})  # what futures have elsewhere


def hint(error: BaseException, magics: Collection[str]) -> str:
    """One or two sentences; "" where nothing is known. `magics` are the names of nbaccel's."""
    message = str(error)
    if isinstance(error, AttributeError):
        told = _MODULE.search(message)  # a module's own __getattr__ gives only this text
        return _of_attribute(
            *((sys.modules.get(told["module"]), told["name"]) if told else (error.obj, error.name or ""))
        )
    if magic := _MAGIC.search(message):
        kinds = [name.removeprefix("accel_") for name in magics]  # what they have in common makes none alike
        likely = _did_you_mean(magic["name"].removeprefix("accel_"), kinds, "%accel_")
        return likely or f"nbaccel's magics are {_listed(magics, '%')}."
    if isinstance(error, TypeError) and (wrong := _KEYWORD.search(message)):
        return _of_keyword(wrong["owner"], wrong["name"])
    return REF_IS_NO_VALUE if isinstance(error, TypeError) and _REF.search(message) else ""


def _of_attribute(owner: object, name: str) -> str:
    if not _is_ours(owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__):
        return ""
    if type(owner).__name__ == "ObjectRef" and name in _OF_VALUES:
        return REF_IS_NO_VALUE
    public = [each for each in {*dir(owner), *getattr(owner, "__all__", ())} if not each.startswith("_")]
    return _did_you_mean(name, public) or (REF_IS_NO_VALUE if type(owner).__name__ == "ObjectRef" else "")


def _of_keyword(owner: str, name: str) -> str:
    for found in _of_this_name(owner.rpartition(".")[2]):
        takes = [each for each in inspect.signature(found).parameters if each != "self"]
        if takes:
            return " ".join(filter(None, [_did_you_mean(name, takes), f"{owner} takes {_listed(takes)}."]))
    return ""


def _of_this_name(name: str) -> Iterator[type]:
    """The classes of nbaccel's modules that have this name."""
    for module_name, module in list(sys.modules.items()):
        found = getattr(module, name, None) if _is_ours(module_name) else None
        if isinstance(found, type) and _is_ours(found.__module__):
            yield found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _did_you_mean(name: str, known: Collection[str], before: str = "") -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {before}{close[0]}?" if close else ""


def _listed(names: Iterable[str], before: str = "") -> str:
    every = sorted(names) if before else list(names)
    shown = ", ".join(f"{before}{name}" for name in every[:MOST_NAMES])
    return shown + (", …" if len(every) > MOST_NAMES else "")
