"""Ray's marks of stability leave what they mark as it is."""

import pytest

from nbaccel.util.annotations import Deprecated, DeveloperAPI, PublicAPI


def test_what_is_marked_works_as_before():
    @PublicAPI
    def double(x):
        """Twice x."""
        return 2 * x

    @PublicAPI(stability="beta")
    class Box:
        def __init__(self, x):
            self.x = x

    @DeveloperAPI
    def triple(x):
        return 3 * x

    assert (double(2), Box(5).x, triple(3)) == (4, 5, 9)
    assert double.__doc__ == "Twice x." and "beta" in Box.__doc__


def test_what_is_deprecated_says_so_when_it_is_called():
    @Deprecated(message="Use new() instead.", warning=True)
    def old():
        return 1

    with pytest.warns(DeprecationWarning, match=r"old.*Use new\(\) instead"):
        assert old() == 1


def test_an_unknown_stability_is_refused():
    with pytest.raises(ValueError, match="stability"):
        PublicAPI(stability="rock solid")
