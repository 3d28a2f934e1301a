"""The worker: a process that runs one task at a time, or hosts one actor.

```
  main ──► worker_link ──► the head
    └──► worker_setup ──► execution (a task) | actor_host (an actor)
```
"""
