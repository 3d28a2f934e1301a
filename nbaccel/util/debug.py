"""Says something only once: for warnings in code that runs many times in a process."""

import time

_PERIOD_S = 60.0
_said: set[str] = set()
_silent = False
_periodic = False
_last_said = 0.0


def log_once(key: str) -> bool:
    """Whether this is the first call with this key in this process.

    >>> log_once("slow_path"), log_once("slow_path")
    (True, False)
    """
    global _last_said
    if _silent:
        return False
    if _periodic and time.monotonic() - _last_said > _PERIOD_S:
        _said.clear()
    if key in _said:
        return False
    _said.add(key)
    _last_said = time.monotonic()
    return True


def reset_log_once(key: str | None = None) -> None:
    """Forget one key, or all keys."""
    if key is None:
        _said.clear()
    else:
        _said.discard(key)


def disable_log_once_globally() -> None:
    """From now on log_once() is False in this process."""
    global _silent
    _silent = True


def enable_periodic_logging() -> None:
    """From now on log_once() is True again for a key after a minute."""
    global _periodic
    _periodic = True


__all__ = ["disable_log_once_globally", "enable_periodic_logging", "log_once", "reset_log_once"]
