"""The head's tasks: submissions go to the scheduler, the scheduler's orders to workers, and results to clients.

```
  Submit ──► submissions ──► TasksSubmitted         SendTasks ──────────────► flow ─────► RunTasks, RunTask
  Done ────► returns ──────► TasksReturned          FinishTasks, FailTask ──► conclusions ──► objects/ ──► owners
  Item ────► streams ──────► objects/ ──► reader    whatever raises ────────► failed_commands ──► an event all the same
```
Messages of one read that are alike are one event, and what follows is one order; a lone task is a batch of one.
"""
