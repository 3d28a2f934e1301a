"""The words of Ray's messages that programs match on, as in `pytest.raises(ValueError, match="must be nonnegative")`.

A message may say more than these words, and the rest of it may be improved. To change a phrase of this list is to break
such a program.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "nbaccel"

# Module -> phrases of its messages that Ray 2.60 has word for word.
RAYS_WORDS: dict[str, list[str]] = {
    "api.py": [
        "Please supply a non-empty value to get_actor",
        "Invalid type of object refs,",
        "'object_refs' must either be an ObjectRef or a list of ObjectRefs.",
        "The 'timeout' argument must be nonnegative.",
        "Invalid number of objects to return",
        "kill() only supported for actors.",
    ],
    "autoscaler/sdk.py": [
        "num_cpus should be of type int.",
    ],
    "cluster_utils.py": [
        "Cannot connect to uninitialized cluster.",
    ],
    "handles/option_checks.py": [
        "The quantity of resource",
        "The precision of the fractional quantity of resource",
        "Invalid label key name",
        "setup_timeout_seconds must be greater than zero or equals to -1,",
    ],
    "handles/placement_group_handle.py": [
        "placement group bundle index",
        "Valid placement group indexes:",
        "with the placement group because the resource request",
        "cannot fit into any bundles for the placement group,",
    ],
    "handles/refs.py": [
        "It is not allowed to serialize ray.ObjectRef",
    ],
    "handles/remote.py": [
        "Remote functions cannot be called directly.",
        "Actors cannot be instantiated directly.",
        "Actor methods cannot be called directly.",
        "Instead of running 'object.",
    ],
    "job_config.py": [
        "The type of code search path is incorrect:",
        "Default actor lifetime must be one of `detached`,",
    ],
    "local_engine/wire/failures.py": [
        "The actor died because of an error raised in its creation task,",
    ],
    "logging_config.py": [
        "Valid encoding types are:",
    ],
    "train/configs.py": [
        "was found in `resources_per_worker`.",
        "is set to 0 in `resources_per_worker`.",
    ],
    "util/actor_pool.py": [
        "No more results to get",
    ],
    "util/metrics.py": [
        "Missing value for tag key(s):",
        "value must be >0,",
    ],
    "util/placement_group.py": [
        "Bundles must be a non-empty list of resource dictionaries.",
        "Please supply a non-empty value to get_placement_group",
        "Invalid placement group strategy",
        "Placement group `lifetime` argument must be either `None` or 'detached'.",
        "Placement group bundles must be a list,",
        "Invalid bundle label selector",
        "The length of `bundle_label_selector` should equal the length of `bundles`.",
        "Failed to look up placement group with name:",
        "Bundles cannot be an empty dictionary or resources with only 0 values.",
    ],
    "util/scheduling_strategies.py": [
        "The variadic parameter of the",
        "operator must be a non-empty tuple:",
        "The `hard` and `soft` parameter of NodeLabelSchedulingStrategy cannot both be empty.",
        "Type of value in position",
        "The map value for key",
        "parameter must be one of the `In`,",
        "`Exists` or `DoesNotExist` operator (e.g.",
    ],
}


@pytest.mark.parametrize("module", RAYS_WORDS)
def test_a_message_keeps_the_words_that_programs_match_on(module: str) -> None:
    tree = ast.parse((PACKAGE / module).read_text())
    texts = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    said = [" ".join(text.split()) for text in texts]
    for phrase in RAYS_WORDS[module]:
        assert any(phrase in text for text in said), f"{module} no longer says {phrase!r}"
