"""What nbaccel uses of Ray that is not public: in one place, and what a version lacks is known."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

pytest.importorskip("ray")

import ray

from nbaccel.ray_engine.session import internals
from tests.test_architecture import PACKAGE, ROOT

CANCELLED, PREFIX = "ray._private.worker:Worker.is_canceled", "ray._private.ray_constants:RAY_DISABLE_WORKER_LOG_PREFIX"
# By minor version: the names that it lacks. `docs/ray-engine.md` says what that means.
LACKS = {"2.49": {CANCELLED, PREFIX}, "2.54": {PREFIX}, "2.60": set[str]()}
PLACES = {
    "nbaccel/engine.py",  # looks whether a process is Ray's, without importing it
    "nbaccel/ray_preflight.py",
    "nbaccel/ray_engine/shipped/nbaccel_in_ray/internals.py",
}
NOT_PUBLIC = re.compile(r"\bray\._private\b|\bray\._raylet\b|\bray\.core\.generated\b")
RAYS_PATHS = "nbaccel/_"  # modules that stand for Ray's own


def test_names_that_are_not_public_are_used_in_one_place():
    used = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py") if NOT_PUBLIC.search(path.read_text())}
    assert {file for file in used if not file.startswith(RAYS_PATHS)} == PLACES


def test_this_ray_lacks_what_is_known_and_nothing_else():
    minor = ".".join(ray.__version__.split(".")[:2])
    if minor not in LACKS:
        pytest.skip(f"what Ray {minor} lacks is not written down")
    assert set(internals.missing()) == LACKS[minor]


def test_a_name_that_is_missing_is_listed_with_what_is_lost(monkeypatch):
    monkeypatch.setattr(internals, "NAMES", {"ray.no_such:name": "one", "ray:no.such": "two", "ray:get": "three"})
    assert internals.missing() == {"ray.no_such:name": "one", "ray:no.such": "two"}


STREAMS = [SimpleNamespace(_get_next_ref=lambda: "ref"), SimpleNamespace(_get_next_ref_n=lambda number: ["ref"])]


@pytest.mark.parametrize("stream", STREAMS, ids=["older", "newer"])
def test_the_next_ref_of_a_stream_is_had_from_each_version(stream):
    assert internals.next_ref(stream) == "ref"


def test_folders_are_uploaded_by_each_version():
    def older(environment, scratch_dir=None, logger=None):
        return {**environment, "scratch": scratch_dir}

    def newer(environment, include_gitignore, scratch_dir=None, logger=None):
        return {**environment, "scratch": scratch_dir, "gitignore": include_gitignore}

    assert internals._uploaded(older, {}, {"scratch_dir": "s"}) == {"scratch": "s"}
    assert internals._uploaded(newer, {}, {"scratch_dir": "s"}) == {"scratch": "s", "gitignore": True}
