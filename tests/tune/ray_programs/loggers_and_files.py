"""A logger of one's own, and the files of a trial's folder."""

import json
import os

from ray import tune
from ray.tune.logger import CSVLoggerCallback, JsonLoggerCallback, LoggerCallback


class Lines(LoggerCallback):
    def __init__(self):
        self.lines = []

    def log_trial_start(self, trial):
        self.lines.append(["start", trial.config["x"], os.path.isdir(trial.local_path)])

    def log_trial_result(self, iteration, trial, result):
        self.lines.append(["result", result["training_iteration"], result["a"]])

    def log_trial_end(self, trial, failed=False):
        self.lines.append(["end", failed])


def steps(config):
    with open("own.txt", "w") as file:
        file.write(str(config["x"]))
    for step in range(3):
        tune.report({"a": step, "deep": {"b": config["x"]}})


lines = Lines()
callbacks = [lines, JsonLoggerCallback(), CSVLoggerCallback()]
results = tune.Tuner(
    steps,
    param_space={"x": tune.grid_search([7])},
    run_config=tune.RunConfig(callbacks=callbacks, verbose=0),
).fit()
(result,) = results
folder = result.path
with open(os.path.join(folder, "result.json")) as file:
    reported = [json.loads(line) for line in file]
with open(os.path.join(folder, "progress.csv")) as file:
    columns = file.readline().strip().split(",")
with open(os.path.join(folder, "params.json")) as file:
    params = json.load(file)
answer = {
    "lines": lines.lines,
    "reported": [[each["a"], each["deep"]["b"], each["config"]["x"], each["training_iteration"]] for each in reported],
    "columns": sorted({"a", "deep/b", "training_iteration", "trial_id", "done"} & set(columns)),
    "params": params,
    "frame": [len(result.metrics_dataframe), result.metrics_dataframe["config/x"].tolist()],
}
