"""Asks Ray about unfinished work: whether it has ended, whether an actor is placed, which demands wait."""

from __future__ import annotations

from collections.abc import Mapping

import ray

from nbaccel.ray_engine.border.rays import RaysRef, RaysStream, is_stream
from nbaccel.ray_engine.reports.notes import ActorFacts
from nbaccel.ray_engine.submission.submissions import Submission

Demand = tuple[tuple[str, float], ...]

_TIMEOUT_S = 5.0


def demand_of(quantities: Mapping[str, float]) -> Demand:
    """The same for the same demand."""
    return tuple(sorted((name, round(amount, 4)) for name, amount in quantities.items() if amount))


class OutstandingWork:
    """Asks for one driver. `reaches_head`: False through Ray Client, which tells neither of actors nor of lines."""

    def __init__(self, *, reaches_head: bool) -> None:
        self.reaches_head = reaches_head

    def over(self, work: list[Submission], *, or_let_go: bool) -> set[bytes]:
        """The tasks that have ended and the actors that have their place; `or_let_go`: and what can not be asked any
        more, since nobody holds its ref.
        """
        refs: dict[RaysRef, bytes] = {}
        actors: dict[str, bytes] = {}
        found: set[bytes] = set()
        for each in work:
            ref = each.inner()
            if ref is None or (each.actor_id and not self.reaches_head):
                found |= {each.task_id} if or_let_go else set()
            elif each.actor_id:
                actors[each.actor_id.hex()] = each.task_id
            else:
                refs[_end_of(ref._inner)] = each.task_id
        done, _ = ray.wait(list(refs), num_returns=len(refs), timeout=0, fetch_local=False) if refs else ([], [])
        rows = ray._private.state.actors() if actors else {}
        placed = {task_id for actor_id, task_id in actors.items() if _is_placed(rows.get(actor_id))}
        return found | {refs[ref] for ref in done} | placed

    def in_line(self) -> dict[Demand, int]:
        """How many requests of each demand Ray's nodes could not start yet, of all jobs of the cluster."""
        if not self.reaches_head:
            return {}
        reply = ray._private.worker.global_worker.gcs_client.get_all_resource_usage(timeout=_TIMEOUT_S)
        found: dict[Demand, int] = {}
        for each in reply.resource_usage_data.resource_load_by_shape.resource_demands:
            demand = demand_of(each.shape)
            number = each.num_ready_requests_queued + each.num_infeasible_requests_queued + each.backlog_size
            if number:
                found[demand] = found.get(demand, 0) + int(number)
        return found


def _end_of(inner: RaysRef | RaysStream) -> RaysRef:
    """Ray's ref that is ready once the task has ended."""
    return inner.completed() if is_stream(inner) else inner


def _is_placed(row: ActorFacts | None) -> bool:
    """Whether an actor has its resources, or has ended; its constructor may run still."""
    if not row or row["State"] == "DEPENDENCIES_UNREADY":
        return False
    return row["State"] != "PENDING_CREATION" or bool(row["Address"]["NodeID"].strip("f"))
