"""The process of an experiment is killed; another one restores it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import ray
from ray import tune

STORAGE = os.environ.setdefault("KILLED_IN", tempfile.mkdtemp())
FLAG = os.path.join(STORAGE, "flag")
NAME = "killed"


def steps(config):
    with open(os.path.join(STORAGE, f"began-{config['x']}"), "a") as file:
        file.write(".")
    checkpoint, first = tune.get_checkpoint(), 0
    if checkpoint:
        with checkpoint.as_directory() as folder, open(os.path.join(folder, "state")) as file:
            first = json.load(file) + 1
    for step in range(first, 4):
        while config["x"] == 1 and step == 2 and not os.path.exists(FLAG):
            time.sleep(0.1)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "state"), "w") as file:
                json.dump(step, file)
            tune.report({"step": step, "first": first}, checkpoint=tune.Checkpoint.from_directory(folder))


class Kills(tune.Callback):
    """Kills its process when one trial has ended, the other has two checkpoints, and that has been written."""

    since = None

    def on_step_end(self, iteration, trials, **info):
        steps = sorted(trial.last_result.get("step", -1) for trial in trials)
        if steps == [1, 3] and any(trial.is_finished() for trial in trials):
            self.since = self.since or time.monotonic()
            if time.monotonic() - self.since > 5:
                os.kill(os.getpid(), signal.SIGKILL)


if "IS_TO_BE_KILLED" in os.environ:
    ray.init("local", num_cpus=2)
    reporter = tune.CLIReporter(max_report_frequency=1)  # so that the loop goes round while nothing is reported
    config = tune.RunConfig(name=NAME, storage_path=STORAGE, callbacks=[Kills()], progress_reporter=reporter)
    tune.Tuner(steps, param_space={"x": tune.grid_search([0, 1])}, run_config=config).fit()

environment = {**os.environ, "IS_TO_BE_KILLED": "1", "TUNE_GLOBAL_CHECKPOINT_S": "1"}
environment.pop("RAY_ADDRESS", None)
killed = subprocess.run([sys.executable, "-W", "ignore", __file__], env=environment, stdout=subprocess.DEVNULL)
with open(FLAG, "w"):
    pass
path = os.path.join(STORAGE, NAME)
after = tune.Tuner.restore(path, steps).fit()
began = []
for x in (0, 1):
    with open(os.path.join(STORAGE, f"began-{x}")) as file:
        began.append(len(file.read()))
answer = {
    "killed by": -killed.returncode,
    "errors": after.num_errors,
    "began": began,
    "steps": sorted([result.config["x"], result.metrics["step"], result.metrics["first"]] for result in after),
}
