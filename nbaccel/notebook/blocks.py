"""The building blocks of all HTML that nbaccel shows; each is complete without its style.

A part consists of words in the right order. The style sheet adds the looks. Without it, the colours and sizes in
`style` attributes are left; without those too, rows, signs and words are left (docs/design.md says which programs
remove what). All text is escaped here and nowhere else, so that no escape can be forgotten.

```
  box ── header        first line: what is busy, how many tasks of each state
      ├─ table ── row ── name_cell, pill, bar, meter, chip, words
      ├─ tiles ── tile one for each of many devices
      ├─ note          a quiet line         attention   one that should not be missed
      └─ empty         what would be here, and the line that makes it appear
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape, unescape
from typing import NewType

from nbaccel.views import palette
from nbaccel.views.tables import Table

Html = NewType("Html", str)

SIGNS = {
    "running": "●",
    "waiting": "◌",
    "failed": "✕",
    "cancelled": "⊘",
    "finished": "✓",
    "alive": "●",
    "dead": "✕",
    "created": "●",
    "removed": "–",
}
_SIGN_COLOURS = {"failed": palette.FAILURE, "waiting": palette.WAITING, "cancelled": palette.WAITING}
_GO_ON = ("running", "alive")
_LONG_HEAD = 20  # characters of a column's head that stay on one line
_LEFT = ' style="text-align:left"'  # without our style sheet, Jupyter aligns cells to the right
_CLEAR = ("State", "Devices", "In use", "Held by", "Why")  # columns whose cells need no name before them
SHORT, SHORT_NAME = 24, 40  # characters of a cell, and of a row's head, that stay on one line
_SPARK_PX = 16  # height of a line of two minutes
NOTHING = Html("")
NO_BREAK = "\u00a0"


def words(text: str, *, quiet: bool = False, strong: bool = False, title: str = "") -> Html:
    """Some words, escaped; `title` is the tooltip."""
    shown = escape(text)
    if quiet or title:
        kind = ' class="nbaccel-quiet"' if quiet else ""
        about = f' title="{escape(title)}"' if title else ""
        shown = f"<span{kind}{about}>{shown}</span>"
    return Html(f"<strong>{shown}</strong>" if strong else shown)


def join(parts: Iterable[Html], between: str = " ") -> Html:
    """Parts side by side, the empty ones left out."""
    return Html(escape(between).join(part for part in parts if part))


def two_lines(first: Html, second: str) -> Html:
    """Two lines: the important fact, and below it the details."""
    return Html(f'{first}<br><span class="nbaccel-quiet nbaccel-small">{escape(second)}</span>') if second else first


def name_cell(name: str, below: str = "") -> Html:
    """A name, which the style sheet cuts at some 24 characters with the whole in a title, over what identifies it."""
    whole = escape(name)
    return two_lines(Html(f'<strong class="nbaccel-name" title="{whole}">{whole}</strong>'), below)


def titled(content: Html, title: str) -> Html:
    """A part with a tooltip."""
    return Html(f'<span title="{escape(title)}">{content}</span>') if title else content


def swatch(colour: str) -> Html:
    """A spot in the colour of a function, for use beside the function's name."""
    style = f"display:inline-block;width:10px;height:10px;border-radius:3px;background:{colour}"
    return Html(f'<span class="nbaccel-swatch" aria-hidden="true" style="{style}"></span>')


def key(colour: str, named: Html) -> Html:
    """A spot in a colour and whose colour it is; no line ends between the two."""
    style = "display:inline-block;max-width:100%"
    return Html(f'<span class="nbaccel-key" style="{style}">{join([swatch(colour), named], NO_BREAK)}</span>')


def sign(shape: str, colour: str = "") -> Html:
    """A shape that says a state beside its word."""
    style = f' style="color:{colour}"' if colour else ""
    return Html(f'<span aria-hidden="true"{style}>{escape(shape)}</span>')


def pill(state: str, colour: str = "") -> Html:
    """A state as a shape and a word: red if failed, grey if waiting or cancelled; in `colour` while it goes on."""
    shape = sign(SIGNS.get(state, "◌"), _SIGN_COLOURS.get(state, colour if state in _GO_ON else ""))
    failed = " nbaccel-failed" if state == "failed" else ""
    return Html(f'<span class="nbaccel-pill{failed}">{shape} {escape(state)}</span>')


