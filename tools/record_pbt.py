"""Writes the decisions of Ray Tune's PopulationBasedTraining about the populations of tests/tune/pbt_events.py.

    python tools/record_pbt.py        needs ray[tune]; writes tests/tune/recorded_pbt.txt

A line for each population: for each result the trial whose checkpoint is taken over, "." for none.
Every trial has a checkpoint at any time here. By itself, Ray's class saves one only of a trial that is among the best.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))


class Member:
    """What Ray's class reads of a trial, and writes to it."""

    def __init__(self, name: str) -> None:
        self.trial_id = self.experiment_tag = name
        self.config: dict[str, Any] = {"rate": 1}
        self.evaluated_params: dict[str, Any] = {}
        self.status = "RUNNING"
        self.run_metadata = self.checkpoint_manager = self.checkpoint_config = self
        self.num_to_keep = None

    def is_finished(self) -> bool:
        return False

    def set_experiment_tag(self, tag: str) -> None:
        """The tag is in names of folders only."""

    def set_config(self, config: dict[str, Any]) -> None:
        self.config = config


class Controller:
    """What Ray's class asks of its experiment."""

    search_alg = None

    def __init__(self) -> None:
        self.paused = ""

    def get_trials(self) -> list[Member]:
        return []

    def pause_trial(self, trial: Member, should_checkpoint: bool) -> None:
        self.paused = trial.trial_id

    def _schedule_trial_save(self, trial: Member, result: dict[str, Any]) -> str:
        return f"checkpoint of {trial.trial_id}"


def decided(number: int) -> str:
    """The marks of one population, by Ray's class."""
    from ray.tune.schedulers import PopulationBasedTraining

    from tests.tune.pbt_events import Population

    population, controller = Population(number), Controller()
    scheduler = PopulationBasedTraining(log_config=False, **population.options)
    members = {name: Member(name) for name in population.trials}
    for member in members.values():
        scheduler.on_trial_add(controller, member)

    def decide(name: str, result: dict[str, Any]) -> str:
        states = scheduler._trial_state
        for member, state in states.items():
            state.last_checkpoint = f"checkpoint of {member.trial_id}"
        controller.paused = ""
        scheduler.on_trial_result(controller, members[name], result)
        if not controller.paused:
            return ""
        taken = members[name]._latest_checkpoint_result.checkpoint
        return str(taken).removeprefix("checkpoint of ")

    return population.play(decide)


def main() -> None:
    from tests.tune.pbt_events import POPULATIONS

    lines = [decided(number) for number in range(POPULATIONS)]
    (ROOT / "tests/tune/recorded_pbt.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
