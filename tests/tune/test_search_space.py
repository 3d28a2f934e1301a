"""Domains, and the configs that a space gives."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from nbaccel import tune
from nbaccel.tune.search import BasicVariantGenerator
from nbaccel.tune.search.sample import (
    Categorical,
    Float,
    Integer,
    LogUniform,
    Normal,
    Quantized,
    Sampler,
    Uniform,
    choice,
    generator,
    grid_search,
    lograndint,
    loguniform,
    qlograndint,
    qloguniform,
    qrandint,
    qrandn,
    quniform,
    randint,
    randn,
    sample_from,
    uniform,
)
from nbaccel.tune.search.variant_generator import check, copied, has_nested_grids
from nbaccel.tune.setting_up import read, stored


def drawn(domain: Any, size: int = 500) -> list[Any]:
    rng = random.Random(0)
    return [domain.draw(rng) for _ in range(size)]


def configs(space: Any, num_samples: int = 1, **options: Any) -> list[dict[str, Any]]:
    return list(BasicVariantGenerator(**options).configs(space, num_samples, 0))


def test_a_step_makes_both_bounds_possible() -> None:
    assert set(drawn(quniform(0, 1, 0.25))) == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert set(drawn(qrandint(2, 10, 4))) == {4, 8}
    assert set(drawn(qlograndint(1, 8, 2))) == {2, 4, 6, 8}
    assert all(value % 0.5 == 0 for value in drawn(qrandn(0, 3, 0.5)))
    assert all(1 <= value <= 100 for value in drawn(qloguniform(1, 100, 1)))


def test_the_upper_bound_of_whole_numbers_is_excluded_without_a_step() -> None:
    assert set(drawn(randint(0, 3))) == {0, 1, 2}
    assert set(drawn(qrandint(0, 3))) == {0, 1, 2}  # Ray's rule for a step of 1
    assert set(drawn(qrandint(0, 3, 3))) == {0, 3}
    assert set(drawn(lograndint(1, 4))) == {1, 2, 3}


def test_a_logarithmic_scale_gives_each_order_of_magnitude_the_same_share() -> None:
    values = drawn(loguniform(1e-4, 1), 4000)
    share = sum(value < 1e-2 for value in values) / len(values)
    assert 0.45 < share < 0.55 and min(values) >= 1e-4 and max(values) <= 1


def test_types_of_values() -> None:
    assert all(type(value) is float for value in drawn(uniform(0, 1)) + drawn(quniform(0, 10, 2)) + drawn(randn(2, 1)))
    assert all(type(value) is int for value in drawn(randint(0, 9)) + drawn(lograndint(1, 9)))
    assert math.isclose(sum(drawn(randn(5, 0.1))) / 500, 5, rel_tol=0.01)
    assert set(drawn(choice(["a", 1, None]))) == {"a", 1, None}


def test_a_seed_repeats_the_values() -> None:
    assert list(uniform(0, 1).sample(size=3, random_state=7)) == list(uniform(0, 1).sample(size=3, random_state=7))
    numpy = pytest.importorskip("numpy")
    for seed in (random.seed, numpy.random.seed):
        generator(None)
        seed(3)
        first = generator(None).random()
        seed(3)
        assert generator(None).random() == first
    state = numpy.random.RandomState(1)
    assert isinstance(uniform(0, 1).sample(random_state=state), float)
    assert isinstance(generator(numpy.random.default_rng(1)), random.Random)


def test_a_domain_is_shown_as_the_call_that_makes_it() -> None:
    shown = [uniform(0, 1), quniform(0, 1, 0.5), randint(1, 4), loguniform(1e-4, 0.1), randn(), choice([1, 2])]
    assert [repr(each) for each in shown] == [
        "uniform(0, 1)", "quniform(0, 1, 0.5)", "randint(1, 4)", "loguniform(0.0001, 0.1)", "randn(0.0, 1.0)",
        "choice([1, 2])",
    ]  # fmt: skip
    assert uniform(0, 1).domain_str == "(0, 1)" and choice([1]).domain_str == "[1]"
    assert uniform(0, 1).is_valid(0.5) and not uniform(0, 1).is_valid(2) and not choice([1]).is_valid(2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: uniform(1, 0), r"uniform\(1, 0\): the lower bound is larger"),
        (lambda: loguniform(-4, -1), "larger than 0. Give the values themselves"),
        (lambda: quniform(0, 1, 0.3), "the bound 1 is no multiple of the step 0.3"),
        (lambda: quniform(0, 1, 0), "step q must be larger than 0"),
        (lambda: randint(3, 3), "contains no number: the upper bound is excluded"),
        (lambda: qrandint(1, 2, 3), "contains no number"),
        (lambda: randint(0.5, 3), "no whole number"),
        (lambda: uniform("0", 1), "a bound must be a number, not '0'"),
        (lambda: uniform(0, math.inf), "both bounds must be finite"),
        (lambda: randn(0, 0), "standard deviation"),
        (lambda: Float(0, 1).normal(), "a normal distribution has no bounds"),
        (lambda: Float(None, 1).uniform(), "both bounds must be finite"),
        (lambda: Float(0, 1).uniform().set_sampler(LogUniform()), "has the sampler Uniform: a domain has one"),
        (lambda: choice("abc"), "takes a list of values"),
        (lambda: choice([]), "no value to choose"),
        (lambda: grid_search([]), "no value to try"),
        (lambda: grid_search(3), "takes a list of values, not 3"),
        (lambda: sample_from(3), "takes a function"),
        (lambda: sample_from(lambda a, b: 1), "must take the config, or nothing"),
    ],
)
def test_domains_without_a_sense_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_a_domain_is_made_of_bounds_and_a_sampler_as_in_ray() -> None:
    made = [
        Float(0, 1).quantized(0.5), Float(1, 8).loguniform(), Integer(1, 9).loguniform().quantized(2),
        Float(None, None).normal(2, 3), Categorical([1]).uniform(),
    ]  # fmt: skip
    assert [repr(each) for each in made] == [
        "quniform(0, 1, 0.5)", "loguniform(1, 8)", "qlograndint(1, 9, 2)", "randn(2, 3)", "choice([1])",
    ]  # fmt: skip
    step = made[2].get_sampler()
    assert isinstance(step, Quantized) and step.q == 2 and isinstance(step.get_sampler(), LogUniform)
    assert isinstance(uniform(0, 1).get_sampler(), Uniform) and isinstance(choice([1]).get_sampler(), Uniform)
    normal = qrandn(0, 1, 2).get_sampler()
    assert isinstance(normal, Quantized) and isinstance(normal.sampler, Normal) and normal.sampler.sd == 1
    assert step.sample(Integer(1, 9), size=2) != [] and 0 <= Uniform().sample(Float(0, 1)) < 1


class Always(Sampler):
    def sample(self, domain: Any, config: Any = None, size: int = 1, random_state: Any = None) -> Any:
        return domain.upper


def test_a_sampler_of_ones_own_is_asked() -> None:
    domain = Float(0, 7)
    domain.set_sampler(Always())
    assert domain.sample() == 7 and configs({"x": domain}) == [{"x": 7}]
    domain.set_sampler(Uniform(), allow_override=True)
    assert domain.sample() != 7


def test_a_choice_as_a_grid_gives_each_value() -> None:
    grid = Categorical([1, 2]).grid()
    assert grid.is_grid() and repr(grid) == "grid_search([1, 2])"
    assert configs({"x": grid, "y": choice([grid])}) == [{"x": x, "y": y} for x in (1, 2) for y in (1, 2)]
    with pytest.raises(RuntimeError, match="none is drawn"):
        grid.sample()
    assert read(stored({"x": grid})) == {"x": grid_search([1, 2])}


# ---- spaces


def test_samples_multiply_the_grid_and_the_first_grid_changes_fastest() -> None:
    space = {"a": grid_search([1, 2]), "b": grid_search([3, 4, 5]), "c": 6}
    found = configs(space, num_samples=2)
    assert len(found) == 12 == BasicVariantGenerator().count(space, 2)
    assert [(each["a"], each["b"]) for each in found[:6]] == [(1, 3), (2, 3), (1, 4), (2, 4), (1, 5), (2, 5)]


def test_dicts_lists_and_tuples_are_walked() -> None:
    space = {"model": {"layers": [randint(1, 2), grid_search([7, 8])]}, "pair": (choice(["x"]), 1)}
    assert configs(space) == [
        {"model": {"layers": [1, 7]}, "pair": ("x", 1)},
        {"model": {"layers": [1, 8]}, "pair": ("x", 1)},
    ]
    assert "grid_search" in space["model"]["layers"][1]  # the space itself stays as it is


def test_a_long_grid_is_not_copied_for_each_of_its_values() -> None:
    space = {"number": grid_search(list(range(1_000))), "layers": [{"width": 4}]}
    again = copied(space)
    assert again == space and again["layers"][0] is not space["layers"][0]
    assert again["number"]["grid_search"] is space["number"]["grid_search"]


def test_random_values_are_drawn_for_each_combination_unless_they_are_kept() -> None:
    space = {"a": grid_search([1, 2]), "b": uniform(0, 1), "c": sample_from(lambda config: config["b"] + config["a"])}
    first, second = configs(space)
    assert first["b"] != second["b"]
    first, second = configs(space, constant_grid_search=True)
    assert first["b"] == second["b"] and second["c"] == second["b"] + 2


def test_a_function_sees_the_other_parameters_in_any_order() -> None:
    space = {
        "c": sample_from(lambda config: config["b"] * 2),
        "b": sample_from(lambda spec: spec.config.a + 1),
        "a": grid_search([1]),
        "d": sample_from(lambda: 9),
        "e": sample_from(lambda config: config.get("missing", 0) + config.a),
    }
    assert configs(space) == [{"c": 4, "b": 2, "a": 1, "d": 9, "e": 1}]


def test_functions_that_need_one_another_are_told() -> None:
    space = {"a": sample_from(lambda config: config["b"]), "b": sample_from(lambda config: config["a"])}
    with pytest.raises(ValueError, match="The parameter a cannot be drawn: it needs b"):
        configs(space)


def test_a_drawn_value_may_hold_domains_and_grids() -> None:
    assert configs({"optimizer": choice([{"momentum": choice([0.9])}])}) == [{"optimizer": {"momentum": 0.9}}]
    space = {"optimizer": choice([{"momentum": grid_search([1, 2])}])}
    assert len(configs(space)) == 2 and BasicVariantGenerator().count(space, 1) is None


def test_points_come_first_and_count_as_samples() -> None:
    found = configs({"lr": uniform(0, 1), "x": 1}, 3, points_to_evaluate=[{"lr": 0.5}])
    assert len(found) == 3 and found[0] == {"lr": 0.5, "x": 1}
    with pytest.raises(ValueError, match="a parameter l, which param_space does not have"):
        configs({"lr": uniform(0, 1)}, points_to_evaluate=[{"l": 0.5}])
    assert configs({"lr": uniform(0, 1)}, points_to_evaluate=[{"lr": 5}]) == [{"lr": 5}]
    assert configs({"x": choice([1, 2])}, points_to_evaluate=[{"x": 7}]) == [{"x": 7}]


def test_the_same_seed_gives_the_same_configs() -> None:
    space = {"a": uniform(0, 1), "b": choice([1, 2, 3])}
    assert configs(space, 5) == configs(space, 5)
    assert BasicVariantGenerator(random_state=5).seed() == 5


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ([("lr", 1)], "must be a dict of parameters, not list"),
        ({"lr": uniform}, r"is the function uniform itself: call it, tune.uniform"),
        ({"model": {"lr": {"grid_serch": [1]}}}, "model/lr has 'grid_serch': did you mean 'grid_search'"),
        ({"lr": {"grid_search": 3}}, "takes a list with values, not 3"),
        ({3: 1}, "names of parameters are texts, not 3"),
    ],
)
def test_what_looks_like_a_mistake_in_a_space_is_told(space: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check(space)


def test_domains_of_ray_and_optuna_are_told() -> None:
    for module in ("ray.tune.search.sample", "optuna.distributions"):
        foreign = type("Float", (), {"__module__": module})()
        with pytest.raises(ValueError, match="The parameter lr is a Float of"):
            check({"lr": foreign})


def test_a_space_that_holds_itself_is_told() -> None:
    space: dict[str, Any] = {"inner": {}}
    space["inner"]["space"] = space
    with pytest.raises(ValueError, match="holds itself"):
        check(space)


def test_a_grid_in_a_value_of_a_choice_is_found_and_a_text_is_none() -> None:
    grid = tune.grid_search([1, 2])
    assert has_nested_grids({"x": tune.choice([{"y": tune.choice([{"z": grid}])}])})
    assert not has_nested_grids({"x": tune.choice(["grid_search", {"kind": "grid_search"}]), "y": grid})


def test_a_point_may_have_a_list_or_a_dict_that_is_one_value_of_a_choice() -> None:
    space = {
        "layers": tune.choice([[64, 64], [32]]),
        "net": {"kind": tune.choice([{"a": 1}, {"b": 2}])},
        "pair": [1, 2],
    }
    point = {"layers": [64, 64], "net": {"kind": {"b": 2}}, "pair": [3, 4]}
    assert configs(space, points_to_evaluate=[point]) == [point]
    (config,) = configs(space, points_to_evaluate=[{"layers": [1]}])
    assert config["layers"] == [1], "a value that the choice does not have runs, as in Ray"


def test_several_values_are_an_array_where_they_are_numbers_without_a_step() -> None:
    numpy = pytest.importorskip("numpy")
    numbers = (tune.uniform(0, 1), tune.loguniform(0.1, 1), tune.randn(), tune.randint(0, 9), tune.lograndint(1, 9))
    for domain in numbers:
        several = domain.sample(size=3)
        assert isinstance(several, numpy.ndarray) and several.shape == (3,) and domain.cast(several[0]) == several[0]
    for domain in (tune.quniform(0, 1, 0.5), tune.qrandint(0, 8, 2), tune.qrandn(0, 1, 1), tune.choice([1, 2])):
        assert type(domain.sample(size=3)) is list
    assert tune.sample_from(lambda: 1).is_function() and not tune.choice([1]).is_function()
