"""Checks of options and of runtime environments: each takes a name and a value, and returns the value or raises.

As in Ray, a wrong type is a TypeError and a wrong value a ValueError. options.py says where each option is legal.
"""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from nbaccel.quantities import to_units

Check = Callable[[str, Any], Any]

_MOST = 100_000_000_000_000  # of any resource, as in Ray; its units still fit a frame
# Compiled when first used, not at import.
_SIZE = r"(?i)\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = rf"(?:[A-Za-z0-9][A-Za-z0-9_.-]*/)?{_LABEL}"
_SELECTOR = rf"!?(?:{_LABEL}|in\(\s*{_LABEL}(?:\s*,\s*{_LABEL})*\s*\))|!?"
_RESERVED = ("object_store_memory", "bundle")
_STRATEGY_CLASSES = {
    "PlacementGroupSchedulingStrategy",
    "NodeAffinitySchedulingStrategy",
    "NodeLabelSchedulingStrategy",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean num_gpus?`, or "" if no known word is similar."""
    import difflib  # only for an error: the module takes 1 ms to load

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def with_article(noun: str) -> str:
    """`a list`, `an int`."""
    return f"{'an' if noun[:1] in 'aeioAEIO' else 'a'} {noun}"


def wrong_type(name: str, value: Any, wanted: str) -> TypeError:
    return TypeError(f"Option {name} takes {wanted}, but got {value!r} of type {type(value).__name__}.")


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


# --- quantities ------------------------------------------------------------------------------------------------


def quantity(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, Real):
        raise wrong_type(name, value, "a number or None")
    number = _plain(value)
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(f"The quantity of resource {name} must be a finite number, but got {number}.")
    if number < 0:
        raise ValueError(f"The quantity of resource {name} cannot be negative, but got {_short(number)}.")
    if number > _MOST:
        raise ValueError(f"The quantity of resource {name} cannot be more than {_MOST:,}, but got {_short(number)}.")
    if number and to_units(number) == 0:
        raise ValueError(
            f"The precision of the fractional quantity of resource {name} cannot go beyond 0.0001: {number}."
        )
    return number


def _plain(value: Real) -> float:
    """An int or a float; infinity where no float is large enough."""
    try:
        return int(value) if isinstance(value, Integral) else float(value)
    except OverflowError:
        return math.inf


def _short(number: float) -> str:
    """A number in words that can be read; Python refuses to write out very long ones."""
    digits = int(number.bit_length() * math.log10(2)) + 1 if isinstance(number, int) else 0
    return f"a whole number of {digits:,} digits" if digits > 40 else str(number)


def bundle(where: str, amounts: Mapping[str, Any]) -> dict[str, float]:
    """The amounts of a bundle, which must be numbers. Raises ValueError, with `where`, for what nothing can have."""
    try:
        return {name: quantity(name, amount) or 0 for name, amount in amounts.items()}
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def whole_quantity(name: str, value: Any) -> int | None:
    number = quantity(name, value)
    if number is None:
        return None
    if number != int(number):
        raise ValueError(f"A node's resources must all be whole numbers, but {name} is {number}.")
    return int(number)


def _resources(name: str, value: Any, check: Check) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict from resource names to quantities, or None")
    for key, instead in (("CPU", "num_cpus"), ("GPU", "num_gpus"), ("memory", "memory")):
        if key in value:
            raise ValueError(
                f"{name} names {key}, which has a keyword of its own: write {instead}={value[key]!r}. (num_cpus and "
                "num_gpus are used instead of 'CPU' and 'GPU' in resources.)"
            )
    for key, amount in value.items():
        if not isinstance(key, str) or not key:
            raise TypeError(f"{name} has a key that is not a resource name: {key!r}.")
        word(name, key)
        if key in _RESERVED:
            raise ValueError(f"{name} names {key!r}, which the engine counts itself.")
        if not isinstance(amount, Real):
            raise wrong_type(f"{name}[{key!r}]", amount, "a number")
    return {str.__str__(key): check(key, amount) for key, amount in value.items()}


def resources(name: str, value: Any) -> dict[str, float]:
    return _resources(name, value, quantity)


def whole_resources(name: str, value: Any) -> dict[str, float]:
    return _resources(name, value, whole_quantity)


def size_bytes(name: str, value: Any) -> int | None:
    """A size in bytes, from a number or a text: "10GiB" and "10g" are 2**30 times 10, "10GB" is 10**9 times 10."""
    if value is None:
        return None
    if isinstance(value, str):
        return _size_in_words(name, value)
    if not is_number(value):
        raise wrong_type(name, value, 'bytes or a size such as "10GiB"')
    number = _plain(value)
    if (isinstance(number, float) and not math.isfinite(number)) or number < 0:
        raise ValueError(f"Option {name} must be finite and not negative, but got {_short(number)}.")
    if number > _MOST:
        raise ValueError(f"Option {name} cannot be more than {_MOST:,} bytes, but got {_short(number)}.")
    if 0 < number < 1:
        raise ValueError(f"Option {name} is a number of bytes, at least one, but got {number}.")
    return int(number)


def _size_in_words(name: str, value: str) -> int:
    match = re.fullmatch(_SIZE, value)
    if match is None:
        raise ValueError(
            f'Option {name} is not a size: {value!r}. Write a number of bytes, or text such as "10GiB" or "512MiB".'
        )
    digits, prefix, binary = match.groups()
    if len(digits) > 40:
        raise ValueError(f"Option {name} cannot be more than {_MOST:,} bytes, but got {value[:20]!r} and so on.")
    decimal = value.strip().lower().endswith("b") and not binary
    step = 1000 if decimal else 1024
    number = round(float(digits) * int(step ** " kmgt".index(prefix.lower() or " ")))
    if number > _MOST:
        raise ValueError(f"Option {name} cannot be more than {_MOST:,} bytes, but got {value!r}.")
    return number


# --- numbers, words, switches ----------------------------------------------------------------------------------


def whole_number(least: int, meaning: str = "", *, none: Any = None) -> Check:
    """A check for whole numbers from `least` on; None is kept as `none`."""

    def check(name: str, value: Any) -> Any:
        if value is None:
            return none
        if not isinstance(value, Integral):
            raise wrong_type(name, value, "a whole number or None")
        if value < least:
            raise ValueError(f"Option {name} must be at least {least}{meaning}, but got {value}.")
        return int(value)

    return check


def anything(name: str, value: Any) -> Any:
    """Accepts a value that only the engine can check."""
    return value


def switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(name, value, "True or False")
    return value


def switch_or_none(name: str, value: Any) -> bool | None:
    return None if value is None else switch(name, value)


def word(name: str, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise wrong_type(name, value, "a string or None")
    if value is not None and any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value):
        raise ValueError(f"Option {name} must be text without NUL and without halves of characters, but got {value!r}.")
    return None if value is None else str.__str__(value)  # of a subclass, such as numpy's, the plain string


def nonempty_word(name: str, value: Any) -> str | None:
    if word(name, value) == "":
        raise ValueError(f'"" is not a valid {name}: give it a name, or leave the option out.')
    return word(name, value)


def one_of(*allowed: str | None, none: str | None = None) -> Check:
    def check(name: str, value: Any) -> str | None:
        word(name, value)
        if value not in allowed and value is not None:
            choices = ", ".join(repr(choice) for choice in allowed)
            raise ValueError(f"Option {name} must be one of {choices} or None, but got {value!r}.")
        return none if value is None else word(name, value)

    return check


def words(name: str, value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise wrong_type(name, value, "a list of strings")
    for item in value:
        word(name, item)
    return tuple(value)


def command(name: str, value: Any) -> tuple[str, ...]:
    """A web address, or the words of a command; () for none."""
    if value is None:
        return ()
    import shlex  # with shutil, only for those who name one
    import shutil

    if isinstance(value, str):
        value = [value] if "://" in value else shlex.split(value)
    found = words(name, value)
    is_address = bool(found) and found[0].startswith(("http://", "https://"))
    if not is_address and (not found or shutil.which(found[0]) is None):
        raise ValueError(
            f"Option {name} takes an http or https address or a command of this machine, but got {value!r}."
        )
    return found


def seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not is_number(value):
        raise wrong_type(name, value, "a number of seconds or None")
    if not 0 <= value < math.inf:
        raise ValueError(f"Option {name} is a time in seconds: it must be finite and not negative, but got {value}.")
    return float(value)


def logging_level(name: str, value: Any) -> Any:
    if not isinstance(value, int | str):
        raise wrong_type(name, value, "a level of the logging module")
    return value


# --- what is retried, what comes back --------------------------------------------------------------------------


MOST_RETURNS = 1_000_000  # each is a ref here and an entry in the head, before the task has begun


def num_returns(name: str, value: Any) -> int | str | None:
    allowed = value in ("streaming", "dynamic") if isinstance(value, str) else not isinstance(value, int) or value >= 0
    if not allowed:
        raise ValueError(f"Option {name} must be >= 0, 'streaming', 'dynamic' or None, but got {value!r}.")
    if value is not None and not isinstance(value, int | str):
        raise wrong_type(name, value, "a whole number, 'streaming', 'dynamic' or None")
    if isinstance(value, int) and value > MOST_RETURNS:
        raise ValueError(
            f"Option {name} is {value}, and a task gives at most {MOST_RETURNS:,} refs. Return a list, or write a "
            "generator (num_returns='streaming'), whose refs come one by one."
        )
    return value


def streams_only_generators(num_returns: Any, is_generator: bool, name: str) -> None:
    """Raises ValueError if a function that yields nothing should stream, as Ray does at the decorator."""
    if num_returns in ("streaming", "dynamic") and not is_generator:
        raise ValueError(
            f"num_returns={num_returns!r} can only be used with generator functions (functions that use 'yield'), and "
            f"{name} is none."
        )


def exception_types(name: str, value: Any) -> tuple[type[BaseException], ...]:
    if not isinstance(value, list | tuple):
        raise wrong_type(name, value, "a list or tuple of exception types")
    for kind in value:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise ValueError(f"Option {name} must hold exception types, but one item is {kind!r}.")
    return tuple(value)


def retry_exceptions(name: str, value: Any) -> bool | tuple[type[BaseException], ...]:
    if isinstance(value, bool):
        return value
    if not isinstance(value, list | tuple):
        raise wrong_type(name, value, "a boolean or a list of exception types")
    return exception_types(name, value)


def fallback_on(name: str, value: Any) -> tuple[type[BaseException], ...]:
    if value is None:
        return ()
    single = isinstance(value, type) and issubclass(value, BaseException)
    return exception_types(name, (value,) if single else value)


def backpressure(name: str, value: Any) -> int | None:
    if value is not None and not isinstance(value, Integral):
        raise wrong_type(name, value, "a whole number or None")
    if value == 0:
        raise ValueError(
            f"{name}=0 is not allowed: the generator could never yield. Use a value > 0, or -1 for no limit."
        )
    return None if value is None or value < 0 else int(value)


def concurrency_groups(name: str, value: Any) -> dict[str, int]:
    if value is None:
        return {}
    if isinstance(value, list) and all(isinstance(group, Mapping) and "name" in group for group in value):
        value = {group["name"]: group.get("max_concurrency", 1) for group in value}
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict from group names to how many calls may run at once")
    return {str(group): whole_number(1)(f"{name}[{group!r}]", limit) for group, limit in value.items()}


def group_of_calls(group: str, class_name: str, known: Iterable[str]) -> None:
    """Raises ValueError if a call names a concurrency group that its actor has not declared."""
    if group and group not in known:
        raise ValueError(
            f"concurrency_group {group!r} is not one of {class_name}'s, which are {sorted(known)}: "
            "declare it in @remote(concurrency_groups={...})."
        )


def job_config(name: str, value: Any) -> Any:
    if value is not None and not hasattr(value, "ray_namespace"):
        raise wrong_type(name, value, "a JobConfig")
    return value


def logging_config(name: str, value: Any) -> Any:
    if value is not None and not hasattr(value, "encoding"):
        raise wrong_type(name, value, "a LoggingConfig")
    return value


# --- where it may run --------------------------------------------------------------------------------------------


def string_dict(name: str, value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict from strings to strings")
    for key, item in value.items():
        if not isinstance(key, str) or not isinstance(item, str):
            raise TypeError(f"{name} must be a dict[str, str], but has {key!r}: {item!r} ({type(item).__name__}).")
        word(name, key)
        word(name, item)
    return {str.__str__(key): str.__str__(item) for key, item in value.items()}


def label_selector(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, Mapping) and None in value.values():
        raise ValueError(f"{name} has a label without a value: {value!r}.")
    selector = string_dict(name, value)
    for key, condition in selector.items():
        if not re.fullmatch(_LABEL_KEY, key):
            raise ValueError(
                f"Invalid label key name {key!r} of {name}: it begins and ends with a letter or digit, may have '-', "
                "'_' and '.' in between, and may have a prefix that ends in '/'."
            )
        if not re.fullmatch(_SELECTOR, condition.strip()):
            raise ValueError(
                f"{name}[{key!r}] is {condition!r}, which is not a condition for a label. Write "
                "'a', '!a', 'in(a, b)' or '!in(a, b)'."
            )
    return selector


def fallback_strategy(name: str, value: Any) -> tuple[dict[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong_type(name, value, "a list of dicts such as {'label_selector': {'zone': 'a'}}")
    for choice in value:
        if not isinstance(choice, Mapping) or not isinstance(choice.get("label_selector", {}), Mapping):
            raise ValueError(f"{name} holds {choice!r}, which is not a choice: write {{'label_selector': {{...}}}}.")
        if not choice:
            raise ValueError(f"{name} holds an empty dictionary: remove it, or give it a 'label_selector'.")
        for key in choice:
            if key != "label_selector":
                raise ValueError(
                    f"{name} has {key!r}, but only 'label_selector' is supported there. To run with other resources, "
                    "use the option fallback."
                )
    return tuple({"label_selector": label_selector(name, choice.get("label_selector"))} for choice in value)


def scheduling_strategy(name: str, value: Any) -> Any:
    if value is None or any(kind.__name__ in _STRATEGY_CLASSES for kind in type(value).__mro__):
        return value
    if not isinstance(value, str):
        raise wrong_type(name, value, f"'DEFAULT', 'SPREAD' or one of {', '.join(sorted(_STRATEGY_CLASSES))}")
    if value not in ("DEFAULT", "SPREAD"):
        raise ValueError(f"Invalid {name} {value!r}: it must be 'DEFAULT' or 'SPREAD', or a strategy object.")
    return value


def placement_group(name: str, value: Any) -> Any:
    if value is None or value == "default" or hasattr(value, "bundle_specs"):
        return value
    raise wrong_type(name, value, "a PlacementGroup, None or 'default'")


_FIELDS = (
    "working_dir", "py_modules", "excludes", "pip", "uv", "conda", "env_vars", "config", "container", "image_uri",
    "py_executable", "java_jars", "worker_process_setup_hook", "nsight", "rocprof_sys", "mpi",
)  # fmt: skip
_PACKAGE_MANAGERS = ("pip", "uv", "conda")
_PACKAGE_FIELDS = (
    "packages", "pip_check", "pip_install_options", "pip_version", "uv_check", "uv_pip_install_options",
    "uv_install_options", "uv_version",
)  # fmt: skip


def hides_by_variable(variables: Mapping[str, str]) -> bool:
    """Whether Ray's variable hides devices from tasks that have none."""
    return variables.get("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "").lower() in ("1", "true")


def hides_in(environment: Any) -> bool:
    """Whether the variables of a runtime_env hide devices from tasks that have none."""
    variables = environment.get("env_vars") if isinstance(environment, Mapping) else None
    return isinstance(variables, Mapping) and hides_by_variable(variables)


def runtime_env(name: str, value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict or None")
    for key in value:
        if not isinstance(key, str) or (not key.startswith("_") and key not in _FIELDS):
            known = ", ".join(_FIELDS)
            hint = did_you_mean(str(key), _FIELDS)
            raise ValueError(f"{name} has no field {key!r}.{hint} Its fields are {known}.")
    if value.get("container") is not None and set(value) - {"container", "config", "env_vars"}:
        others = sorted(set(value) - {"container", "config", "env_vars"})
        raise ValueError(f"{name} names a container, which cannot be used together with {', '.join(others)}.")
    given = [field for field in _PACKAGE_MANAGERS if value.get(field) is not None]
    if len(given) > 1:
        raise ValueError(
            f"{name} names {' and '.join(given)}, but only one of pip, uv and conda can be used at a time."
        )
    return {key: _CHECKS.get(key, anything)(f"{name}[{key!r}]", item) for key, item in value.items()}


def _packages(name: str, value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    if not isinstance(value, Mapping):
        return list(words(name, value))
    unknown = [key for key in value if key not in _PACKAGE_FIELDS]
    if unknown:
        raise ValueError(f"{name} can only have the fields {', '.join(_PACKAGE_FIELDS)}, but got {unknown}.")
    if "packages" not in value:
        raise ValueError(f"{name} must say which packages: {{'packages': ['numpy'], …}}, but got {dict(value)}.")
    return value


def _conda(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, str | Mapping):
        raise wrong_type(name, value, "the name of an environment, a path, or a dict")
    return value


def _config(name: str, value: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise wrong_type(name, value, "a dict or a RuntimeEnvConfig")
    seconds = value.get("setup_timeout_seconds", -1)
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        raise wrong_type(f"{name}['setup_timeout_seconds']", seconds, "a whole number of seconds")
    if seconds <= 0 and seconds != -1:
        raise ValueError(f"setup_timeout_seconds must be greater than zero or equals to -1, got: {seconds}")
    if not isinstance(value.get("eager_install", True), bool):
        raise wrong_type(f"{name}['eager_install']", value["eager_install"], "True or False")
    return dict(value)


def _working_dir(name: str, value: Any) -> str | None:
    path = word(name, value)
    if path is not None and "://" not in path and not os.path.exists(os.path.expanduser(path)):
        raise ValueError(f"{name} is {path!r}, which is not a valid path: there is nothing of this name.")
    return path


def _py_modules(name: str, value: Any) -> Any:
    if value is not None and not isinstance(value, list):
        raise wrong_type(name, value, "a list of paths or modules")
    return value


_CHECKS: dict[str, Check] = {
    "env_vars": string_dict,
    "working_dir": _working_dir,
    "py_modules": _py_modules,
    "pip": _packages,
    "uv": _packages,
    "conda": _conda,
    "config": _config,
    "excludes": lambda name, value: list(words(name, value)),
    "py_executable": word,
}
