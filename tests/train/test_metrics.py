"""What a report may hold."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nbaccel.train.session import packed, plain, unpacked


class Scalar:
    """As numpy's and torch's scalars: one value that can be taken out."""

    size = 1

    def item(self) -> float:
        return 0.5


def test_plain_values_stay_and_scalars_become_plain() -> None:
    given = {"loss": Scalar(), "epoch": 3, "name": "x", "done": False, "none": None, "eval": {"acc": [1, Scalar()]}}
    assert plain(given) == given | {"loss": 0.5, "eval": {"acc": [1, 0.5]}}
    assert math.isnan(plain({"loss": float("nan")})["loss"])


def test_scalars_of_numpy_and_torch_are_taken() -> None:
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    assert plain({"a": numpy.float32(0.5), "b": numpy.array([2]), "c": torch.tensor(1.5)}) == {
        "a": 0.5,
        "b": 2,
        "c": 1.5,
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "a dict of metrics, not int"),
        ({1: 2}, "names of metrics are texts, not 1"),
        ({"eval": {"model": object()}}, "the metric 'eval/model' is a object"),
    ],
)
def test_other_values_are_refused_with_their_key(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plain(given)


def test_a_tensor_of_several_values_is_refused_with_what_to_write() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"'loss' is a torch\.Tensor of 3 values.*loss\.item\(\)"):
        plain({"loss": torch.ones(3)})


def test_an_int_that_no_float_can_hold_is_refused() -> None:
    assert plain({"hash": 2**70}) == {"hash": 2**70}
    with pytest.raises(ValueError, match=r"'a/b' is an int of 1,329 bits"):
        plain({"a": {"b": 10**400}})


def test_a_text_that_is_too_long_is_cut_and_told_once_for_each_metric(capfd: pytest.CaptureFixture[str]) -> None:
    long = "x" * 10_001
    found = [plain({"eval": {"note": long}, "step": step, "other": "x" * 10_000}) for step in range(3)]
    assert [each["eval"]["note"] for each in found] == [long[:10_000]] * 3
    told = capfd.readouterr().err
    assert told.count("the metric 'eval/note' is a text of 10,001 characters, of which the first 10,000 are kept") == 1
    assert "other" not in told
    plain({"other": long})
    assert "the metric 'other'" in capfd.readouterr().err


def test_packed_metrics_are_what_was_reported() -> None:
    metrics = plain(
        {"loss": math.nan, "high": math.inf, "step": 2**70, "name": "ü\ud800", "parts": {"a": [1, None, True]}}
    )
    found = unpacked(packed(metrics))
    assert math.isnan(found.pop("loss")) and math.isnan(metrics.pop("loss")) and found == metrics
