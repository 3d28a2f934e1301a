"""The tracebacks that a head keeps: the newest ones, in a fixed amount of memory."""

from __future__ import annotations

from nbaccel.local_engine.head.outputs import Tracebacks


def test_the_oldest_tracebacks_go_when_there_are_too_many_bytes() -> None:
    kept = Tracebacks(most_bytes=10)
    kept.keep(b"a", "1234")
    kept.keep(b"b", "5678")
    kept.keep(b"a", "12345")  # another attempt
    assert (kept.of(b"a"), kept.of(b"b")) == ("12345", "5678")
    kept.keep(b"c", "xyz")
    assert (kept.of(b"a"), kept.of(b"b"), kept.of(b"c")) == ("12345", "", "xyz")
