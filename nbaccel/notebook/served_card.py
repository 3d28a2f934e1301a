"""The card of an application of `nbaccel.serve`, drawn from its ServedSnapshot, as it is saved: it has no token."""

from __future__ import annotations

from nbaccel.notebook import blocks
from nbaccel.notebook.blocks import Html
from nbaccel.views import palette, served_snapshot, wording
from nbaccel.views.served_snapshot import SIGNS, DeploymentRow, ServedSnapshot
from nbaccel.views.snapshot import Snapshot


def mimebundle(served: ServedSnapshot, now: float) -> dict[str, str]:
    """The card as text and as HTML."""
    return {"text/plain": text(served, now), "text/html": html(served, now)}


def text(served: ServedSnapshot, now: float) -> str:
    """The card in plain text."""
    return "\n".join(line for line in [served_snapshot.one_line(served), *_lines(served, now)] if line)


def html(served: ServedSnapshot, now: float) -> str:
    """The card as HTML; it needs nothing else and stays correct when it is saved."""
    head = [
        Html(f"{state(served)} {blocks.words(wording.plain(served.name), strong=True)}"),
        blocks.words(wording.plain(served.route or served.url)),
        blocks.words(served_snapshot.request_words(served)),
    ]
    curl = served_snapshot.curl_words(served)
    why = wording.plain(served.why)
    return blocks.box(
        [
            blocks.paragraph(blocks.join([each for each in head if each], " · "), kind="header"),
            (blocks.attention(why) if served.state == "failed" else blocks.line(why)) if why else blocks.NOTHING,
            blocks.note(curl) if curl else blocks.NOTHING,
            *(_deployment(each) for each in served.deployments if served.is_under_way),
            *(blocks.line(line) for line in _errors(served)),
            blocks.note(_last_line(served, now)),
        ]
    )


def _deployment(deployment: DeploymentRow) -> Html:
    name = blocks.words(wording.plain(deployment.name), strong=True)
    said = blocks.words(served_snapshot.deployment_words(deployment))
    why = blocks.words(wording.plain(deployment.message), quiet=True) if deployment.message else blocks.NOTHING
    return blocks.paragraph(blocks.join([each for each in (name, said, why) if each]))


def _lines(served: ServedSnapshot, now: float) -> list[str]:
    rows = [
        f"{wording.plain(each.name)}  {served_snapshot.deployment_words(each)}"
        for each in served.deployments
        if served.is_under_way
    ]
    return [served_snapshot.curl_words(served), *rows, *_errors(served), _last_line(served, now)]


def _errors(served: ServedSnapshot) -> list[str]:
    return [served_snapshot.error_words(each.error) for each in served.deployments if each.error is not None]


def _last_line(served: ServedSnapshot, now: float) -> str:
    stop = f"Stop: serve.delete({served.name!r}) · " if served.is_under_way else ""
    return f"{stop}as of {wording.moment(now)}"


def state(served: ServedSnapshot) -> Html:
    """Its shape and its word."""
    colours = {"failed": palette.FAILURE, "serving": palette.colour(palette.HUES.of(served.name))}
    shape = blocks.sign(SIGNS.get(served.state, "◌"), colours.get(served.state, palette.WAITING))
    return Html(f'<span class="nbaccel-pill">{shape} {blocks.words(served.state)}</span>')


def table(snapshot: Snapshot) -> Html:
    """A row for each application of the cluster; "" without one."""
    served = served_snapshot.of_snapshot(snapshot)
    if not served:
        return blocks.NOTHING
    heads = [[blocks.name_cell(each.name), state(each)] for each in served]
    return blocks.table_with(heads, served_snapshot.table(snapshot))
