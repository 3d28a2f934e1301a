"""Which checkpoints stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nbaccel.train import CheckpointConfig
from nbaccel.train.journal import Kept, Past, best, score_of, to_delete
from nbaccel.train.result import of_run


def kept(*losses: Any) -> list[Kept]:
    return [Kept(f"c{number}", number, {} if loss is None else {"loss": loss}) for number, loss in enumerate(losses)]


def names(found: list[Kept]) -> list[str]:
    return [each.folder for each in found]


def test_without_a_score_the_oldest_go() -> None:
    assert names(to_delete(kept(1, 2, 3, 4), CheckpointConfig(num_to_keep=2))) == ["c0", "c1"]
    assert to_delete(kept(1, 2, 3, 4), CheckpointConfig()) == []


def test_with_a_score_the_worst_go_but_never_the_latest() -> None:
    smallest = CheckpointConfig(num_to_keep=1, checkpoint_score_attribute="loss", checkpoint_score_order="min")
    assert names(to_delete(kept(0.1, 0.5, 0.9), smallest)) == ["c1"]
    largest = CheckpointConfig(num_to_keep=1, checkpoint_score_attribute="loss")
    assert names(to_delete(kept(0.1, 0.5, 0.9), largest)) == ["c0", "c1"]


def test_a_missing_score_and_nan_are_the_worst() -> None:
    config = CheckpointConfig(num_to_keep=2, checkpoint_score_attribute="loss", checkpoint_score_order="min")
    assert names(to_delete(kept(None, 5.0, float("nan"), 7.0), config)) == ["c0", "c2"]
    found = best(kept(None, 5.0, float("nan"), 7.0), config)
    assert found is not None and found.folder == "c1"


def test_a_score_may_lie_inside_of_another_metric() -> None:
    assert score_of({"eval": {"loss": 2}}, "eval/loss") == 2.0
    assert score_of({"eval": 1}, "eval/loss") is None and score_of({"ok": True}, "ok") is None


def test_a_result_lists_the_best_from_worst_to_best_without_a_latest_one_that_is_worse(tmp_path: Path) -> None:
    losses = [0.5, 0.2, 0.3, 0.8]
    past = Past(kept=[Kept(f"checkpoint_{number:06d}", number, {"loss": loss}) for number, loss in enumerate(losses)])

    def listed(config: CheckpointConfig) -> list[float]:
        result = of_run(str(tmp_path), past, config)
        assert result.checkpoint is not None and result.checkpoint.path.endswith("000003")
        return [metrics["loss"] for _, metrics in result.best_checkpoints]

    scored = CheckpointConfig(checkpoint_score_attribute="loss", checkpoint_score_order="min")
    assert listed(scored) == [0.8, 0.5, 0.3, 0.2]
    assert listed(replace(scored, num_to_keep=2)) == [0.3, 0.2]
    assert listed(CheckpointConfig(num_to_keep=2)) == [0.3, 0.8] and listed(CheckpointConfig()) == losses
