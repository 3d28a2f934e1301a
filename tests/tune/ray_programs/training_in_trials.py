"""A training run in each trial, with Ray's callback."""

import ray.train
from ray import tune
from ray.train.torch import TorchTrainer
from ray.tune.integration.ray_train import TuneReportCallback


def per_worker(config):
    for step in range(3):
        ray.train.report({"loss": config["x"] / (step + 1)})


def trial(config):
    name = tune.get_context().get_trial_id()
    TorchTrainer(
        per_worker,
        train_loop_config=config,
        scaling_config=ray.train.ScalingConfig(num_workers=1),
        run_config=ray.train.RunConfig(name=name, callbacks=[TuneReportCallback()]),
    ).fit()


results = tune.Tuner(
    trial,
    param_space={"x": tune.grid_search([6, 3])},
    tune_config=tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=1),
    run_config=tune.RunConfig(verbose=0),
).fit()
best = results.get_best_result()
answer = {
    "errors": results.num_errors,
    "best": [best.metrics["loss"], best.config],
    "reports": len(best.metrics_dataframe),
}