def chip(text: str, *, urgent: bool = False) -> Html:
    """A short mark, such as "logical"."""
    kind = "nbaccel-chip nbaccel-urgent" if urgent else "nbaccel-chip"
    return Html(f'<span class="{kind}">{escape(text)}</span>')


def bar(shares: Sequence[tuple[float, str]], *, width_px: int = 84) -> Html:
    """A bar of the held shares of a device, each (share from 0 to 1, colour); words beside it name the holders."""
    look = "display:inline-block;height:100%;box-sizing:border-box;border-right:1px solid transparent"
    drawn = "".join(
        f'<span style="{look};width:{100 * min(1.0, max(0.0, share)):.4g}%;background:{colour};'
        'background-clip:padding-box"></span>'
        for share, colour in shares
    )
    style = f"display:inline-block;width:{width_px}px;height:10px;font-size:0;line-height:0;white-space:nowrap"
    return Html(f'<span class="nbaccel-bar" aria-hidden="true" style="{style};overflow:hidden">{drawn}</span>')


def meter(percent: float, text: str) -> Html:
    """A measured share: a thin grey bar with its words."""
    return join([bar([(percent / 100, palette.WAITING)], width_px=52), words(text)])


def measures(shown: Iterable[Html]) -> Html:
    """Measurements one below the other; side by side where the page is wide."""
    return Html("<br>".join(f'<span class="nbaccel-measure">{each}</span>' for each in shown))


def spark(levels: Sequence[float | None], *, of_all: bool = False, width_px: int = 84) -> Html:
    """A measurement over time as a grey line, each level from 0 to 1; words beside it have its value.

    With `of_all`, where 1 is all that there is, it is an area in a box from nothing to all; else only zero has a line.
    """
    runs = _known_runs(levels)
    path = "".join(f"M{'L'.join(points)}" for points in runs)
    frame = f"border{'' if of_all else '-bottom'}:1px solid color-mix(in srgb,currentColor 25%,transparent)"
    look = f'style="width:{width_px}px;height:{_SPARK_PX}px;vertical-align:middle;{frame}"'
    drawn = f'<path d="{path}" fill="none" stroke="{palette.WAITING}" vector-effect="non-scaling-stroke"/>'
    if of_all:
        ends = [(run[0].split()[0], run[-1].split()[0]) for run in runs]
        below = "".join(
            f"M{'L'.join(run)}L{last} {_SPARK_PX}L{first} {_SPARK_PX}Z"
            for run, (first, last) in zip(runs, ends, strict=True)
        )
        drawn = f'<path class="nbaccel-under" d="{below}" fill="{palette.WAITING}" fill-opacity=".3"/>{drawn}'
    box = f'viewBox="0 0 {max(len(levels) - 1, 1)} {_SPARK_PX}" preserveAspectRatio="none"'
    return Html(f'<svg aria-hidden="true" {box} {look}>{drawn}</svg>')


