"""request_resources on a cluster of fixed size."""

import pytest

import nbaccel
from nbaccel.autoscaler.sdk import request_resources


def test_it_needs_a_cluster():
    with pytest.raises(RuntimeError, match="init"):
        request_resources(num_cpus=2)


def test_a_cluster_of_fixed_size_stays_as_it_is_and_says_so(capsys):
    nbaccel.init(num_cpus=1)
    try:
        before = nbaccel.cluster_resources()
        assert request_resources(num_cpus=100) is None
        said = capsys.readouterr().err
        assert "request_resources() changes nothing" in said and "1 CPU" in said and "engine='ray'" in said
        request_resources()  # takes back what was asked before
        assert capsys.readouterr().err == ""
        assert request_resources(bundles=[{"GPU": 1}] * 2, bundle_label_selectors=[{}, {}]) is None
        assert nbaccel.cluster_resources() == before
        for wrong, kind in [({"num_cpus": "2"}, TypeError), ({"bundles": {"CPU": 1}}, TypeError)]:
            with pytest.raises(kind):
                request_resources(**wrong)
        with pytest.raises(ValueError, match="number of bundles"):
            request_resources(bundles=[{"CPU": 1}], bundle_label_selectors=[{}, {}])
    finally:
        nbaccel.shutdown()
