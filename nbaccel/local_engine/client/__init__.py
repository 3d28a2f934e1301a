"""The code that drivers and workers share: submitting tasks and calls, and the values and refs of one process.

```
  calls ──► terms, exports ──► link ──► the head
  object_client ──► values, references, arena_ranges, arena_writer ──► the arena
```
The engines of a driver and of a worker are both built on this room, which does not know which of them it serves.
"""
