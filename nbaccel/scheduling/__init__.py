"""Decides which task runs where, and never acts: events in, commands out, no clock, thread, file, socket or randomness.

```
  head ── Event ──► Scheduler.handle(event, now) ── [Command, …] ──► head carries them out ──► more events
```
"""
