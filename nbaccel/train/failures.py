"""Failures of a run: their messages, short and with what to do, and which node was lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import nbaccel
from nbaccel import exceptions
from nbaccel.train import storage
from nbaccel.train.controller import Notify
from nbaccel.train.errors import ControllerError, TrainingFailedError, WorkerGroupError
from nbaccel.train.loops import is_of_users_code
from nbaccel.train.ranks import Seat
from nbaccel.views import sinks, wording
from nbaccel.views.snapshot import DeviceRow, NodeRow, Snapshot
from nbaccel.views.stack_text import FRAME

if TYPE_CHECKING:
    from nbaccel.train.configs import RunConfig
    from nbaccel.train.records import Records
    from nbaccel.train.worker import LastWords
    from nbaccel.train.worker_group import WorkerGroup


_LONGEST_MESSAGE = 1_000  # characters of the user's exception
_LINES = 8
_LONGEST_LINE = 300  # characters of what a view says of an error


def cause_of(error: BaseException) -> BaseException:
    """The exception of the user's code; for a worker that died, the error that says so."""
    return error.cause if isinstance(error, exceptions.RayTaskError) and error.cause is not None else error


def worker_group_error(
    first: int,
    errors: Mapping[int, BaseException],
    words: Mapping[int, LastWords],
    records: Records,
    note: str = "",
) -> WorkerGroupError:
    """The error of a run whose workers failed: the first failure once with a note, the others counted."""
    causes = {rank: cause_of(error) for rank, error in errors.items()}
    lines = [_heading(first, errors, words.get(first), records)]
    last_words = words.get(first)
    if isinstance(causes[first], exceptions.NodeDiedError):
        lines = [f"{lines[0].removesuffix('.')}: {causes[first]}."]
    elif last_words is not None:
        lines += last_words.frames
        lines += _message(f"{last_words.kind}: {last_words.message}" if last_words.message else last_words.kind)
        lines += [f"(caused by {last_words.caused_by})"] if last_words.caused_by else []
    else:
        lines += _message(_named(causes[first]))
    if note:
        lines.append(note)
    others = sorted(set(errors) - {first})
    if others:
        lines.append(f"({_ranks(others)} then failed as well: {_others(first, causes)}.)")
    latest = records.latest_name()
    lines.append(
        f"Run it again under the same name and it goes on from {latest}; error.result is what there is."
        if latest
        else "It has no checkpoint to go on from; error.result is what there is."
    )
    error = WorkerGroupError("\n".join(lines), causes, first)
    error.__cause__ = causes[first]
    return error


def _others(first: int, causes: Mapping[int, BaseException]) -> str:
    """Where to look, or the first node that was lost: those who lost a rank in the middle of an operation fail before
    the cluster knows of its node's end.
    """
    lost = [each for rank, each in sorted(causes.items()) if isinstance(each, exceptions.NodeDiedError)]
    if lost and not isinstance(causes[first], exceptions.NodeDiedError):
        return str(lost[0])
    return "error.worker_failures has all of them"


def _heading(first: int, errors: Mapping[int, BaseException], last_words: LastWords | None, records: Records) -> str:
    after = f" (after {records.latest_name()})" if records.latest_name() else ""
    where = f", before its report {last_words.report}" if last_words is not None else ""
    return f"rank {first} failed{where}{after}{_place(last_words)}{_devices(errors[first])}."


def _place(last_words: LastWords | None) -> str:
    """The line of the user's code that raised, as the last frame has it: ", in cell [7] line 31"."""
    frames = [found for line in last_words.frames if (found := FRAME.search(line))] if last_words is not None else []
    return f", in {sinks.installed.place(frames[-1]['file'], frames[-1]['line'])}" if frames else ""


def _devices(error: BaseException) -> str:
    """The devices of a worker, as far as the engine knows them."""
    ids = getattr(error, "device_ids", None) or {}
    found = [f"{name} {', '.join(each)}" for name, each in ids.items() if each]
    pid = getattr(error, "pid", None)
    return "".join([*(f", on {each}" for each in found), f", pid {pid}" if pid else ""])


def _named(error: BaseException) -> str:
    message = str(error).strip()
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _message(text: str) -> list[str]:
    lines = text[:_LONGEST_MESSAGE].splitlines()
    return lines if len(lines) <= _LINES else [*lines[: _LINES - 1], "…"]


