"""The head's tasks: submissions go to the scheduler, the scheduler's orders to workers, and results to clients.

```
  Submit ──► submissions ──► TaskSubmitted          SendTask ──────────────► sending ──► Run
  Done ────► returns ──────► TaskReturned           FinishTask, FailTask ──► conclusions ──► objects/ ──► owners
  Item ────► streams ──────► objects/ ──► reader    whatever raises ───────► unmet_orders ──► an event all the same
```
"""
