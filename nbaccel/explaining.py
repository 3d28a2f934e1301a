"""Never wait without a reason: `probe` says whether a request could start, `explain` why something waits, `stack` where
its code stands.

Both ask the engine, whose answers and refusals come from the same books. Quantities are in whole resources, times are
Unix seconds. A fact that an engine cannot know is unknown and never guessed.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Never, overload

import msgspec

from nbaccel import engine as engines
from nbaccel import exceptions
from nbaccel.handles.option_checks import did_you_mean
from nbaccel.handles.options import TaskOptions, task_options
from nbaccel.handles.remote import ActorHandle, ObjectRef, ObjectRefGenerator, RemoteFunction
from nbaccel.views import experiment_snapshot, explanations, run_snapshot, wording
from nbaccel.views.experiment_snapshot import TrialRow
from nbaccel.views.explanations import Explanation, Probe, Verdict
from nbaccel.views.observer_lines import ReadRows, ReadStack
from nbaccel.views.snapshot import ActorRow
from nbaccel.views.stack_text import Stack, with_sources
from nbaccel.views.task_filter import TaskFilter

if TYPE_CHECKING:
    from nbaccel.engine import Engine
    from nbaccel.util.placement_group import PlacementGroup

VERIFY_PATIENCE_S = 60.0  # for a `verify` without `timeout_s`: a driver that hangs must not hang the notebook
_LONG_ID = re.compile("[0-9a-f]{48}(?:[0-9a-f]{8})?")  # of a task, or of its result
ENDING_PATIENCE_S = 10.0  # for a device whose holder is over: its process is killed after one, and a new one starts


# --- why does it wait? -----------------------------------------------------------------------------------------------


@overload
def explain(what: None = None) -> list[Explanation]: ...
@overload
def explain(what: ObjectRef[Any] | ObjectRefGenerator | ActorHandle | PlacementGroup | str) -> Explanation: ...


def explain(what: Any = None) -> Explanation | list[Explanation]:
    """Explain the state of a ref's task, an actor or a placement group; without an argument, of everything that waits.

    A hex id, as views show it, works as well. Raises TypeError for anything else.

    >>> @nbaccel.remote(num_gpus=1)
    ... class Holder: ...
    >>> holders = [Holder.remote(), Holder.remote()]
    >>> @nbaccel.remote(num_gpus=1)
    ... def train(): ...
    >>> nbaccel.explain(train.remote())
    train waits for 1 CPU and 1 GPU. Both GPUs are busy: ...
    """
    rows = engines.current().explain(None if what is None else id_of(what))
    sentences = explanations.name_holders([row.sentence for row in rows])
    rows = [msgspec.structs.replace(row, sentence=each) for row, each in zip(rows, sentences, strict=True)]
    if what is None:
        return rows
    if rows:
        return rows[0]
    id = id_of(what)
    return Explanation(id, "", "UNKNOWN", f"{id} is not known here: it ended long ago, or is a value that was put.")


def id_of(what: Any) -> str:
    if isinstance(what, ObjectRef):
        return what.hex()
    if isinstance(what, ObjectRefGenerator):
        return bytes(what._task_id).hex()
    if isinstance(what, ActorHandle):
        return what._id_now.hex()
    if hasattr(what, "bundle_specs"):  # a placement group; its class is loaded only by those who have one
        return str(what.id.hex())
    if isinstance(what, str):
        return _checked_hex(what)
    raise TypeError(
        f"explain() takes an ObjectRef, a stream, an actor, a placement group or a hex id, not {type(what).__name__}."
    )


def _checked_hex(text: str) -> str:
    try:
        bytes.fromhex(text)
    except ValueError:
        raise ValueError(
            f"explain() takes a hex id as views show it, such as {bytes(range(0xA0, 0xA8)).hex()}…, not {text!r}."
        ) from None
    return text


def ref_of(id: str) -> ObjectRef[Any] | list[ObjectRef[Any]]:
    """A ref to the result of a task that a view shows by this id, such as a task that **Retry** has submitted.

    The short id ("7f3a-12") and the long one work. A task with several results gives a list of refs, as its call does.
    Raises ValueError if no task has this id, or if nobody holds its results any more.

    >>> nbaccel.get(nbaccel.ref_of("7f3a-12"))
    """
    if not isinstance(id, str):
        raise TypeError(f"ref_of() takes a task's id as views show it, as text, not {type(id).__name__}.")
    current = engines.current()
    word = id.strip().lstrip("#")
    if not _LONG_ID.fullmatch(word):
        rows = current.tasks(TaskFilter(text=word)).rows
        ids = {row.task_id for row in rows if wording.short_id(row.task_id) == word}
        if len(ids) != 1:
            raise ValueError(f"{'No task has' if not ids else 'Several tasks have'} the id {id!r}; views show the ids.")
        word = ids.pop()
    refs = current.ref_of(word[:48])
    return refs[0] if len(refs) == 1 else refs


def recycle() -> int:
    """End the idle worker processes that have run code, with everything they keep. Returns their number.

    >>> ended = nbaccel.recycle()
    """
    return engines.current().recycle()


# --- what would it meet? ---------------------------------------------------------------------------------------------


def probe(
    *,
    num_gpus: float | None = None,
    num_cpus: float | None = None,
    memory: float | None = None,
    accelerator_type: str | None = None,
    resources: dict[str, float] | None = None,
    gpu_memory: int | str | None = None,
    label_selector: dict[str, str] | None = None,
    scheduling_strategy: Any = None,
    placement_group: PlacementGroup | Literal["default"] | None = "default",
    placement_group_bundle_index: int = -1,
    timeout_s: float = 0.0,
    verify: Callable[[], Any] | None = None,
    **unknown: Never,
) -> Probe:
    """Whether a task with these options would start now: true or false, with a sentence that says why.

    The probe asks for the same resources as a task with these options: one CPU unless `num_cpus` says otherwise, and a
    GPU only if one is named; `memory` is in bytes. `probe()` without options asks for one GPU. The head knows the
    answer, so a probe costs one message. With `timeout_s` (seconds), a busy or unknown demand is tried: an empty task
    waits in line for as long. `verify` runs on the device, to prove that its driver works; `.value` is its result. If
    it raises an error, the probe is false and `.error` is that error.

    Raises ValueError for quantities that a family does not give out, and TypeError for an unknown keyword.

    >>> if nbaccel.probe(num_gpus=1, accelerator_type="A100"): ...
    >>> nbaccel.probe(num_cpus=8, memory=64 * 2**30, label_selector={"zone": "a"})
    >>> nbaccel.probe(num_gpus=1, verify=lambda: torch.ones(1, device="cuda").sum().item())
    """
    if unknown:
        word = next(iter(unknown))
        raise TypeError(
            f"probe() got an unexpected keyword argument {word!r}.{did_you_mean(word, signature(probe).parameters)}"
        )
    group = {"placement_group": placement_group, "placement_group_bundle_index": placement_group_bundle_index}
    asked = {
        "num_gpus": num_gpus, "num_cpus": num_cpus, "memory": memory, "accelerator_type": accelerator_type,
        "resources": resources, "gpu_memory": gpu_memory, "label_selector": label_selector,
        "scheduling_strategy": scheduling_strategy,
    }  # fmt: skip
    if all(value is None for value in asked.values()) and placement_group in (None, "default"):
        asked["num_gpus"] = 1
    options = task_options(**asked, **group, max_retries=0, name="probe")
    answer = engines.current().probe(options)
    if answer.verdict is Verdict.BUSY and answer.holders and all(holder.ending for holder in answer.holders):
        timeout_s = timeout_s or (ENDING_PATIENCE_S if verify is None else VERIFY_PATIENCE_S)
    if answer.verdict is Verdict.NEVER or (verify is None and (answer.verdict is Verdict.NOW or not timeout_s)):
        return answer
    if not timeout_s and answer.verdict is not Verdict.NOW:
        return answer
    return _tried(options, verify, timeout_s or VERIFY_PATIENCE_S, answer)


def _tried(options: TaskOptions, verify: Callable[[], Any] | None, patience_s: float, before: Probe) -> Probe:
    """Submit a task with the same demand and wait for it; its result is the proof."""
    engine = engines.current()
    began = time.monotonic()
    ref = engine.submit(RemoteFunction(verify or _nothing, options), options, (), {})
    try:
        ready, _ = engine.wait([ref], 1, patience_s, True)
    except BaseException:  # Stop, above all: nobody else could cancel a task that would hold a device for nothing
        engine.cancel(ref, force=True, recursive=True)
        raise
    if not ready:
        engine.cancel(ref, force=True, recursive=True)
        return _came_too_late(options, patience_s, before)
    waited = "" if before else f" after {time.monotonic() - began:.1f} s"
    try:
        value = engine.get([ref], None)[0]
    except exceptions.TaskUnschedulableError as error:
        return msgspec.structs.replace(before, verdict=Verdict.NEVER, sentence=str(error), error=error)
    except Exception as error:  # whatever `verify` raises is the answer
        cause = getattr(error, "cause", None) or error
        sentence = f"{before.asks} was free{waited}, but verify failed there: {type(cause).__name__}: {cause}"
        return Probe(Verdict.BROKEN, sentence, before.asks, error=error)
    proved = f"; verify returned {value!r}" if verify is not None else ""
    return Probe(Verdict.NOW, f"{before.asks}: free{waited or ' now'}{proved}.", before.asks, value=value)


def _came_too_late(options: TaskOptions, patience_s: float, before: Probe) -> Probe:
    """The verdict after the timeout: the device was busy, or `verify` hangs on it."""
    if before:
        sentence = f"{before.asks} was free, but verify has not come back for {patience_s:g} s: the driver may hang."
        return Probe(Verdict.BROKEN, sentence, before.asks)
    now = engines.current().probe(options)
    verdict = Verdict.BUSY if now else now.verdict  # free since a moment ago: it was not for all that time
    return msgspec.structs.replace(now, verdict=verdict, sentence=f"Not within {patience_s:g} s. {now.sentence}")


def _nothing() -> None:
    """The function that a probe without `verify` runs."""


PATIENCE_S = 2.0
_TASK_HEX = 48
_NO_LINE = "  None of its own code runs there now."


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, and what runs in it."""

    name: str
    pid: int
    node_id: str = ""


