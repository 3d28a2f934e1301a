"""Helpers for trainables and their authors. Names as in Ray Tune."""

from nbaccel.tune.utils.util import (
    date_str,
    deep_update,
    diagnose_serialization,
    flatten_dict,
    merge_dicts,
    unflatten_dict,
    unflattened_lookup,
    validate_save_restore,
    wait_for_gpu,
)

__all__ = [
    "date_str",
    "deep_update",
    "diagnose_serialization",
    "flatten_dict",
    "merge_dicts",
    "unflatten_dict",
    "unflattened_lookup",
    "validate_save_restore",
    "wait_for_gpu",
]
