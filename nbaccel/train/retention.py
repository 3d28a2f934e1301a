"""Decides which checkpoints stay, by the rule of CheckpointConfig, without touching a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbaccel.train.configs import CheckpointConfig


@dataclass(frozen=True, slots=True)
class Kept:
    """A committed checkpoint.

    folder   its name inside the run's folder, "checkpoint_000007"
    report   the number of the report that brought it, from 0
    metrics  of that report, of the lowest rank that reported
    """

    folder: str
    report: int
    metrics: dict[str, Any]


def to_delete(kept: Sequence[Kept], config: CheckpointConfig) -> list[Kept]:
    """The checkpoints to delete, oldest first; never the latest one (Ray Train's rule)."""
    if config.num_to_keep is None or len(kept) <= config.num_to_keep:
        return []
    latest = max(kept, key=lambda each: each.report)
    ranked = sorted(kept, key=lambda each: rank_of(each, config), reverse=True)
    stays = {each.folder for each in ranked[: config.num_to_keep]} | {latest.folder}
    return sorted((each for each in kept if each.folder not in stays), key=lambda each: each.report)


def best(kept: Sequence[Kept], config: CheckpointConfig) -> Kept | None:
    """The best checkpoint by score, or the latest one without scores; None if there is none."""
    return max(kept, key=lambda each: rank_of(each, config), default=None)


def rank_of(kept: Kept, config: CheckpointConfig) -> tuple[bool, float, int]:
    """A sort key, higher is better: whether there is a score, the score in its direction, the report's number."""
    if config.checkpoint_score_attribute is None:
        return False, 0.0, kept.report
    score = score_of(kept.metrics, config.checkpoint_score_attribute)
    if score is None:
        return False, 0.0, kept.report
    return True, score if config.checkpoint_score_order == "max" else -score, kept.report


def score_of(metrics: dict[str, Any], name: str) -> float | None:
    """A metric as a number; "eval/loss" also looks into a nested dict. None if it is missing, NaN or no number."""
    value: Any = metrics.get(name)
    if value is None and "/" in name:
        value = metrics
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return None
    return float(value)
