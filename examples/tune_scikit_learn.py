"""Choose the parameters of a classifier of scikit-learn: thirty random ones, each cross-validated.

python examples/tune_scikit_learn.py
"""

from __future__ import annotations

from typing import Any

import nbaccel
from nbaccel import tune


def score(config: dict[str, Any], data: Any) -> dict[str, float]:
    """Runs in a worker for each trial; what it returns is the trial's result."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    model = RandomForestClassifier(random_state=0, **config)
    return {"accuracy": float(cross_val_score(model, *data, cv=3).mean())}


def main(num_samples: int = 30, most_trees: int = 100) -> tune.ResultGrid:
    from sklearn.datasets import load_iris

    data = load_iris(return_X_y=True)
    space = {
        "n_estimators": tune.randint(5, most_trees),
        "max_depth": tune.choice([2, 4, 8, None]),
        "min_samples_leaf": tune.randint(1, 10),
    }
    return tune.Tuner(
        tune.with_parameters(score, data=data),  # stored once, for all trials
        param_space=space,
        tune_config=tune.TuneConfig(metric="accuracy", mode="max", num_samples=num_samples),
    ).fit()


if __name__ == "__main__":
    nbaccel.init()
    best = main().get_best_result()
    print(best.metrics, best.config)
