"""Machine-wide leases on real devices: heads take them, and whoever asks reads who holds one.

```
  leases ──► lease_files ──► a directory that all users share
```
A room of its own, since a head that holds devices and a program that only looks both read the same records.
"""
