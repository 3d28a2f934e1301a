"""Writes the decisions of Ray Tune's ASHAScheduler about the event lists of tests/tune/asha_events.py.

    python tools/record_asha.py        needs ray[tune]; writes tests/tune/recorded_asha.txt

A line for each list: a letter for each event, C continue, S stop, - for the end of a trial. A trial that was stopped
sends nothing more: its later events are left out by both sides.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    from ray.tune.schedulers.async_hyperband import AsyncHyperBandScheduler

    from tests.tune.asha_events import LISTS, event_list

    warnings.simplefilter("ignore")
    lines = []
    for number in range(LISTS):
        listed = event_list(number)
        scheduler = AsyncHyperBandScheduler(**listed.options)
        trials = {name: SimpleNamespace(trial_id=name) for name in listed.trials}
        for trial in trials.values():
            scheduler.on_trial_add(None, trial)
        letters, stopped = "", set()
        for kind, name, result in listed.events:
            if name in stopped:
                continue
            if kind == "complete":
                scheduler.on_trial_complete(None, trials[name], result)
                letters += "-"
            else:
                decision = scheduler.on_trial_result(None, trials[name], result)
                letters += decision[0]
                if decision == "STOP":
                    stopped.add(name)
        lines.append(letters)
    (ROOT / "tests/tune/recorded_asha.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
