"""Helpers for trainables and their authors. Names as in Ray Tune."""

import copy
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import nbaccel
from nbaccel.tune.trainable import Trainable
from nbaccel.util.check_serialize import inspect_serializability

__all__ = [
    "date_str",
    "deep_update",
    "diagnose_serialization",
    "flatten_dict",
    "merge_dicts",
    "unflatten_dict",
    "unflattened_lookup",
    "validate_save_restore",
    "wait_for_gpu",
]


def wait_for_gpu(
    gpu_id: int | str | None = None,
    target_util: float = 0.01,
    retry: int = 20,
    delay_s: int = 5,
    gpu_memory_limit: float | None = None,
) -> bool:
    """Wait until a GPU of this process is free again; returns True. Raises RuntimeError if it does not become free.

    The engine gives a device to a trial when the process before it has ended, so that a wait is rarely needed.

    gpu_id       as nbaccel.get_gpu_ids() has it; None: the first one that the trial holds
    target_util  the part of its memory that may be in use
    """
    held = nbaccel.get_gpu_ids()
    wanted = str(held[0] if gpu_id is None and held else gpu_id)
    if wanted == "None":
        raise RuntimeError("wait_for_gpu: this process holds no GPU. Ask for one: tune.with_resources(f, {'gpu': 1}).")
    for attempt in range(max(1, retry)):
        used = _used_part(wanted)
        if used is None or used <= target_util:
            return True
        if attempt + 1 < retry:
            time.sleep(delay_s)
    raise RuntimeError(f"wait_for_gpu: GPU {wanted} was not free after {retry} looks, {delay_s} s apart.")


def _used_part(gpu: str) -> float | None:
    """The part of a device's memory that is in use; None where nobody can say, as of a GPU that is only counted."""
    for device in nbaccel.snapshot().devices:
        seen = device.metrics
        if str(device.id) == gpu and seen is not None and seen.memory_total_bytes:
            return (seen.memory_used_bytes or 0) / seen.memory_total_bytes
    return None


def diagnose_serialization(trainable: Any) -> bool | set[str]:
    """True if a trainable can be sent to its trials, else the names of what cannot."""
    fine, parts = inspect_serializability(trainable)
    return True if fine else {each.name for each in parts}


def validate_save_restore(
    trainable_cls: type[Trainable], config: dict[str, Any] | None = None, num_gpus: int = 0
) -> bool:
    """Whether a class goes on from its checkpoint: True, or an error that says what went wrong."""
    first = trainable_cls(config or {})
    for _ in range(3):
        first.train()
    saved = first.save()
    second = trainable_cls(config or {})
    second.restore(saved)
    if second.training_iteration != first.training_iteration:
        raise ValueError(
            f"{trainable_cls.__name__} counts {second.training_iteration} iterations after restore(), and had "
            f"{first.training_iteration}."
        )
    second.train()
    first.stop()
    second.stop()
    return True


def date_str() -> str:
    return f"{datetime.now():%Y-%m-%d_%H-%M-%S}"


def merge_dicts(d1: Mapping[str, Any], d2: Mapping[str, Any]) -> dict[str, Any]:
    """A new dict with the values of both, the second's where both have one; dicts in them are merged."""
    return deep_update(copy.deepcopy(dict(d1)), d2, new_keys_allowed=True)


def deep_update(
    original: dict[str, Any],
    new_dict: Mapping[str, Any],
    new_keys_allowed: bool = False,
    allow_new_subkey_list: list[str] | None = None,
    override_all_if_type_changes: list[str] | None = None,
) -> dict[str, Any]:
    """Put the values of the second dict into the first, also those of dicts in it."""
    for name, value in new_dict.items():
        if name not in original and not new_keys_allowed:
            raise ValueError(f"The dict has no {name!r}; it has: {', '.join(map(str, original))}.")
        old = original.get(name)
        if isinstance(old, dict) and isinstance(value, Mapping):
            is_free = new_keys_allowed or name in (allow_new_subkey_list or [])
            original[name] = deep_update(old, value, new_keys_allowed=is_free)
        else:
            original[name] = value
    return original


def flatten_dict(
    dt: Mapping[str, Any], delimiter: str = "/", prevent_delimiter: bool = False, flatten_list: bool = False
) -> dict[str, Any]:
    """{"a": {"b": 1}} as {"a/b": 1}; an empty dict stays a value."""
    found: dict[str, Any] = {}
    for name, value in dt.items():
        if prevent_delimiter and delimiter in str(name):
            raise KeyError(f"The name {name!r} has the delimiter {delimiter!r}.")
        inner: Any = dict(enumerate(value)) if flatten_list and isinstance(value, list) else value
        if isinstance(inner, Mapping) and inner:
            flat = flatten_dict(inner, delimiter, prevent_delimiter, flatten_list)
            found |= {f"{name}{delimiter}{each}": one for each, one in flat.items()}
        else:
            found[name] = value
    return found


def unflatten_dict(dt: Mapping[str, Any], delimiter: str = "/") -> dict[str, Any]:
    """{"a/b": 1} as {"a": {"b": 1}}."""
    found: dict[str, Any] = {}
    for name, value in dt.items():
        *outer, last = name.split(delimiter)
        holder = found
        for part in outer:
            holder = holder.setdefault(part, {})
        holder[last] = value
    return found


def unflattened_lookup(flat_key: str, lookup: Any, delimiter: str = "/", **options: Any) -> Any:
    """The value of "a/b" in {"a": {"b": 1}}; `default` if there is none, else KeyError."""
    if flat_key in lookup:
        return lookup[flat_key]
    value = lookup
    for part in flat_key.split(delimiter):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif "default" in options:
            return options["default"]
        else:
            raise KeyError(flat_key)
    return value