def stack(what: ObjectRef[Any] | ObjectRefGenerator | ActorHandle | str | int) -> Stack:
    """Where the code of a task or an actor stands right now, as lines of a traceback; the reason if it waits.

    `what` is a ref, a stream, an actor, an id or a name of a task as views show it, the name of a training run or an
    experiment, the id of a trial, or the pid of a worker. A worker answers also while it is in a C call. Raises
    ValueError if nothing that runs has this name, and TypeError for anything else.

    >>> where = nbaccel.stack(nbaccel.remote(max).remote(1, 2))
    """
    current = engines.current()
    if isinstance(what, int):
        return Stack(_standing(_Worker("worker", what), current))
    if isinstance(what, str) and not _is_hex(what):
        return _of_name(what.removeprefix("#"), current)
    worker = _of_id(id_of(what), current)
    return Stack(explain(what).sentence if worker is None else _standing(worker, current))


def _is_hex(text: str) -> bool:
    return len(text) >= 32 and all(letter in "0123456789abcdef" for letter in text)


def _of_id(id: str, current: Engine) -> _Worker | None:
    for row in current.tasks(TaskFilter(text=id[:_TASK_HEX])).rows:
        if row.task_id == id[:_TASK_HEX] and row.pid is not None and row.state.startswith("RUNNING"):
            return _Worker(row.name, row.pid, row.node_id or "")
    for actor in current.state(ActorRow, sys.maxsize):
        if actor.actor_id == id and actor.pid is not None and actor.state == "ALIVE":
            return _Worker(actor.class_name, actor.pid, actor.node_id or "")
    return None


