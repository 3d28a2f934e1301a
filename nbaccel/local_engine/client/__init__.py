"""What a driver and a worker share: submitting tasks and calls, and the values and refs of one process.

```
  calls ──► terms, exports ──► link ──► the head
  object_client ──► values, holdings, arena_ranges, arena_writer ──► the arena
```
A driver's engine and a worker's view of the cluster are both built on this; nothing here knows which of them it serves.
"""
