"""A dataflow: each function takes what the functions of its parameters' names return."""

import os


def doubled(number: int) -> int:
    return 2 * number


def total(doubled: int, extra: int) -> int:
    return doubled + extra


def pid(total: int) -> int:
    return os.getpid()