def _of_name(name: str, current: Engine) -> Stack:
    rows = [
        row for row in current.tasks(TaskFilter(text=name)).rows if name in (row.name, wording.short_id(row.task_id))
    ]
    running = [
        _Worker(row.name, row.pid, row.node_id or "") for row in rows if row.state.startswith("RUNNING") and row.pid
    ]
    waiting: list[str] = []
    workers = {each.pid: each for each in (*running, *_named(name, current, waiting))}
    if workers:
        return Stack("\n\n".join(_standing(each, current) for each in workers.values()))
    if rows:
        return Stack(explain(rows[0].task_id).sentence)
    if waiting:
        return Stack(waiting[0])
    raise ValueError(f"Nothing is called {name!r}: no task, actor, training run, experiment or trial.")


def _named(name: str, current: Engine, waiting: list[str]) -> Iterator[_Worker]:
    """Who runs under a name: actors, the ranks of a run, the trials of an experiment. Notes who has no process yet."""
    for actor in current.state(ActorRow, sys.maxsize):
        if name in (actor.name, actor.class_name):
            if actor.pid is not None and actor.state == "ALIVE":
                yield _Worker(actor.class_name, actor.pid, actor.node_id or "")
            elif actor.state != "DEAD":
                waiting.append(explain(actor.actor_id).sentence)
    snapshot = current.snapshot()
    for run in run_snapshot.of_snapshot(snapshot):
        if run.name == name and run.is_under_way:
            yield from (_Worker(f"{name}, rank {rank.rank}", rank.pid) for rank in run.ranks if rank.pid is not None)
            waiting.append(f"{wording.plain(name)} is {run.state}; no rank runs yet. {wording.plain(run.why)}".rstrip())
    for experiment in experiment_snapshot.of_snapshot(snapshot):
        if experiment.is_under_way:
            yield from _trials(experiment.id, name if name != experiment.name else "", current, waiting)
            if name == experiment.name:
                waiting.append(f"{wording.plain(name)} is {experiment.state}; no trial runs right now.")


def _trials(experiment: str, wanted: str, current: Engine, waiting: list[str]) -> Iterator[_Worker]:
    """The trials that run; only the `wanted` one if that is named."""
    for id, row in current.history(ReadRows(experiment)).rows.items():
        trial = msgspec.convert(row, TrialRow)
        if wanted not in ("", id, experiment_snapshot.short_trial(id)):
            continue
        if trial.state == "running" and trial.pid is not None:
            yield _Worker(f"trial {id}", trial.pid)
        elif wanted:
            waiting.append(f"Trial {id} is {trial.state}.")


def _standing(worker: _Worker, current: Engine) -> str:
    text = with_sources(_text_of(worker, current)) or _NO_LINE
    return f"{wording.plain(worker.name)}, pid {worker.pid}:\n{text}"


def _text_of(worker: _Worker, current: Engine) -> str:
    deadline = time.monotonic() + PATIENCE_S
    answer = current.history(ReadStack(worker.pid, worker.node_id))
    while answer.pause_s and time.monotonic() < deadline:
        time.sleep(answer.pause_s)
        answer = current.history(ReadStack(worker.pid, worker.node_id, answer.since))
    return answer.text
