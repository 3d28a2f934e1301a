"""The head: the one process that knows the state of the cluster. The scheduler decides, this acts.

```
  peers ── messages ──► intake ── events ──► Scheduler ── commands ──► orders ── messages ──► peers
                           └──► objects/, devices/                        └──► worker_processes, roles
  observers and drivers ── questions, watchers ──► picture, reasons, state_rows
```
Read `loop` first. Nothing here runs the user's code or unpickles the user's data.
"""
