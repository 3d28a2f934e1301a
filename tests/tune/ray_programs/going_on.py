"""Trials that failed go on from their checkpoints in a restored experiment; stop rules, names and flags."""

import json
import os
import tempfile

from ray import tune

STORAGE = tempfile.mkdtemp()
FLAG = os.path.join(STORAGE, "flag")


def steps(config):
    checkpoint, first = tune.get_checkpoint(), 0
    if checkpoint:
        with checkpoint.as_directory() as folder, open(os.path.join(folder, "state")) as file:
            first = json.load(file) + 1
    for step in range(first, 4):
        if config["x"] == 1 and step == 2 and not os.path.exists(FLAG):
            raise ValueError("as it was asked to")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "state"), "w") as file:
                json.dump(step, file)
            tune.report({"step": step, "first": first}, checkpoint=tune.Checkpoint.from_directory(folder))


config = tune.RunConfig(name="going_on", storage_path=STORAGE, verbose=0)
before = tune.Tuner(steps, param_space={"x": tune.grid_search([0, 1])}, run_config=config).fit()
with open(FLAG, "w"):
    pass
path = os.path.join(STORAGE, "going_on")
after = tune.Tuner.restore(path, steps, resume_errored=True).fit()


def flags(config):
    for step in range(9):
        tune.report({"enough": step >= 3, "deep": {"value": step}})


def named(trial):
    return f"{trial.trainable_name}-{trial.config['x']}"


options = {"trial_name_creator": named, "trial_dirname_creator": named, "verbose": 0, "config": {"x": 1}}
flagged = tune.run(flags, stop={"enough": True}, **options)
nested = tune.run(flags, stop={"deep/value": 5}, **options)
answer = {
    "errors": [before.num_errors, after.num_errors],
    "steps": sorted([result.metrics["step"], result.metrics["first"], result.config["x"]] for result in after),
    "can be restored": [tune.Tuner.can_restore(path), tune.Tuner.can_restore(STORAGE)],
    "stopped at": [each.trials[0].last_result["training_iteration"] for each in (flagged, nested)],
    "names": [str(flagged.trials[0]), os.path.basename(flagged.trials[0].local_path)],
    "statuses": [trial.status for trial in nested.trials],
}
