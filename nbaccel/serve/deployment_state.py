"""One deployment in the controller: its replicas, and the task that brings them to what is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pickle
import secrets
import time
from collections.abc import Callable
from typing import Any

import msgspec

import nbaccel
from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.internal_work import actor_of_a_run
from nbaccel.serve.controlling import Scaler, Seen, State, back_off_s, next_step
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.link import FrameKind, FrameLink, LinkLost, connect
from nbaccel.serve.records import (
    ControlCall,
    DeploymentSpec,
    ErrorWords,
    Membership,
    Target,
    decode_failure,
    encode,
)
from nbaccel.serve.replica import ReplicaActor
from nbaccel.serve.routing import Route
from nbaccel.util.scheduling_strategies import NodeAffinitySchedulingStrategy

DOOR_QUEUE = 1000  # requests that may wait at the door, unless max_queued_requests is given: memory is finite
SCALE_S = 0.5  # between two looks at the demand
PULSE_S = 5.0  # a loop that does not turn for so long is blocked
_REASON_S = 0.1  # so long a request that a dead replica had may wait for the reason
_EXPLAIN_S = 1.0  # a replica that has not begun after so long is explained
_HEALTHY_S = 10.0  # after so long, earlier deaths no longer count
_LAST_S = 5.0  # in which a killed process goes
_FAILED_CHECKS = 3


class UserFailure(Exception):
    """User code raised while it was deployed. `error` is the pickled exception, `words` describes it."""

    def __init__(self, error: bytes, words: ErrorWords) -> None:
        super().__init__(f"{words.type}: {words.message}")
        self.error = error
        self.words = words


Submit = Callable[[Callable[[], Any]], Any]


class ReplicaRecord:
    """One replica, as the controller knows it."""

    def __init__(self, tag: str, spec: DeploymentSpec, actor: Any) -> None:
        self.tag = tag
        self.spec = spec
        self.actor = actor
        self.state = State.STARTING
        self.since = time.time()
        self.facts: dict[str, Any] = {}
        self.link: FrameLink | None = None
        self.waits = ""  # why it has not begun
        self.blocked = ""  # the stack of its loop, if that does not turn
        self.batches = [0, 0, 0]  # how many, of how many items, and how many one may have
        self.failed_checks = 0
        self.tasks: list[asyncio.Task[None]] = []


class _Route(Route):
    """The door's own route, which learns why a replica ended."""

    def __init__(self, name: str, reasons: dict[str, asyncio.Future[str]]) -> None:
        super().__init__(name)
        self._reasons = reasons

    async def why_it_died(self, tag: str) -> str:
        reason = self._reasons.get(tag)
        if reason is None:
            reason = self._reasons[tag] = asyncio.get_running_loop().create_future()
        await asyncio.wait([reason], timeout=_REASON_S)
        return reason.result() if reason.done() else f"Replica {tag} ended."


