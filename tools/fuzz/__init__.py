"""Fuzzers: bytes at random for whatever reads bytes that others may have written.

```
  make fuzz SECONDS=60 SEED=1        every module here that has run(seconds, seed), one after the other
```
A run that finds something raises, with the seed and the case; the same seed gives the same cases again.
"""
