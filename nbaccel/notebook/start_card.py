"""The steps of a slow start under the cell that waits for it: an output that is changed in place.

While the start goes on it is a table. What stays in the notebook is one quiet line, above the cluster's card.
"""

from __future__ import annotations

from nbaccel.notebook import parts
from nbaccel.notebook.parts import Html
from nbaccel.views import wording
from nbaccel.views.start_steps import StartSteps


def mimebundle(shown: StartSteps) -> dict[str, str]:
    """The steps as text and HTML."""
    drawn = parts.note(shown.line()) if shown.is_over and not shown.failed else _table(shown)
    return {"text/plain": shown.line(), "text/html": parts.box([drawn])}


def _table(shown: StartSteps) -> Html:
    rows = [
        [
            parts.two_lines(parts.words(step.words, strong=step.state == "running"), step.found),
            parts.pill(step.state),
            parts.words(shown.step_took(step)),
        ]
        for step in shown.steps
    ]
    verb = "did not start" if shown.is_over else "starts"
    return parts.table(f"{shown.what} {verb}: {wording.age(shown.took_s)}", ["Step", "State", "Took"], rows)
