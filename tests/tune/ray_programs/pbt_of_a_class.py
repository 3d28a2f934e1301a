"""A class of trainables with population based training: weak trials go on from what strong ones have saved."""

import ray  # noqa: F401  # the line that a user changes
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining


class Grows(tune.Trainable):
    def setup(self, config):
        self.value, self.rate = 0.0, config["rate"]

    def step(self):
        self.value += self.rate
        return {"value": self.value}

    def save_checkpoint(self, checkpoint_dir):
        return {"value": self.value}

    def load_checkpoint(self, checkpoint):
        self.value = checkpoint["value"]

    def reset_config(self, new_config):
        self.rate = new_config["rate"]
        return True


scheduler = PopulationBasedTraining(
    time_attr="training_iteration",
    perturbation_interval=2,
    quantile_fraction=0.5,
    resample_probability=0.0,
    hyperparam_mutations={"rate": [1, 100]},
    synch=True,
)
results = tune.Tuner(
    Grows,
    param_space={"rate": tune.grid_search([1, 100])},
    tune_config=tune.TuneConfig(metric="value", mode="max", scheduler=scheduler, reuse_actors=True),
    run_config=tune.RunConfig(stop={"training_iteration": 6}, verbose=0),
).fit()
answer = {
    "iterations": [result.metrics["training_iteration"] for result in results],
    "errors": results.num_errors,
    "the weak one has learned": results[0].metrics["value"] > 100,
    "the best is no worse than the strong one": results.get_best_result().metrics["value"] >= 600,
}
