"""Why shared memory could not be written or mapped: each cause in its own words, and none blames another."""

from __future__ import annotations

import errno
import os

import pytest

from nbaccel.local_engine import memory

CAUSES = {
    errno.EMFILE: "RLIMIT_NOFILE",
    errno.EFBIG: "RLIMIT_FSIZE",
    errno.EBADF: "closed descriptor",
    errno.ENOMEM: "max_map_count",
    errno.EIO: "Input/output error",
}


@pytest.mark.parametrize("number", sorted(CAUSES))
def test_each_cause_is_named_and_no_other(number: int) -> None:
    words = memory.arena_trouble(OSError(number, os.strerror(number)))
    assert [cause for cause in CAUSES.values() if cause in words] == [CAUSES[number]]


def test_a_process_of_little_address_space_is_told_of_that_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.resource, "getrlimit", lambda limit: (1 << 30, 1 << 30))
    words = memory.arena_trouble(OSError(errno.ENOMEM, "Cannot allocate memory"))
    assert "RLIMIT_AS" in words and "max_map_count" not in words
