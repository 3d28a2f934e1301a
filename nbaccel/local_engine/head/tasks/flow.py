"""A task's way through the head, without the sending: submitted, streaming, returned, concluded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from nbaccel.local_engine import wire
from nbaccel.local_engine.head.actors import Actors
from nbaccel.local_engine.head.connections import Handler, Send, Together
from nbaccel.local_engine.head.decisions import Tell
from nbaccel.local_engine.head.devices.nodes import Assigned
from nbaccel.local_engine.head.head_records import HeadRecords
from nbaccel.local_engine.head.notes import Note
from nbaccel.local_engine.head.objects import delivery, lineage
from nbaccel.local_engine.head.objects.context import ObjectContext
from nbaccel.local_engine.head.outcomes import WorkerEnding
from nbaccel.local_engine.head.poll import LoopTimers
from nbaccel.local_engine.head.tasks.arguments import Arguments
from nbaccel.local_engine.head.tasks.conclusions import Conclusions, ErrorNews
from nbaccel.local_engine.head.tasks.functions import Functions
from nbaccel.local_engine.head.tasks.returns import Judge, Returns
from nbaccel.local_engine.head.tasks.streams import StreamRelay
from nbaccel.local_engine.head.tasks.submissions import SubmissionIntake
from nbaccel.scheduling.terms import Task


class TaskFlow:
    """What is heard of tasks, and what is concluded from it. The order of the parts: each is given the earlier ones."""

    def __init__(
        self,
        records: HeadRecords,
        context: ObjectContext,
        arguments: Arguments,
        actors: Actors,
        errors: ErrorNews,
        leftovers: Judge,
        send: Send,
        tell: Tell,
        note: Note,
        *,
        endings: Mapping[bytes, WorkerEnding],
        zygote_for: Callable[[str, str], str],
        after_failure: Callable[[bytes, Assigned, Callable[[], None]], None],
        changed: Callable[[], None],
        ended: Callable[[Task], None],
        is_shared: bool,
        timers: LoopTimers | None = None,
    ) -> None:
        scheduler, objects, environments = records.scheduler, records.objects, records.environments
        fill, placed, filled = partial(delivery.fill, context), partial(lineage.placed, context), context.store.filled
        self.functions = Functions(objects, records.peers, send, timers)
        makers = partial(lineage.terms, context)
        self.functions.named_by = [scheduler.unfinished_terms, makers, arguments.terms, actors.terms]
        if arguments.failed_calls is not None:
            arguments.failed_calls.captured = self.functions.captured
        self.streams = StreamRelay(
            scheduler, objects, records.peers, records.workers, send, tell, fill=fill, filled=filled, placed=placed
        )
        self.conclusions = Conclusions(
            scheduler, context, arguments, self.streams, actors, errors, endings, tell, ended, records.peers, send
        )
        self.submissions = SubmissionIntake(
            objects,
            arguments,
            self.functions,
            environments,
            records.jobs,
            tell,
            self.conclusions,
            fill=fill,
            read=errors.read,
            cancelled=partial(lineage.cancelled, context),
            actor_submitted=actors.submitted,
            zygote_for=zygote_for,
            is_shared=is_shared,
        )
        self.returns = Returns(
            scheduler,
            objects,
            environments,
            tell,
            note,
            leftovers,
            filled=filled,
            creation_failed=self.conclusions.creation_failed,
            after_failure=after_failure,
            changed=changed,
        )

    def together(self) -> dict[str, dict[type, Together]]:
        """Of each role the messages that are handled together: how many of them, and by what."""
        return {
            "driver": {wire.Submit: (self.submissions.alike, self.submissions.submit_all)},
            "worker": {wire.Done: (self.returns.alike, self.returns.take_all), **self.streams.together()},
        }

    def of_clients(self) -> dict[type, Handler]:
        """What drivers and workers may say of tasks that they submit."""
        return {**self.submissions.handlers(), **self.streams.of_clients()}

    def of_workers(self) -> dict[type, Handler]:
        """What workers may say of tasks that they run."""
        return {**self.returns.handlers(), **self.streams.of_workers()}
