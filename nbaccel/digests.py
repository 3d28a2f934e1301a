"""Hashing without OpenSSL: `hashlib` has the same function, and loads that library, 3 MB and some milliseconds."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
