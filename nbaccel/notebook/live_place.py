"""The output that is a place for a live view: plain HTML whose classes tell the page what to draw over it."""

from __future__ import annotations


def bundle(key: str, card: dict[str, str], *, details: bool, of: str = "") -> dict[str, str]:
    """The output that reserves a place for views of the model with this key: `of` one run or experiment, or of all."""
    opens = (" nbaccel-details" if details else "") + (f" nbaccel-of-{of}" if of else "")
    return {**card, "text/html": f'<div class="nbaccel-place {key}{opens}">{card["text/html"]}</div>'}