def _known_runs(levels: Sequence[float | None]) -> list[list[str]]:
    """The points of a line in a drawing, from one gap to the next."""
    runs: list[list[str]] = [[]]
    for at, level in enumerate(levels):
        if level is None:
            runs.append([])
        else:
            runs[-1].append(f"{at} {_SPARK_PX - 1 - level * (_SPARK_PX - 2):.1f}")
    return [run for run in runs if run]


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Html]],
    *,
    below: Sequence[Html] = (),
    at: str = "",
    seen: bool = True,
    kind: str = "",
) -> Html:
    """A real table with caption and column heads, for eyes and for screen readers; the first cell heads its row.

    `below` has, for each row, what stands below it on a line of its own, or NOTHING. Where the page is narrow, each row
    is a block that names its columns; `at`: see `when`. `seen` is False for what is `for_ears` only and needs no looks.
    """
    head = "".join(map(_column_head, columns))
    body = "".join(
        f"<tr>{_row(row, columns if seen else ())}</tr>{_below(below[place], len(columns)) if below else NOTHING}"
        for place, row in enumerate(rows)
    )
    caption = f"<caption{_LEFT}>{join([Html(escape(title)), when(at)])}</caption>"
    look = f' class="{kind}"' if kind else ""
    return Html(f"<table{look}>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _column_head(name: str) -> str:
    """A column's head; a long name may break after its parts, so that the columns to the right stay in sight."""
    if len(name) <= _LONG_HEAD:
        return f'<th scope="col"{_LEFT}>{escape(name)}</th>'
    broken = escape(name).replace("_", "_<wbr>").replace("/", "/<wbr>")
    return f'<th scope="col"{_LEFT} class="nbaccel-long">{broken}</th>'


def table_with(heads: Iterable[Sequence[Html]], plain: Table) -> Html:
    """A table of words whose first cells are drawn: `heads` has those of each row."""
    rows = [[*head, *map(words, row[len(head) :])] for head, row in zip(heads, plain.rows, strict=True)]
    return table(plain.title, plain.columns, rows)


def _row(row: Sequence[Html], columns: Sequence[str]) -> str:
    """The cells; of a table without `columns`, without looks."""
    first, *others = row
    if not columns:
        return f'<th scope="row"{_LEFT}>{first}</th>' + "".join(f"<td{_LEFT}>{cell}</td>" for cell in others)
    cells = [
        f"<td{_LEFT}{_head(name, cell)}{_short(cell, SHORT)}>{cell}</td>"
        for name, cell in zip(columns[1:], others, strict=True)
    ]
    return f'<th scope="row"{_LEFT}{_short(first, SHORT_NAME)}>{first}</th>{"".join(cells)}'


def _below(line: Html, columns: int) -> str:
    return f'<tr class="nbaccel-below"><td colspan="{columns}"{_LEFT}>{line}</td></tr>' if line else ""


def _head(column: str, cell: Html) -> str:
    return f' data-head="{escape(column)}"' if cell and column not in _CLEAR else ""


def _short(cell: Html, most: int) -> str:
    """Few words stay on one line; more are broken where the page is narrow."""
    return ' class="nbaccel-short"' if _is_short(cell, most) else ""


def _is_short(content: Html, most: int) -> bool:
    """Whether no line of the content has more letters."""
    lines = re.sub(r"<(?!br)[^>]*>", "", content).split("<br>")
    return max(len(unescape(line)) for line in lines) <= most


def tile(label: str, said: str, shares: Sequence[tuple[float, str]]) -> Html:
    """One of many devices: its number, what is held of it, and in words by whom."""
    drawn = bar(shares, width_px=44)
    return Html(f'<li title="{escape(said)}"><strong>{escape(label)}</strong> {drawn} <span>{escape(said)}</span></li>')


def tiles(title: str, shown: Iterable[Html]) -> Html:
    """A grid of tiles; without the style sheet, a plain list."""
    return Html(f'<ul class="nbaccel-tiles" aria-label="{escape(title)}">{"".join(shown)}</ul>')


def tiles_by_node(nodes: Iterable[tuple[str, str, Iterable[Html]]]) -> Html:
    """The tiles of each node below its name, each (name, whole name, tiles); eight to a row."""
    drawn = "".join(
        f"<div>{paragraph(words(name, quiet=True, title=whole))}{tiles(f'Devices of {name}', shown)}</div>"
        for name, whole, shown in nodes
    )
    return Html(f'<div class="nbaccel-nodes">{drawn}</div>')


def strip(chips: Iterable[tuple[Html, str]]) -> Html:
    """Parts side by side on one line, each (content, title): one that has no room ends in an ellipsis."""
    *others, last = [f'<span title="{escape(title)}">{content}</span>' for content, title in chips]
    between = '<i class="nbaccel-between">; </i>'
    return paragraph(Html("".join(f"{each}{between}" for each in others) + last), kind="strip")


def paragraph(content: Html, *, kind: str = "") -> Html:
    """One line; an empty line gives nothing."""
    if not content:
        return NOTHING
    return Html(f'<p class="nbaccel-{kind}">{content}</p>' if kind else f"<p>{content}</p>")


def note(text: str) -> Html:
    """A quiet line; no text gives nothing."""
    return paragraph(Html(escape(text)), kind="quiet")


def line(text: str) -> Html:
    """A plain line."""
    return paragraph(Html(escape(text)))


def attention(text: str) -> Html:
    """A line that a person should not miss. The word carries the meaning; the colour only helps."""
    drawn = f"{sign('⚠', palette.ATTENTION)} <strong>Attention:</strong> {escape(text)}"
    return paragraph(Html(drawn), kind="attention")


def header(busy: Sequence[str], counts: Mapping[str, int], about: str, at: str = "") -> Html:
    """The first line, "2 of 2 GPUs busy · 3 running · 1 failed", with what runs it as its title."""
    states = counted(counts) or [words("no task yet", quiet=True)]
    return first_line([*(words(each, strong=True) for each in busy), *states], about, at)


def first_line(facts: Iterable[Html], about: str = "", at: str = "") -> Html:
    """Facts that are seen first, with what is less important as their title, and when it was so at the end."""
    title = f' title="{escape(about)}"' if about else ""
    shown = Html(f"<span>{join(map(together, facts), ' · ')}</span>")
    return Html(f'<p class="nbaccel-header"{title}>{join([shown, when(at)])}</p>')


def together(fact: Html) -> Html:
    """A short fact, in which no line ends, least of all between a number and its word."""
    return Html(f'<span style="white-space:nowrap">{fact}</span>') if fact and _is_short(fact, SHORT_NAME) else fact


def when(at: str) -> Html:
    """When a saved view was so, at the end of its first line; nothing without a moment."""
    return Html(f'<span class="nbaccel-at">{escape(at)}</span>') if at else NOTHING


def counted(counts: Mapping[str, int]) -> list[Html]:
    """The number of tasks in each state, failed ones in red."""
    return [_count(word, number) for word, number in counts.items()]


def _count(word: str, number: int) -> Html:
    said = f"{number} {word}"
    if word != "failed":
        return words(said, quiet=word in ("cancelled", "finished"))
    return Html(f'<span class="nbaccel-failed">{sign(SIGNS[word], palette.FAILURE)} {said}</span>')


def failures(number: int) -> Html:
    """How many failed, below a head that says so; nothing for none."""
    return Html(f'<span class="nbaccel-failed">{number}</span>') if number else NOTHING


def empty(text: str, code: str = "") -> Html:
    """What would be here, and the line of code that makes it appear."""
    shown = escape(text) + (f" <code>{escape(code)}</code>" if code else "")
    return paragraph(Html(shown), kind="quiet")


def for_ears(content: Html) -> Html:
    """The content of a drawing as a hidden table; it stays if the drawing and the style sheet are removed."""
    return Html(f'<div class="nbaccel-unseen">{content}</div>')


def progress(label: str, done: int, total: int, said: str) -> Html:
    """A bar followed by its words; a page that cannot draw the bar shows the words alone."""
    drawn = f'<progress max="{total}" value="{done}"></progress> ' if total else ""
    return Html(f"<p>{escape(label)}{drawn}{escape(said)}</p>")


def details(summary: str, content: Html) -> Html:
    """A part that stays folded until the reader opens it."""
    return Html(f"<details><summary>{escape(summary)}</summary>{content}</details>")


def box(shown: Iterable[Html]) -> str:
    """The frame around what one display shows, with the style it needs: a saved notebook has nothing else."""
    body = "".join(shown)
    return f'<style>{style_of(body)}</style><div class="nbaccel">{body}</div>'


# ---- the style sheet of all HTML that nbaccel shows; it takes the colours of the page around it
#
# JupyterLab and Notebook define `--jp-*`, VS Code defines `--vscode-*`, and a page that has neither (nbconvert, GitHub)
# falls back to the system's colours, which follow its light or dark mode. The class stands twice in each rule, so
# that it outweighs JupyterLab's own rules for HTML outputs, which set tables to the right. The cockpit's own sheet
# (`components/style.ts`) has the same sizes; docs/design.md says which.


_RULES = """
.nbaccel{--ink:var(--jp-ui-font-color1,var(--vscode-foreground,CanvasText));
--quiet:var(--jp-ui-font-color2,var(--vscode-descriptionForeground,color-mix(in srgb,CanvasText 72%,Canvas)));
--ground:var(--jp-layout-color1,var(--vscode-editor-background,Canvas));
--raised:var(--jp-layout-color2,var(--vscode-editorWidget-background,color-mix(in srgb,CanvasText 7%,Canvas)));
--line:var(--jp-border-color2,var(--vscode-panel-border,color-mix(in srgb,CanvasText 22%,Canvas)));
--edge:color-mix(in srgb,var(--ink) 55%,transparent);--failed:color-mix(in srgb,FAILURE 65%,var(--ink));
color:var(--ink);background:var(--ground);border:1px solid var(--line);border-radius:6px;
padding:8px 12px;margin:2px 0;box-sizing:border-box;max-width:100%;overflow-x:auto;font-variant-numeric:tabular-nums;
container-type:inline-size;overflow-wrap:anywhere;
font:var(--jp-ui-font-size1,13px)/1.45 var(--jp-ui-font-family,var(--vscode-font-family,system-ui,sans-serif))}
.nbaccel p{margin:0 0 4px}
.nbaccel p:last-child{margin-bottom:0}
.nbaccel .nbaccel-header{font-size:1.08em;display:flex;flex-wrap:wrap;gap:0 12px;align-items:baseline}
.nbaccel .nbaccel-at{margin-left:auto;color:var(--quiet);font-size:.92em;font-weight:400}
.nbaccel caption .nbaccel-at{float:right}
.nbaccel .nbaccel-quiet{color:var(--quiet)}
.nbaccel .nbaccel-small{font-size:.92em}
.nbaccel .nbaccel-unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.nbaccel .nbaccel-failed{color:var(--failed)}
.nbaccel .nbaccel-pill{white-space:nowrap}
.nbaccel .nbaccel-name{display:inline-block;max-width:24ch;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
vertical-align:bottom;font-weight:600}
.nbaccel .nbaccel-chip{border:1px solid var(--line);border-radius:9px;padding:0 7px;font-size:.88em;color:var(--quiet);
white-space:nowrap}
.nbaccel .nbaccel-urgent{border-color:ATTENTION;color:var(--ink);font-weight:600}
.nbaccel .nbaccel-bar{border-radius:3px;background:var(--raised);outline:1px solid var(--edge);outline-offset:-1px;
vertical-align:baseline}
.nbaccel table{border-collapse:collapse;width:100%;margin:6px 0;color:inherit;font-size:inherit;table-layout:auto}
.nbaccel caption{text-align:left;font-weight:600;padding:2px 0;color:inherit;caption-side:top}
.nbaccel :is(th,td){text-align:left;vertical-align:top;padding:4px 16px 4px 0;border:0;font-weight:400;
white-space:normal;background:transparent;color:inherit;line-height:inherit;max-width:none}
.nbaccel td{min-width:9em}
.nbaccel .nbaccel-short{white-space:nowrap;min-width:0}
.nbaccel tbody tr:is(:nth-child(n),:hover){background:transparent}
.nbaccel thead th{color:var(--quiet);font-size:.92em;border-bottom:1px solid var(--line);white-space:nowrap;
vertical-align:bottom}
.nbaccel thead .nbaccel-long{white-space:normal;min-width:12ch}
.nbaccel tbody tr+tr :is(th,td){border-top:1px solid color-mix(in srgb,var(--line) 55%,transparent)}
.nbaccel .nbaccel-grid{table-layout:fixed}
.nbaccel .nbaccel-grid th:first-child{width:30%}
.nbaccel .nbaccel-grid th{white-space:normal}
.nbaccel .nbaccel-grid th:last-child{width:28%}
.nbaccel tbody tr.nbaccel-below td{border:0;padding-top:0;color:var(--quiet)}
.nbaccel .nbaccel-tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(64px,1fr));gap:4px;list-style:none;
margin:6px 0;padding:0}
.nbaccel .nbaccel-tiles li{border:1px solid var(--line);border-radius:4px;padding:2px 6px;margin:0;line-height:1.35}
.nbaccel .nbaccel-tiles li>strong{display:block;font-weight:400;white-space:nowrap}
.nbaccel .nbaccel-tiles li>span:last-child{display:block;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;
color:var(--quiet);font-size:.92em}
.nbaccel .nbaccel-nodes{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,620px),1fr));gap:6px 20px;
margin:6px 0}
.nbaccel .nbaccel-nodes .nbaccel-tiles{grid-template-columns:repeat(8,minmax(0,1fr));margin:0}
.nbaccel .nbaccel-nodes p{margin:0}
.nbaccel .nbaccel-nodes li{overflow:hidden}
.nbaccel .nbaccel-strip{display:flex;flex-wrap:wrap;gap:0 14px;white-space:nowrap}
.nbaccel .nbaccel-strip>span{flex:1 1 140px;min-width:0;max-width:max-content;overflow:hidden;text-overflow:ellipsis}
.nbaccel .nbaccel-between{display:none}
.nbaccel .nbaccel-attention{padding-left:8px;border-left:4px solid ATTENTION}
.nbaccel code{font-family:var(--jp-code-font-family,var(--vscode-editor-font-family,monospace));padding:0 3px;
background:var(--raised);color:var(--ink);border-radius:3px}
.nbaccel .nbaccel-plot{display:block;width:100%;max-width:560px;height:auto;fill:currentColor}
.nbaccel .nbaccel-plot text{font-size:11px;fill:var(--quiet);paint-order:stroke;stroke:var(--ground);stroke-width:3px}
@container (min-width:1200px){.nbaccel .nbaccel-measure{display:inline-block;min-width:10em;margin-right:12px}
.nbaccel .nbaccel-measure:nth-of-type(2){min-width:14.5em}
.nbaccel .nbaccel-measure+br{display:none}}
@container (max-width:960px){.nbaccel :is(th,td){padding-right:10px}.nbaccel td{min-width:6em}}
@container (max-width:700px){
.nbaccel .nbaccel-nodes .nbaccel-tiles{grid-template-columns:repeat(4,minmax(0,1fr))}
.nbaccel .nbaccel-strip{white-space:normal}
.nbaccel .nbaccel-strip>span{flex:0 1 auto}
.nbaccel thead{position:absolute;clip-path:inset(50%)}
.nbaccel :is(table,tbody,caption){display:block}
.nbaccel tbody tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:4px 0}
.nbaccel tbody tr :is(th,td){border:0;padding:0;min-width:0;flex:1 0 100%}
.nbaccel tbody tr+tr td{border:0}
.nbaccel tbody tr.nbaccel-below{margin-top:-4px}
.nbaccel tbody td:empty{display:none}
.nbaccel td[data-head]:before{content:attr(data-head) " ";color:var(--quiet)}
.nbaccel tbody td.nbaccel-short{flex:none}}
@media (forced-colors:active){.nbaccel,.nbaccel .nbaccel-attention{border-color:CanvasText}
.nbaccel .nbaccel-bar,.nbaccel .nbaccel-swatch{forced-color-adjust:none}}
"""
STYLE = (
    _RULES.strip()
    .replace("\n", "")
    .replace("FAILURE", palette.FAILURE)
    .replace("ATTENTION", palette.ATTENTION)
    .replace(".nbaccel{", ".nbaccel.nbaccel{")
    .replace(".nbaccel ", ".nbaccel.nbaccel ")
    .replace(".nbaccel,", ".nbaccel.nbaccel,")
)
# Classes that few outputs have: the rules of the others are left out.
_RARE = {
    kind: re.compile(rf"\.nbaccel\.nbaccel [^{{}},]*{kind}\b[^{{]*\{{[^}}]*\}}")
    for kind in ("nbaccel-nodes", "nbaccel-tiles", "nbaccel-grid", "nbaccel-below", "nbaccel-measure")
}


def style_of(shown: str) -> str:
    """The style sheet for this HTML."""
    style = STYLE
    for kind, rules in _RARE.items():
        style = style if kind in shown else rules.sub("", style)
    return style
