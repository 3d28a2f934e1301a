"""Settings come from the shell's configuration, are changed by name, and keep their bounds."""

from __future__ import annotations

import pytest
from traitlets.config import Config

from nbaccel.notebook.options import MAGICS
from nbaccel.notebook.settings import NotebookSettings


def test_a_profile_sets_them_for_good() -> None:
    assert NotebookSettings(config=Config({"NotebookSettings": {"lines_per_cell": 1000}})).lines_per_cell == 1000


def test_a_value_out_of_bounds_says_the_bound_and_changes_nothing() -> None:
    settings = NotebookSettings()
    with pytest.raises(ValueError, match="'errors_shown=0': it must be at least 1"):
        settings.change({"errors_shown": 0})
    assert settings.errors_shown == 4


def test_every_setting_is_an_option_of_the_magic_and_a_row_of_the_table() -> None:
    names = sorted(NotebookSettings.class_traits(config=True))
    assert sorted(option.name for option in MAGICS["accel_config"]) == names
    assert [row[0] for row in NotebookSettings().as_table().rows] == names
