"""The controller: applications as they are wanted, and the replicas that there are.

```
  deploy(spec) ─► ServedApp ─► a DeploymentState each ─► next_step (pure) ─► start, drain, end replicas
                                        └─► members: the door's own route, and all who watch
```
It runs in the door's loop. A request costs it nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from nbaccel.serve.deployment_state import DeploymentState, Submit, UserFailure
from nbaccel.serve.exceptions import RayServeException
from nbaccel.serve.records import AppSpec, Membership


class ServedApp:
    """One application."""

    def __init__(self, spec: AppSpec) -> None:
        self.name = spec.name
        self.goal = spec
        self.serving: AppSpec | None = None  # the last one that came up
        self.deployments: dict[str, DeploymentState] = {}
        self.status = "NOT_STARTED"
        self.message = ""
        self.deployed_at = 0.0
        self.generation = 0
        self.changed = asyncio.Event()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Replaced(RayServeException):
    """Another run of the same application has come."""


class ServeController:
    """All applications of one job."""

    def __init__(
        self, folder: str, *, keep: Callable[[list[AppSpec]], None], changed: Callable[[], None], submit: Submit
    ) -> None:
        """`keep` writes down what is served; `changed`: routes of HTTP differ; `submit` calls actors."""
        self._submit = submit
        self._folder = folder
        self._keep = keep
        self._changed = changed
        self.apps: dict[str, ServedApp] = {}
        self._watchers: dict[tuple[str, str], list[Callable[[Membership], None]]] = {}

    # ---- what users ask

    async def deploy(self, spec: AppSpec) -> bool:
        """Serve this application; returns when each of its deployments answers, and whether anything has changed.

        Raises UserFailure for what user code raised; the version before serves on. Cancelling it undoes it.
        """
        self._check_prefix(spec)
        app = self.apps.setdefault(spec.name, ServedApp(spec))
        if app.status == "DELETING":
            raise RayServeException(f"The application {spec.name} is being deleted.")
        spec = _with_known_code(spec, app.serving)
        if spec == app.serving == app.goal and app.status == "RUNNING":
            return False
        app.generation += 1
        mine = app.generation
        self._set_goal(app, spec)
        try:
            await self._until_up(app, mine)
        except Replaced:
            raise
        except BaseException as error:
            if app.generation == mine:
                await self._undo(app, error)
            raise
        await self._took(app)
        return True

    def _check_prefix(self, spec: AppSpec) -> None:
        for other in self.apps.values():
            if (
                other.name != spec.name
                and spec.route_prefix is not None
                and spec.route_prefix == other.goal.route_prefix
            ):
                raise RayServeException(
                    f"The prefix {spec.route_prefix} belongs to the application {other.name}. Give another one, "
                    f"serve.run(..., name={spec.name!r}, route_prefix='/{spec.name}'), or serve.delete({other.name!r})."
                )

    def _set_goal(self, app: ServedApp, spec: AppSpec) -> None:
        app.goal = spec
        app.status, app.message = "DEPLOYING", ""
        for each in spec.deployments:
            known = app.deployments.get(each.name)
            if known is None or known.unavailable:
                known = DeploymentState(self._folder, each, self._members_changed, app.wake, self._submit)
                app.deployments[each.name] = known
            known.set_goal(each)
        app.wake()

    async def _until_up(self, app: ServedApp, mine: int) -> None:
        while True:
            if app.generation != mine:
                raise Replaced(f"Another serve.run of {app.name} has come meanwhile, and counts.")
            states = [app.deployments[each.name] for each in app.goal.deployments]
            failed = next((state for state in states if state.failure is not None), None)
            if failed is not None and failed.failure is not None:
                raise failed.failure
            if all(state.is_up() for state in states):
                return
            await app.changed.wait()

    async def _took(self, app: ServedApp) -> None:
        """The goal has come up: it is what is served."""
        app.serving = app.goal
        app.status, app.deployed_at = "RUNNING", time.time()
        wanted = {each.name for each in app.goal.deployments}
        gone = [app.deployments.pop(name) for name in list(app.deployments) if name not in wanted]
        self._changed()
        self._write_down()
        for state in gone:
            state.delete(f"The application {app.name} has no deployment {state.name} any more.")

    async def _undo(self, app: ServedApp, error: BaseException) -> None:
        """The goal failed or was given up: the version before serves on."""
        app.generation += 1
        words = str(error) if isinstance(error, UserFailure | RayServeException) else "The run was stopped."
        if app.serving is None:
            app.status = "DEPLOY_FAILED"
            app.message = words
            for state in app.deployments.values():
                state.delete(f"{state.name} of {app.name} failed to deploy: {words}")
            self._changed()
            if not isinstance(error, UserFailure | RayServeException):
                self.apps.pop(app.name, None)
            app.wake()
            return
        new = {each.name for each in app.goal.deployments} - {each.name for each in app.serving.deployments}
        self._set_goal(app, app.serving)
        app.status, app.message = "RUNNING", f"The last run failed, and the version before serves on. {words}"
        for name in new:
            app.deployments.pop(name).delete(f"The application {app.name} has no deployment {name}.")
        app.wake()

    async def delete(self, name: str) -> bool:
        """End an application; returns when nothing of it is left, and whether there was one."""
        app = self.apps.get(name)
        if app is None:
            return False
        app.generation += 1
        app.status = "DELETING"
        app.serving = None
        app.wake()
        self._changed()
        self._write_down()
        states = list(app.deployments.values())
        for state in states:
            state.delete(f"The application {name} was deleted.")
        for state in states:
            await state.is_gone.wait()
        if self.apps.get(name) is app:
            del self.apps[name]
        self._changed()
        return True

    async def shutdown(self) -> None:
        await asyncio.gather(*(self.delete(name) for name in list(self.apps)))

    def _write_down(self) -> None:
        self._keep([app.serving for app in self.apps.values() if app.serving is not None])

    # ---- who answers

    def state_of(self, app: str, deployment: str) -> DeploymentState | None:
        found = self.apps.get(app)
        return found.deployments.get(deployment) if found is not None else None

    def members(self, app: str, deployment: str) -> Membership:
        state = self.state_of(app, deployment)
        if state is not None:
            return state.members()
        return Membership([], unavailable=f"There is no deployment {deployment} in an application {app}.")

    def watch(self, app: str, deployment: str, callback: Callable[[Membership], None]) -> Callable[[], None]:
        """Call back with the members now, and with each change. Returns what ends it."""
        watchers = self._watchers.setdefault((app, deployment), [])
        watchers.append(callback)
        callback(self.members(app, deployment))

        def end() -> None:
            if callback in watchers:
                watchers.remove(callback)

        return end

    def _members_changed(self, state: DeploymentState) -> None:
        for callback in list(self._watchers.get((state.app, state.name), ())):
            callback(state.members())

    # ---- what is seen

    def status(self) -> dict[str, Any]:
        return {name: _status_of(app) for name, app in self.apps.items()}


def _with_known_code(spec: AppSpec, serving: AppSpec | None) -> AppSpec:
    """The same specification, with the bytes that are served where the digest is the same."""
    known = {each.name: each for each in serving.deployments} if serving is not None else {}
    deployments = [
        replace(each, code=known[each.name].code)
        if each.name in known and known[each.name].digest == each.digest
        else each
        for each in spec.deployments
    ]
    return replace(spec, deployments=deployments)


def _status_of(app: ServedApp) -> dict[str, Any]:
    return {
        "status": app.status,
        "message": app.message,
        "last_deployed_time_s": app.deployed_at,
        "route_prefix": app.goal.route_prefix,
        "ingress": app.goal.ingress,
        "asks_token": app.goal.tokens is not None,
        "is_open": app.goal.is_open,
        "deployments": {name: state.status() for name, state in app.deployments.items()},
    }
