"""The head's tasks: what clients submit goes to the scheduler, what the scheduler orders goes to workers and back.

```
  Submit ──► submissions ──► TaskSubmitted          SendTask ──────────────► sending ──► Run
  Done ────► returns ──────► TaskReturned           FinishTask, FailTask ──► conclusions ──► objects/ ──► owners
  Item ────► streams ──────► objects/ ──► reader    whatever raises ───────► unmet_orders ──► an event all the same
```
"""
