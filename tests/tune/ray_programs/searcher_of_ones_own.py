"""A Searcher: what it suggests is tried, with a limit, and it learns the results and the errors."""

from ray import tune
from ray.tune.search import ConcurrencyLimiter, Repeater, Searcher


class Counting(Searcher):
    def __init__(self, last):
        super().__init__(metric="loss", mode="min")
        self.number, self.last, self.told = 0, last, []

    def suggest(self, trial_id):
        if self.number == self.last:
            return Searcher.FINISHED
        self.number += 1
        return {"x": self.number, "deep": {"y": 1}}

    def on_trial_result(self, trial_id, result):
        self.told.append(["result", result["loss"]])

    def on_trial_complete(self, trial_id, result=None, error=False):
        self.told.append(["complete", None if result is None else result["loss"], error])


def steps(config):
    for step in range(2):
        if config["x"] == 2:
            raise ValueError("as it was asked to")
        tune.report({"loss": config["x"] * 10 + step})


search, repeated = Counting(3), Counting(2)
options = {"num_samples": 10}
quiet = tune.RunConfig(verbose=0)
limited = tune.TuneConfig(search_alg=ConcurrencyLimiter(search, max_concurrent=1), **options)
results = tune.Tuner(steps, param_space={"fixed": 5}, tune_config=limited, run_config=quiet).fit()
mean = tune.TuneConfig(search_alg=Repeater(repeated, repeat=2), num_samples=2)
twice = tune.Tuner(steps, tune_config=mean, run_config=tune.RunConfig(verbose=0)).fit()
answer = {
    "configs": sorted([result.config["x"], result.config["deep"]["y"], result.config["fixed"]] for result in results),
    "told": sorted(search.told, key=str),
    "the mean": repeated.told,
    "indices": sorted(result.config["__trial_index__"] for result in twice),
}
