"""Marks the errors of a user's callback, stopper or search, so that none is taken for one of the disk.

ConnectionError and FileNotFoundError are OSErrors, as "No space left on device" is.
"""

from __future__ import annotations

_MARK = "_nbaccel_users_code"


class UsersCode:
    """The code in a block `with UsersCode():` is the user's: what it raises is marked, and raised on.

    It is no generator: the frame of one would keep the error, and what its traceback holds, for longer.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None:
            setattr(error, _MARK, True)


def is_of_users_code(error: BaseException) -> bool:
    """Whether an error comes from a user's code."""
    return getattr(error, _MARK, False) is True
