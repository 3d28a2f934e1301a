"""The record that a head leaves for others on this machine."""

from __future__ import annotations

import sys

import pytest

from nbaccel.views import sessions


def test_a_kernel_of_a_session_without_a_name_is_called_by_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/ipykernel_launcher.py"])
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ana/")  # Jupyter's server joins the folder and the empty name
    assert sessions.title() == "ipykernel_launcher.py"
    monkeypatch.setenv("JPY_SESSION_NAME", "/home/ana/first.ipynb")
    assert sessions.title() == "notebook first.ipynb"