def first_line(error: BaseException | None) -> str:
    """The first line of an error, short enough for a view."""
    first = str(error).splitlines()[0] if error is not None and str(error) else ""
    if isinstance(error, WorkerGroupError) and error.first_rank in error.worker_failures:
        cause = error.worker_failures[error.first_rank]
        if not isinstance(cause, exceptions.NodeDiedError):  # the first line has it already
            first = f"{first.removesuffix('.')}: {_in_one_line(cause)}"
    return first[:_LONGEST_LINE]


def short(rank: int, errors: Mapping[int, BaseException]) -> str:
    """A failure in one line."""
    cause = cause_of(errors[rank]) if rank in errors else None
    if isinstance(cause, exceptions.NodeDiedError):
        return f"rank {rank}: {cause}"
    return f"rank {rank}: {_in_one_line(cause) if cause is not None else 'unknown'}"


def _in_one_line(error: BaseException) -> str:
    """Its class, the first line of its message, and the notes that explain it."""
    notes = " ".join(getattr(error, "__notes__", ()))
    return _named(error).splitlines()[0][:200] + (f" ({notes[:_LONGEST_LINE]})" if notes else "")


def restarting(name: str, rank: int, errors: Mapping[int, BaseException], records: Records, config: RunConfig) -> str:
    latest = records.latest_name() or "its beginning"
    allowed = config.failure_config.max_failures
    count = f"failure {len(records.past.failures) + 1}" + (f" of {allowed} that it may have" if allowed >= 0 else "")
    return f"{name}: {short(rank, errors)}; it starts again from {latest} ({count})."


def about_ranks(name: str, order: Notify, standing: Sequence[str]) -> str:
    """A sentence about ranks that keep, or may keep, the others waiting."""
    who = [
        f"rank {rank} {words}" if words else f"rank {rank} does not say where it is"
        for rank, words in zip(order.ranks, standing, strict=True)
    ]
    where = "; ".join(who)
    match order.what:
        case "silent":
            return (
                f"{name}: {_ranks(order.ranks)} never reported, so checkpoints count as complete without "
                f"{'it' if len(order.ranks) == 1 else 'them'}."
            )
        case "missing":
            return f"{name}: the checkpoint of report {order.report} waits for {_ranks(order.ranks)}: {where}."
        case "hangs":
            ends = "its process" if len(order.ranks) == 1 else "their processes"
            return f"{name} has not ended: {where}. Stop again ends {ends}."
        case "unheard":
            return f"{name} has not reported yet: {where}."
        case "early":
            return f"{name}: other ranks have returned, {_ranks(order.ranks)} has not: {where}."
        case _:
            return f"{name} has not reported for a minute: {where}."


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def never_placed(sentence: str) -> str:
    """The engine's sentence on a placement group, as one on the worker group: the run ends and does not wait."""
    reason = sentence.partition(" cannot be placed here: ")[2] or sentence
    reason = reason.removesuffix(" It waits in case a node joins.")
    return f"The worker group can never be placed: {reason} Ask for what there is, or start the cluster with more."


def mailbox_ended(error: BaseException, latest: str) -> ControllerError:
    """The error of a run without its meeting point. `latest`: the checkpoint from which it would go on."""
    what = f"The process through which the ranks report has ended, and the run with it: {error}".rstrip(".")
    if isinstance(error, exceptions.TaskCancelledError):
        what = "The task in which the run was begun was cancelled, and the run with it"
    then = f"Run it again: it goes on from {latest}." if latest else "It has no checkpoint to go on from."
    failed = ControllerError(f"{what}. {then}", error)
    failed.__cause__ = error
    return failed


def not_shared(folder: str, hosts: Sequence[str]) -> str:
    return (
        f"the folder {folder} is not the same disk on {', '.join(hosts)}, so checkpoints travel between the machines, "
        f"up to {storage.MOST_BYTES / 1e9:.3g} GB at once. A folder that all machines share is faster: "
        "RunConfig(storage_path=...)."
    )


def of_the_run(name: str, folder: str, error: BaseException) -> TrainingFailedError:
    """The error of a run that failed outside of its workers."""
    if isinstance(error, TrainingFailedError):
        return error
    if isinstance(error, OSError) and not is_of_users_code(error):
        words = (
            f"The run {name} cannot write its folder {folder}: {error}. Make room or give another one, "
            "RunConfig(storage_path=...); run under the same name, it goes on from its latest checkpoint."
        )
    else:
        words = f"The run {name} could not go on: {type(error).__name__}: {error}"
    wrapped = ControllerError(words, error)
    wrapped.__cause__ = error
    return wrapped


