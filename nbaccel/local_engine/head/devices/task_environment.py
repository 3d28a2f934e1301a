"""The environment variables of a task that follow from its devices. Variables that the user set stay, with a notice."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nbaccel import accelerators
from nbaccel.local_engine import wire
from nbaccel.scheduling.terms import TaskKind, Terms
from nbaccel.views import wording

if TYPE_CHECKING:
    from nbaccel.local_engine.head.audience import Audience
    from nbaccel.local_engine.head.devices.nodes import Assigned, Nodes
    from nbaccel.local_engine.head.environments import Environments
    from nbaccel.local_engine.head.groups import Groups
    from nbaccel.local_engine.head.records import Job, TaskEntry
    from nbaccel.scheduling.commands import SendTasks

MOST_TOLD = 1_000
Environment = dict[str, str | None]  # None: unset it
Ids = dict[str, list[str]]


class TaskEnvironments:
    """Computes the device variables of each task."""

    def __init__(
        self,
        nodes: Nodes,
        environments: Environments,
        jobs: Mapping[int, Job],
        groups: Groups[int],
        audience: Audience,
        *,
        hide: bool,
    ) -> None:
        self._nodes = nodes
        self._environments = environments
        self._jobs = jobs
        self._groups = groups
        self._audience = audience
        self._hide = hide  # devices from tasks that have none, where they do not say otherwise
        self._told: set[tuple[int, str, str]] = set()

    def of(self, command: SendTasks, entry: TaskEntry) -> tuple[Ids | None, Ids | None, Environment | None]:
        """(the ids of the devices that it holds, the ids that it is told, variables); None for a task whose environment
        stays as it is.

        The two lists of ids differ if the task's runtime_env sets the variable itself.
        """
        hide = self.hides(entry.terms)
        if not command.devices and (not hide or command.task.kind is TaskKind.ACTOR_CALL):
            if not command.devices and entry.terms.choices:
                self._say_all_seen(command, entry)
            return None, None, None
        own = self._users_own(command.task.job, entry)
        ids = self._nodes.ids(command.node_id, command.devices)
        environ = self._assigned(command.node_id, command.devices, {**os.environ, **own}, hide)
        kept = {name: own[name] for name in environ if name in own}
        for name, value in kept.items():
            if value != environ[name]:
                self._say_kept(command, entry, ids, name, value)
        told = dict(ids)
        offered = self._nodes.devices[command.node_id].devices
        for resource, slots in command.devices.items():
            devices = [offered[resource][index] for index, _amount in slots]
            variable = accelerators.variable_of(devices[0])
            if variable in kept:
                told[resource], kept[variable] = accelerators.named_by_user(devices, kept[variable])
        return ids, told, {**environ, **kept}

    def hides(self, terms: Terms) -> bool:
        """Whether a task is told of the devices that it does not have."""
        asked = terms.hide_unassigned
        return self._hide if asked is None else asked

    def _users_own(self, job: int, entry: TaskEntry) -> dict[str, str]:
        """The env_vars of the job's runtime_env and of the task's."""
        environments = self._environments
        own = environments.variables(self._jobs[job].hello.runtime_env)
        terms = entry.terms
        return {**own, **(environments.variables(terms.runtime_env) if terms.environment else {})}

    def _assigned(self, node_id: bytes, assigned: Assigned, environ: dict[str, str], hide: bool) -> Environment:
        offered = self._nodes.devices[node_id]
        variables: Environment = accelerators.hidden_environment(offered, environ) if hide else {}
        for resource, slots in assigned.items():
            devices = [offered.devices[resource][index] for index, _amount in sorted(slots)]
            count = len(offered.devices[resource])
            variables |= accelerators.environment_for(devices, environ, node_device_count=count)
        return variables

    def _say_kept(self, command: SendTasks, entry: TaskEntry, ids: dict[str, list[str]], name: str, value: str) -> None:
        """Tell the user, once for each function and variable, that their value stays and may name another device."""
        if self._was_told((entry.terms.number, name, value)):
            return
        given = wording.device_ids(ids) or "no device"
        message = (
            f"{command.task.name} was given {given}, but runs with {name}={value}, as its runtime_env says. "
            f"Leave {name} out of env_vars to run on what was given."
        )
        self._notice(command, entry, message)

    def _say_all_seen(self, command: SendTasks, entry: TaskEntry) -> None:
        """Tell the user, once for each function, that it has no device of its bundle and sees those of others too."""
        place = entry.terms.choices[command.choice].placement
        if place.group_id is None or entry.terms.internal:
            return
        families = self._groups.families_of(place)
        if not families or self._was_told((entry.terms.number, "", "")):
            return
        family = families[0]
        ask = "num_gpus=1" if family == "GPU" else f'resources={{"{family}": 1}}'
        message = (
            f"{command.task.name} runs in a placement group's bundle with {family}s, but asks for none: it sees every "
            f"{family} of the machine, also those of others. Ask for {ask} to run on the bundle's, or pass "
            "hide_unassigned=True."
        )
        self._notice(command, entry, message)

    def _was_told(self, key: tuple[int, str, str]) -> bool:
        """Whether this was shown before; from now on it was."""
        if key in self._told:
            return True
        if len(self._told) >= MOST_TOLD:
            self._told.clear()
        self._told.add(key)
        return False

    def _notice(self, command: SendTasks, entry: TaskEntry, message: str) -> None:
        terms = entry.terms
        self._audience.notice(command.task.job, wire.NoticeMessage("devices", message, terms.cell, terms.parent))