class DeploymentState:
    """Brings a deployment to its goal, whatever happens meanwhile."""

    def __init__(
        self,
        folder: str,
        goal: DeploymentSpec,
        members_changed: Callable[[DeploymentState], None],
        wake_app: Callable[[], None],
        submit: Submit,
    ) -> None:
        self.app, self.name = goal.app, goal.name
        self.goal = goal
        self.replicas: dict[str, ReplicaRecord] = {}
        self.failure: BaseException | None = None
        self.unavailable = ""
        self.last_error: dict[str, Any] = {}
        self.note = ""  # what is special now, in words
        self.restarts = 0
        self.queues: dict[Any, int] = {}  # of callers in other processes, as they report them
        self.is_gone = asyncio.Event()
        self._folder = folder
        self._members_changed = members_changed
        self._wake_app = wake_app
        self._submit = submit
        self._reasons: dict[str, asyncio.Future[str]] = {}
        self.route: Route = _Route(f"{goal.name} of {goal.app}", self._reasons)
        self._ranks = itertools.count()
        self._deaths = 0  # in a row
        self._came_up = False  # a replica of the goal has served
        self._start_at = 0.0  # of the loop's clock; not before
        self._room: bool | None = None
        self._scaler = Scaler(goal.scaling, goal.num_replicas) if goal.scaling is not None else None
        self._scaling: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._task = asyncio.ensure_future(self._tend())

    # ---- what is wanted

    def set_goal(self, goal: DeploymentSpec) -> None:
        self._came_up = self._came_up and goal.version == self.goal.version
        self.goal = goal
        self._scaler = self._scaler_of(goal)
        self.failure = None
        self.note = ""
        self._deaths, self._start_at, self._room = 0, 0.0, None
        self._woken.set()

    def _scaler_of(self, goal: DeploymentSpec) -> Scaler | None:
        """With the replicas that there are, as far as the new bounds allow."""
        if goal.scaling is None:
            return None
        replicas = self._scaler.replicas if self._scaler is not None else goal.num_replicas
        bounds = goal.scaling
        return Scaler(bounds, max(1, bounds.min_replicas, min(bounds.max_replicas, replicas)))

    @property
    def wanted(self) -> int:
        """The replicas that the goal wants now."""
        return self._scaler.replicas if self._scaler is not None else self.goal.num_replicas

    def delete(self, why: str) -> None:
        """Want no replica any more; `is_gone` is set when none is left."""
        self.unavailable = why
        self._woken.set()
        self._publish()

    def is_up(self) -> bool:
        """Whether a replica of the goal answers, and none of another version any more."""
        running = [each for each in self.replicas.values() if each.state is State.RUNNING]
        return bool(running) and all(each.spec == self.goal for each in running)

    # ---- the task

    async def _tend(self) -> None:
        while True:
            try:
                await self._tend_once()
            except Exception as error:  # whatever it is, the user has to know: nothing else tends this deployment
                self._fail(RayServeException(f"{self.name} of {self.app} cannot be served: {error!r}"))
            if self.unavailable and not self.replicas:
                self.route.close()
                self.is_gone.set()
                return
            await self._woken.wait()
            self._woken.clear()

    async def _tend_once(self) -> None:
        while True:
            await self._reconfigure()
            wanted = 0 if self.unavailable else self.wanted
            seen = [
                Seen(each.tag, each.spec.version == self.goal.version, each.state) for each in self.replicas.values()
            ]
            if self.unavailable:
                seen = [Seen(each.tag, True, each.state) for each in seen]
            step = next_step(wanted, seen, holds_devices=self.goal.uses_devices, room=self._room)
            self._room = None
            if step.has_gap:
                self.note = "There is no room for the old and the new version: requests wait until the new one is up."
            for tag in step.stop:
                self._stop(self.replicas[tag])
            if step.ask_room:
                self._room = await self._has_room()
                continue
            if step.start and self.failure is None:
                self._start_or_wait(step.start)
            return

    def _start_or_wait(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        wait_s = self._start_at - loop.time()
        if wait_s > 0:
            loop.call_later(wait_s, self._woken.set)
            return
        for _ in range(number):
            self._start()

    async def _has_room(self) -> bool:
        options = pickle.loads(self.goal.actor_options)
        requested = {
            name: value
            for name, value in options.items()
            if name
            in ("num_cpus", "num_gpus", "memory", "resources", "accelerator_type", "gpu_memory", "label_selector")
        }
        found = await asyncio.to_thread(lambda: nbaccel.probe(**requested))
        return bool(found)

    async def _reconfigure(self) -> None:
        """Give replicas of the same code the goal's limits and config."""
        for each in list(self.replicas.values()):
            same_code = each.spec.version == self.goal.version
            if self.unavailable or each.state is not State.RUNNING or each.spec == self.goal or not same_code:
                continue
            goal = self.goal
            frame = await self._ask(each, "reconfigure", encode(goal))
            if frame is not None and frame.kind is FrameKind.ERROR:
                self._fail(UserFailure(frame.body, decode_failure(frame.meta)))
                return
            each.spec = goal
            self._publish()

    # ---- a replica's life

    def _start(self) -> None:
        tag = f"{self.name[:40].replace('/', '_')}-{secrets.token_hex(4)}"
        options = pickle.loads(self.goal.actor_options)
        if engines.current().name == "ray":  # its nodes may be other machines, which no Unix socket reaches
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(
                nbaccel.get_runtime_context().get_node_id(), soft=False
            )
        made: Any = actor_of_a_run(ReplicaActor)
        made._name = self.name  # as views show it
        actor = self._submit(made.options(max_concurrency=4, max_restarts=0, **options).remote)
        record = self.replicas[tag] = ReplicaRecord(tag, self.goal, actor)
        record.tasks.append(asyncio.ensure_future(self._begin(record)))
        self._wake_app()

    async def _begin(self, record: ReplicaRecord) -> None:
        """Wait for the constructor, then let the replica serve."""
        rank = next(self._ranks)
        begun = self._submit(lambda: record.actor.begin.remote(encode(record.spec), record.tag, rank, self._folder))
        explaining = asyncio.ensure_future(self._explain(record))
        try:
            facts = await begun
        except exceptions.RayActorError as error:
            await self._died_while_starting(record, str(error))
            return
        except exceptions.RayError as error:
            self._forget(record)
            self._fail(RayServeException(f"A replica of {self.name} cannot start: {error}"))
            return
        finally:
            explaining.cancel()
        if "error" in facts:
            self._forget(record)
            words = decode_failure(facts["words"])
            self._note_error(words)
            if self._came_up:  # the same code has worked before
                self._deaths += 1
                self._back_off()
            else:
                self._fail(UserFailure(facts["error"], words))
            return
        record.facts, record.waits = facts, ""
        try:
            record.link = await connect(facts["path"], lambda: FrameLink(lost=lambda link: self._link_lost(record)))
        except OSError as error:
            await self._died_while_starting(record, str(error))
            return
        if record.state is State.STARTING:  # nobody has stopped it meanwhile
            record.state = State.RUNNING
            record.since = time.time()
            self._came_up = self._came_up or record.spec.version == self.goal.version
            record.tasks.append(asyncio.ensure_future(self._watch_over(record)))
            if self._scaling is None and self._scaler is not None:
                self._scaling = asyncio.ensure_future(self._scale())
            self.note = ""
            self._publish()
            self._woken.set()

    async def _explain(self, record: ReplicaRecord) -> None:
        """Note from time to time why the replica has not begun."""
        while True:
            await asyncio.sleep(_EXPLAIN_S)
            try:
                record.waits = await self._why_it_waits(record)
            except exceptions.RayError:
                continue  # it has ended, and its start fails as well
            self._wake_app()

    async def _why_it_waits(self, record: ReplicaRecord) -> str:
        """It waits for devices, or its constructor runs."""
        found = await asyncio.to_thread(lambda: nbaccel.explain(record.actor))
        if found.state not in ("ALIVE", "RUNNING"):
            return str(found.sentence)
        where: str = await record.actor.where.remote()
        return f"its constructor has been running for {time.time() - record.since:.0f} s" + (where and f", in {where}")

    async def _died_while_starting(self, record: ReplicaRecord, why: str) -> None:
        if record.tag not in self.replicas:
            return
        self._forget(record)
        self._deaths += 1
        if self._deaths > self.goal.max_constructor_retry_count or (self._deaths >= 3 and not self._has_running()):
            self._fail(
                RayServeException(f"A replica of {self.name} ended {self._deaths} times while it started: {why}")
            )
            return
        self._back_off()

    def _has_running(self) -> bool:
        return any(each.state is State.RUNNING for each in self.replicas.values())

    def _back_off(self) -> None:
        self._start_at = asyncio.get_running_loop().time() + back_off_s(self._deaths)
        self._woken.set()

    def _stop(self, record: ReplicaRecord) -> None:
        """End a replica after what it has under way."""
        was, record.state = record.state, State.STOPPING
        self._publish()
        record.tasks.append(asyncio.ensure_future(self._end(record, drain=was is State.RUNNING)))

    async def _end(self, record: ReplicaRecord, *, drain: bool) -> None:
        if drain and record.link is not None:
            try:
                await asyncio.wait_for(self._ask(record, "drain"), record.spec.graceful_shutdown_timeout_s)
            except TimeoutError:
                pass  # it has had its time
        self._kill(record)
        try:  # its devices are free when it has gone
            await asyncio.wait_for(_awaited(record.actor.look.remote()), _LAST_S)
        except (exceptions.RayError, TimeoutError):
            pass  # as it should
        self._forget(record)
        self._woken.set()

    def _forget(self, record: ReplicaRecord) -> None:
        """The replica is gone, or is ended now."""
        self.replicas.pop(record.tag, None)
        self._publish()
        for task in record.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        self._kill(record)
        self._wake_app()

    def _kill(self, record: ReplicaRecord) -> None:
        if record.link is not None:
            record.link.close()
        try:
            nbaccel.kill(record.actor)
        except exceptions.RayError:
            pass  # the cluster is ending
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._folder, record.tag))

    def _link_lost(self, record: ReplicaRecord) -> None:
        """The replica's process has ended by itself."""
        if record.tag in self.replicas and record.state is State.RUNNING:
            record.state = State.STOPPING
            self._publish()
            record.tasks.append(asyncio.ensure_future(self._died(record)))

    async def _died(self, record: ReplicaRecord) -> None:
        self._deaths = 1 if time.time() - record.since > _HEALTHY_S else self._deaths + 1
        self.restarts += 1
        self._back_off()
        why = "it closed its connections"
        try:
            await asyncio.wait_for(_awaited(record.actor.look.remote()), PULSE_S)
        except exceptions.RayError as error:
            why = str(error).partition("\n")[0]
        except TimeoutError:
            pass
        words = f"Replica {record.tag} ended: {why.rstrip('.')}."
        self._note_error(ErrorWords("ReplicaDied", words, ""))
        reason = self._reasons.pop(record.tag, None)
        if reason is not None and not reason.done():
            reason.set_result(words)
        self._forget(record)
        self._woken.set()

    # ---- scaling

    async def _scale(self) -> None:
        """Look once a second what is under way, for as long as the deployment has bounds and is there."""
        while not self.unavailable:
            await asyncio.sleep(SCALE_S)
            scaler = self._scaler
            if scaler is None or self.failure is not None or not self._has_running():
                continue
            number = scaler.look(await self._demand(), time.monotonic())
            if number > scaler.replicas and self.goal.uses_devices:  # one at a time, and not before others who wait
                number = scaler.replicas + 1 if await self._has_room() else scaler.replicas
            if number != scaler.replicas and scaler is self._scaler:
                scaler.replicas = number
                self._woken.set()

    async def _demand(self) -> float:
        """Requests under way and queued, the door's and those of other callers."""
        serving = [each for each in self.replicas.values() if each.state is State.RUNNING and not each.blocked]
        answers = await asyncio.gather(*(self._ask(each, "state") for each in serving))
        states = [msgspec.msgpack.decode(frame.body) for frame in answers if frame is not None]
        under_way: int = sum(state["ongoing"] for state in states)
        return under_way + self.route.queued + sum(self.queues.values())

    # ---- watching over one

    async def _watch_over(self, record: ReplicaRecord) -> None:
        """Ask a running replica from time to time, through the loop that its requests go through."""
        check_at = time.monotonic() + record.spec.health_check_period_s
        while record.state is State.RUNNING:
            await asyncio.sleep(min(PULSE_S, record.spec.health_check_period_s))
            is_check = record.facts["checks"] and time.monotonic() >= check_at
            if is_check:
                check_at = time.monotonic() + record.spec.health_check_period_s
            answer = asyncio.ensure_future(self._ask(record, "check" if is_check else "state"))
            done, _ = await asyncio.wait([answer], timeout=min(PULSE_S, record.spec.health_check_timeout_s))
            if not done:
                await self._look(record)
                await asyncio.wait([answer])
                self._unblock(record)
            frame = answer.result()
            if is_check and frame is not None:
                self._checked(record, decode_failure(frame.meta) if frame.kind is FrameKind.ERROR else None)
            elif frame is not None:
                state = msgspec.msgpack.decode(frame.body)
                record.batches = state["batches"]
                self._look_at_threads(record, state["left"])

    def _look_at_threads(self, record: ReplicaRecord, left: int) -> None:
        """A plain method whose caller has gone keeps its thread: a replica that has no other is replaced."""
        if left >= record.spec.max_ongoing_requests and record.state is State.RUNNING:
            words = (
                f"All {left} threads of replica {record.tag} are in calls whose callers have gone: it is replaced. A "
                "plain method cannot be stopped; let it look at a deadline of its own."
            )
            self._note_error(ErrorWords("ThreadsLost", words, ""))
            self.restarts += 1
            self._stop(record)
            self._woken.set()

    async def _look(self, record: ReplicaRecord) -> None:
        """It has not answered: a blocked loop gets no more requests until it turns again."""
        try:
            stack = await record.actor.look.remote()
        except exceptions.RayError:
            return  # its link ends as well
        if stack and record.state is State.RUNNING:
            record.blocked = stack
            self.note = (
                f"The loop of replica {record.tag} is blocked, and gets no more requests until it turns: async code "
                "must not wait without `await`. Make the method a plain `def`, or use asyncio.to_thread."
            )
            self._publish()

    def _unblock(self, record: ReplicaRecord) -> None:
        if record.blocked:
            record.blocked, self.note = "", ""
            self._publish()

    def _checked(self, record: ReplicaRecord, failure: ErrorWords | None) -> None:
        if failure is None:
            record.failed_checks = 0
            return
        record.failed_checks += 1
        self._note_error(failure)
        if record.failed_checks >= _FAILED_CHECKS and record.state is State.RUNNING:
            self.restarts += 1
            self._stop(record)
            self._woken.set()

    async def _ask(self, record: ReplicaRecord, what: str, body: bytes = b"") -> Any:
        """The frame of the answer; None if the replica has gone."""
        if record.link is None:
            return None
        try:
            return await record.link.ask(encode(ControlCall(what)), body)
        except LinkLost:
            return None

    # ---- others

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        self._wake_app()

    def _note_error(self, failure: ErrorWords) -> None:
        self.last_error = {
            "time": time.time(),
            "type": failure.type,
            "message": failure.message,
            "traceback": failure.traceback,
        }

    def note_error(self, failure: ErrorWords) -> None:
        """A request failed in user code."""
        self._note_error(failure)

    def members(self) -> Membership:
        serving = [each for each in self.replicas.values() if each.state is State.RUNNING]
        free = [each for each in serving if not each.blocked] or serving
        return Membership(
            [Target(each.tag, each.facts["path"], each.spec.max_ongoing_requests) for each in free],
            self.goal.max_queued_requests,
            self.goal.retry_on_death,
            self.unavailable,
            self._scaler is not None,
        )

    def _publish(self) -> None:
        """Give all callers the members as they are now."""
        members = self.members()
        bounded = DOOR_QUEUE if members.max_queued_requests < 0 else members.max_queued_requests
        self.route.set(msgspec.structs.replace(members, max_queued_requests=bounded))
        self._members_changed(self)
        self._wake_app()

    def status(self) -> dict[str, Any]:
        states: dict[str, int] = {}
        for each in self.replicas.values():
            states[each.state.value] = states.get(each.state.value, 0) + 1
        requested = pickle.loads(self.goal.actor_options)
        waits = "; ".join(sorted({each.waits for each in self.replicas.values() if each.waits}))
        return {
            "status": self._status_word(),
            "states": states,
            "message": str(self.failure) if self.failure is not None else self.note or waits,
            "waits": waits,
            "wanted": self.wanted,
            "replicas": [self._row(each) for each in self.replicas.values()],
            "last_error": self.last_error,
            "restarts": self.restarts,
            "queue_limit": self.route.max_queued,
            "max_ongoing_requests": self.goal.max_ongoing_requests,
            "asks": {name: requested[name] for name in ("num_gpus", "num_cpus") if requested.get(name)},
        }

    def _row(self, record: ReplicaRecord) -> dict[str, Any]:
        known = self.route.replicas.get(record.tag)
        return {
            "tag": record.tag,
            "state": record.state.value,
            "pid": record.facts.get("pid"),
            "device_ids": record.facts.get("device_ids", {}),
            "fallback": record.facts.get("fallback", ""),
            "since": record.since,
            "blocked": record.blocked,
            "batches": record.batches,
            "ongoing": known.under_way if known is not None else 0,  # of the door's requests
            "actor_id": record.actor._actor_id.hex(),
        }

    def _status_word(self) -> str:
        if self.failure is not None:
            return "DEPLOY_FAILED"
        running = [each for each in self.replicas.values() if each.state is State.RUNNING]
        new = [each for each in running if each.spec.version == self.goal.version]
        if any(each.blocked for each in running) and len(new) >= self.wanted:
            return "UNHEALTHY"
        return "HEALTHY" if len(new) >= self.wanted and len(new) == len(self.replicas) else "UPDATING"


async def _awaited(ref: Any) -> Any:
    return await ref
