"""Work that nbaccel submits for itself, such as the mailbox of a training run: views neither count nor list it.

```
  internal_actor(Mailbox) ──► options.internal ──► Terms.internal, MethodSpec.internal ──► scheduler, views
```
The mark is in the terms, so a user's class of the same name is shown. With NBACCEL_SHOW_INTERNAL=1 in the environment
of the process that submits the work, the work has no mark and is shown as any other.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from nbaccel.handles.options import actor_options, task_options
from nbaccel.handles.remote import ActorClass, RemoteFunction

SHOW = "NBACCEL_SHOW_INTERNAL"
NAMESPACE = "_nbaccel"  # of those actors that have names


def is_hidden() -> bool:
    """Whether such work of this process is marked: unless NBACCEL_SHOW_INTERNAL is set."""
    return os.environ.get(SHOW, "") in ("", "0")


def internal_actor(cls: type, **options: Any) -> ActorClass:
    """An actor class of nbaccel's own, with the options of `@remote`."""
    return _calls_hidden(ActorClass(cls, replace(actor_options(**options), internal=is_hidden())))


def actor_of_a_run(cls: type, **options: Any) -> ActorClass:
    """An actor class that views show, since it holds what a run has. Its calls are hidden: the run shows them."""
    return _calls_hidden(ActorClass(cls, actor_options(**options)))


def _calls_hidden(made: ActorClass) -> ActorClass:
    made._methods = {name: replace(spec, internal=is_hidden()) for name, spec in made._methods.items()}
    return made


def internal_task(function: Callable[..., Any], **options: Any) -> RemoteFunction:
    """A remote function of nbaccel's own, with the options of `@remote`."""
    return RemoteFunction(function, replace(task_options(**options), internal=is_hidden()))
