"""What drivers and workers ask the head, beside what observers may ask too (`views.observer_lines`).

A question travels in a `QuestionMessage`, its answer in an `Answer`. The number of a question without an answer is 0.
"""

from __future__ import annotations

from typing import Any

import msgspec

from nbaccel.local_engine.wire.messages import QuestionMessage
from nbaccel.scheduling.terms import Choice
from nbaccel.views.explanations import ExpectedGrowth, Probe
from nbaccel.views.observer_lines import Question
from nbaccel.views.snapshot import ListedGroup, ListedNode, ObjectPlaces

NO_ANSWER = 0  # the request number of a question that needs no answer


def notified(question: Question[None]) -> QuestionMessage:
    """The message of a question that nobody waits for."""
    return QuestionMessage(NO_ANSWER, question.tag(), question.body())


class Synchronise(Question[None], tag="sync"):
    """Ask for nothing: what the head had for the asker before this question arrives before its answer."""


class AwaitOutput(Question[None], tag="await_output"):
    """Ask for nothing: what has been printed until now, and has a driver, is sent to it before this answer."""


# ---- objects


class Pin(Question[None], tag="pin"):
    """A ref was pickled by hand and may come back at any time: keep it for the job's life."""

    id: bytes


class MoveFirst(Question[None], tag="only_in_history"):
    """Only a notebook's output history holds these objects: move them to disk first."""

    ids: list[bytes]


class LocateObjects(Question[list[ObjectPlaces]], tag="object_locations"):
    """Ask on which nodes these objects are, and how large they are."""

    ids: list[bytes]


class FindResults(Question[list[bytes]], tag="results_of"):
    """Ask for the ids of a task's results that still exist, in their order."""

    task_id: str


class GarbageCollected(Question[None], tag="collected"):
    """This process has looked for cycles that hold refs, after the head had asked for it with this number."""

    number: int = 0
    took_s: float = 0.0  # of a CPU: a machine that is busy with other work makes the round longer, and no dearer


# ---- room for work to come


class RequestResources(Question[bool], tag="request_resources"):
    """Have room for these bundles, in place of those of the request before; whether this cluster can grow at all."""

    bundles: list[dict[str, float]]
    labels: list[dict[str, str]] = []  # of each bundle, or none at all


class HoldResources(Question[bool], tag="hold_resources"):
    """Have room for these bundles besides, until this process ends or asks again with the same id and no bundle."""

    id: str
    bundles: list[dict[str, float]]


class ForecastGrowth(Question[ExpectedGrowth | None], tag="forecast_growth"):
    """What a further request for these bundles would bring; None if this cluster cannot grow. Nothing is asked for."""

    bundles: list[dict[str, float]]


class MoveObjects(Question[tuple[int, int]], tag="move_objects"):
    """Copy what lies only on this node to the head's node; the number of objects, and their bytes."""

    node: str  # its name


# ---- the asking worker


class ProcessChanged(Question[None], tag="spoiled"):
    """A task has changed this worker's process for good, so that later tasks could fail in it."""

    name: str  # of the task
    why: str
    advice: str
    cell: str
    parent: bytes


class ActorLeaves(Question[None], tag="leaves"):
    """Code of this worker's actor that belongs to no call has ended the actor."""


# ---- tasks and actors


class IsActorTask(Question[bool], tag="is_actor_task"):
    """Ask whether this is a call of an actor's method."""

    task_id: bytes


class ConnectActor(Question[None], tag="connect_actor"):
    """Have a connection to this actor, as soon as it is there, if it may be called directly."""

    actor_id: bytes


class ReserveName(Question[bool], tag="reserve_name"):
    """Take a name for an actor that is about to be made; False when it is taken."""

    name: str
    namespace: str
    actor_id: bytes


class ReleaseName(Question[None], tag="release_name"):
    """The actor for which a name was reserved is not made after all."""

    actor_id: bytes


class NamedActor(msgspec.Struct, array_like=True, frozen=True):
    """What a handle of an actor is made of."""

    actor_id: bytes
    class_name: str
    methods: bytes  # pickled


class FindActor(Question[NamedActor], tag="get_actor"):
    """Ask for the actor of this name. The error is a ValueError when there is none."""

    name: str
    namespace: str


class ListNamedActors(Question[list[tuple[str, str]]], tag="list_named_actors"):
    """Ask for (name, namespace) of the named actors of one namespace, or of all."""

    namespace: str | None = None


# ---- records for whoever looks


class Publish(Question[None], tag="publish"):
    """Show this record in every snapshot until the asker ends; without a record, the one of this id no more.

    `rows` are those of the record's rows that have changed, by their keys.
    """

    kind: str
    id: str
    record: dict[str, Any] | None = None
    rows: dict[str, dict[str, Any]] = {}


# ---- the cluster


class ListNodes(Question[list[ListedNode]], tag="nodes"):
    """Ask for the nodes, for nbaccel.nodes()."""


class TotalResources(Question[dict[str, float]], tag="cluster_resources"):
    """Ask what the nodes that live have in all."""


class FreeResources(Question[dict[str, float]], tag="available_resources"):
    """Ask what the nodes that live have free."""


class ProbeChoice(Question[Probe], tag="probe"):
    """Ask what a task with this demand would meet, were it submitted now."""

    choice: Choice


class ReadState(Question[msgspec.Raw], tag="state"):
    """Ask for at most `limit` rows of a kind, for nbaccel.util.state. The answer is a list of the kind's records."""

    kind: str  # the name of the record's class
    limit: int


class ReadTimeline(Question[list[dict[str, Any]]], tag="timeline"):
    """Ask for Chrome trace events of the tasks that are known."""


class ExpectImports(Question[None], tag="expect_imports"):
    """Workers are likely to import these modules: load them beforehand."""

    modules: list[str]


# ---- placement groups


class CreateGroup(Question[None], tag="create_group"):
    """Ask for a placement group; it is placed later."""

    group_id: bytes
    bundles: list[dict[str, float]]
    strategy: str
    name: str = ""
    detached: bool = False
    bundle_labels: list[dict[str, str]] | None = None
    namespace: str = ""
    soft_node: str = ""  # hex id


class WhenGroupReady(Question[None], tag="group_ready"):
    """Give an object this value once the group is placed."""

    group_id: bytes
    object_id: bytes
    value: bytes


class RemoveGroup(Question[None], tag="remove_group"):
    group_id: bytes


class WhyNeverPlaced(Question[str], tag="why_never_placed"):
    """Ask why no group of these bundles could ever be placed; "" if it could. No group is made."""

    bundles: list[dict[str, float]]
    strategy: str


class ReadGroups(Question[list[ListedGroup]], tag="group_table"):
    """Ask for a group's row, if it is known; without an id, for all rows."""

    group_id: bytes | None = None


class FindGroup(Question[ListedGroup | None], tag="find_group"):
    """Ask for the row of the group that has this name."""

    name: str
    namespace: str
