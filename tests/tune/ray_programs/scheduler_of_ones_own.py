"""A scheduler with Ray's hooks: it ends a trial, chooses which one starts, and learns of errors."""

from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler


class Mine(TrialScheduler):
    def __init__(self):
        super().__init__()
        self.values, self.events = {}, []

    def on_trial_add(self, tune_controller, trial):
        self.values[trial] = []

    def on_trial_result(self, tune_controller, trial, result):
        self.values[trial].append(result["score"])
        if trial.config["x"] == 1 and len(self.values[trial]) == 2:
            return TrialScheduler.STOP
        return TrialScheduler.CONTINUE

    def on_trial_complete(self, tune_controller, trial, result):
        self.events.append(f"complete {trial.config['x']}")

    def on_trial_error(self, tune_controller, trial):
        self.events.append(f"error {trial.config['x']}")

    def on_trial_remove(self, tune_controller, trial):
        self.events.append(f"remove {trial.config['x']}")

    def choose_trial_to_run(self, tune_controller):
        waiting = [each for each in tune_controller.get_trials() if each.status == Trial.PENDING]
        return max(waiting, key=lambda each: each.config["x"], default=None)

    def debug_string(self):
        return "mine"


def steps(config):
    for step in range(4):
        if config["x"] == 3 and step == 1:
            raise ValueError("as it was asked to")
        tune.report({"score": config["x"] * step})


scheduler = Mine()
results = tune.Tuner(
    steps,
    param_space={"x": tune.grid_search([1, 2, 3])},
    tune_config=tune.TuneConfig(scheduler=scheduler, max_concurrent_trials=1),
    run_config=tune.RunConfig(verbose=0),
).fit()
answer = {
    "reports": [len(result.metrics_dataframe) for result in results],
    "events": sorted(scheduler.events),  # Ray makes a trial when there is room, so the order is its own
    "values": sorted([trial.config["x"], values] for trial, values in scheduler.values.items()),
    "errors": results.num_errors,
}
