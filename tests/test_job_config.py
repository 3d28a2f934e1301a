"""The settings of a driver as one object."""

import os
import sys

import pytest

import nbaccel
from nbaccel.job_config import JobConfig


@nbaccel.remote
def seen():
    return os.environ.get("SAID_BY"), nbaccel.get_runtime_context().namespace


def test_its_namespace_and_environment_hold_for_everything_that_is_started():
    job = JobConfig(runtime_env={"env_vars": {"SAID_BY": "job"}}, ray_namespace="analysis")
    with nbaccel.init(num_cpus=1, job_config=job):
        assert nbaccel.get(seen.remote()) == ("job", "analysis")


def test_what_init_itself_is_given_wins():
    job = JobConfig(runtime_env={"env_vars": {"SAID_BY": "job"}}, ray_namespace="analysis")
    merged = job.keywords({"namespace": "mine", "num_cpus": 1, "runtime_env": None, "job_config": job})
    assert merged == {"namespace": "mine", "num_cpus": 1, "runtime_env": {"env_vars": {"SAID_BY": "job"}}}


def test_notes_are_kept():
    job = JobConfig(metadata={"a": "1"})
    job.set_metadata("b", "2")
    assert job.metadata == {"a": "1", "b": "2"}


@pytest.mark.parametrize(("lifetime", "words"), [("detached", "give lifetime='detached'"), ("long", "must be one of")])
def test_lifetimes_are_said_at_the_actor(lifetime, words):
    with pytest.raises(ValueError, match=words):
        JobConfig(default_actor_lifetime=lifetime)


def test_its_search_path_is_where_workers_look_first(tmp_path):
    (tmp_path / "only_here.py").write_text("VALUE = 42")

    @nbaccel.remote
    def look():
        import only_here

        return only_here.VALUE, sys.path[0]

    with nbaccel.init(num_cpus=1, job_config=JobConfig(code_search_path=[str(tmp_path)])):
        assert nbaccel.get(look.remote()) == (42, str(tmp_path))
    with pytest.raises(TypeError, match="code search path"):
        JobConfig(code_search_path=str(tmp_path))