def memory_of(seat: Seat, worker_group: Sequence[Seat], peak_bytes: int | None, devices: Sequence[DeviceRow]) -> str:
    """The memory of the rank's devices, what the rank itself had at most, and who else is on them; "" without a device.

    worker group     the seats of all ranks, of which some may share a device
    devices  of a snapshot; what nobody has measured is left out
    """
    mine = [row for row in devices if _has_device(seat, row)]
    if not mine:
        return ""
    peak = f" Rank {seat.rank} had at most {wording.size(peak_bytes)}." if peak_bytes is not None else ""
    return " ".join(_memory_in_use(row) + peak * (row is mine[0]) + _others_on(row, seat, worker_group) for row in mine)


def _has_device(seat: Seat, row: DeviceRow) -> bool:
    return row.node_id == seat.facts.node_id and row.id in seat.facts.device_ids.get(row.resource, ())


def _memory_in_use(row: DeviceRow) -> str:
    used = row.metrics.memory_used_bytes if row.metrics is not None else None
    total = row.memory_bytes or (row.metrics.memory_total_bytes if row.metrics is not None else None)
    if total is None:
        return f"{row.resource} {row.id} has no memory left."
    in_use = f", of which {wording.size(used)} are in use" if used is not None else ""
    return f"{row.resource} {row.id} has {wording.size(total)}{in_use}."


def _others_on(row: DeviceRow, seat: Seat, worker_group: Sequence[Seat]) -> str:
    names = {each.pid: each.name for each in row.holders if each.pid is not None}
    names |= {other.facts.pid: f"rank {other.rank}" for other in worker_group if _has_device(other, row)}
    measured = dict(row.metrics.processes) if row.metrics is not None else {}
    others = [pid for pid in names | measured if pid != seat.facts.pid]
    if not others:
        return " Nobody else is known to use it."
    words = [_user_of_memory(names.get(pid, "a program outside of nbaccel"), pid, measured.get(pid)) for pid in others]
    return f" Others on it: {', '.join(words)}."


def _user_of_memory(name: str, pid: int, size_bytes: int | None) -> str:
    return f"{name} (pid {pid}{f', {wording.size(size_bytes)}' if size_bytes is not None else ''})"


# ---- which node was lost when a worker has died or cannot be reached; Ray knows after a quarter of a minute, as a rule


_LOOK_EVERY_S = 0.5
_PATIENCE_S = 90.0  # after this nobody waits for the cluster's word
_AFTER_KILL_S = 20.0  # nor after this if the run has ended the worker: then only its node's fate is open


def instead_of(error: BaseException, seat: Seat, nodes: Sequence[NodeRow]) -> BaseException:
    """The error of a rank whose worker has died: one that names its node, if that was lost or is out of reach."""
    node = next((each for each in nodes if each.node_id == seat.facts.node_id), None)
    if node is None or (node.alive and not isinstance(error, exceptions.ActorUnavailableError)):
        return error
    what = "cannot be reached" if node.alive else f"was lost{_why(node)}"
    found = exceptions.NodeDiedError(f"its node {node.name} ({node.node_id[:8]}) {what}")
    found.__cause__ = error.with_traceback(None)
    return found


def _why(node: NodeRow) -> str:
    why = node.why.partition("\n")[0]
    return f": {why}" if why not in ("", "it was lost") else ""


def when_decided(worker_group: WorkerGroup, rank: int, received: Callable[[], None], still: Callable[[], bool]) -> None:
    """Call `told` once the cluster knows why a worker cannot be reached, in a thread of its own.

    still  whether anybody waits for it
    """

    def wait() -> None:
        began = time.monotonic()
        while still() and not _is_decided(worker_group, rank, time.monotonic() - began):
            time.sleep(_LOOK_EVERY_S)
        received()

    threading.Thread(target=wait, name="nbaccel-train-node", daemon=True).start()


def _is_decided(worker_group: WorkerGroup, rank: int, waited_s: float) -> bool:
    was_ended = rank in worker_group.ended
    if waited_s > (_AFTER_KILL_S if was_ended else _PATIENCE_S):
        return True
    try:
        seen = nbaccel.snapshot()
    except exceptions.RayError:
        return True  # the cluster has ended
    return is_known(seen, worker_group.seats[rank].facts.node_id, "" if was_ended else worker_group.actor_id(rank))


def is_known(seen: Snapshot, node_id: str, actor_id: str) -> bool:
    """Whether the cluster knows that this node is lost or this actor dead."""
    lost = any(node.node_id == node_id and not node.alive for node in seen.nodes)
    return lost or any(row.actor_id == actor_id and row.state == "DEAD" for row in seen.actors)
