"""The table: figures side by side, ratios to Ray, goals met or missed; Markdown that is readable in a terminal."""

from __future__ import annotations

from statistics import median

from benchmarks.contenders import CONTENDERS
from benchmarks.rows import ROWS, VALUE_ROWS, Row, Unit

# contender -> row -> round -> figure; a round in which a contender failed has none
Figures = dict[str, dict[str, dict[int, float]]]


def shown(value: float | None, unit: Unit) -> str:
    """A figure as people read it: three digits and a unit that fits."""
    if value is None:
        return "–"
    if unit is Unit.PER_SECOND:
        return f"{value:,.0f} /s"
    if unit is Unit.BYTES:
        return f"{value / 1e6:,.0f} MB"
    if unit is Unit.TIMES:
        return f"{value:.2f} ×"
    for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        scaled = float(f"{value * factor:.3g}")
        if scaled >= 1 or name == "µs":
            return f"{scaled:g} {name}"
    raise AssertionError


def middle(figures: Figures, contender: str, key: str) -> float | None:
    values = figures.get(contender, {}).get(key)
    return median(values.values()) if values else None


def ratio(figures: Figures, row: Row) -> float | None:
    """How many times better than Ray: the median over the pairs, each of one round."""
    ours, rays = figures.get("nbaccel", {}).get(row.key), figures.get("ray", {}).get(row.key)
    if not ours or not rays or not ours.keys() & rays.keys():
        return None
    better = (lambda a, b: a / b) if row.unit is Unit.PER_SECOND else (lambda a, b: b / a)
    return median(better(ours[number], rays[number]) for number in ours.keys() & rays.keys())


def beside(figures: Figures, row: Row) -> float | None:
    """How many times as long as the row that it is compared with, without what it may have more, in the same rounds."""
    ours = figures.get("nbaccel", {})
    mine, other = ours.get(row.key), ours.get(row.by_row)
    if not mine or not other or not mine.keys() & other.keys():
        return None
    return median((mine[number] - row.more_s) / other[number] for number in mine.keys() & other.keys())


def _beside_words(row: Row) -> str:
    """The row that this one is compared with, and how: "1.1 × the write's", "the pipe's + 100 µs"."""
    times = "" if row.times_as_long == 1 else f"{row.times_as_long:g} × "
    return f"{times}{row.by_words}{f' + {shown(row.more_s, row.unit)}' if row.more_s else ''}"


def goal(row: Row) -> str:
    parts = []
    if row.by_row:
        parts.append(f"≤ {_beside_words(row)}")
    if row.times_better is not None:
        parts.append(f"≥ {row.times_better:g} × Ray")
    if row.limit is not None:
        parts.append(f"{'≥' if row.unit is Unit.PER_SECOND else '≤'} {shown(row.limit, row.unit)}")
    if row.ahead_of:
        title = CONTENDERS[row.ahead_of].title
        parts.append(f"ahead of {title}" if row.share_of_its == 1 else f"≤ {row.share_of_its:g} × {title}")
    return ", ".join(parts)


def verdict(figures: Figures, row: Row) -> str:
    """met, missed (with what is missing), or nothing where there is no goal or no figure."""
    ours = middle(figures, "nbaccel", row.key)
    if ours is None or not goal(row):
        return ""
    better = ratio(figures, row)
    rival = middle(figures, row.ahead_of, row.key) if row.ahead_of else None
    missed = []
    longer = beside(figures, row)
    if longer is not None and longer > row.times_as_long:
        more = f" + {shown(row.more_s, row.unit)}" if row.more_s else ""
        missed.append(f"{longer:.3g} × {row.by_words}{more}")
    if row.times_better is not None and better is not None and better < row.times_better:
        missed.append(f"{better / row.times_better:.0%} of the ratio")
    if row.limit is not None and (ours < row.limit if row.unit is Unit.PER_SECOND else ours > row.limit):
        missed.append(f"{ours / row.limit:.2g} × the limit")
    if rival is not None and not _is_ahead(row, ours, rival):
        missed.append(
            f"behind {CONTENDERS[row.ahead_of].title}"
            if row.share_of_its == 1
            else f"{ours / rival:.2g} × {CONTENDERS[row.ahead_of].title}"
        )
    if missed:
        return "missed: " + ", ".join(missed)
    return "met" if row.times_better is None or better is not None else "no Ray to compare with"


def _is_ahead(row: Row, ours: float, rival: float) -> bool:
    return ours > rival if row.unit is Unit.PER_SECOND else ours <= row.share_of_its * rival


def table(figures: Figures, asked: list[str]) -> str:
    """Rows that have a figure, a column for each contender that has one."""
    present = [name for name in CONTENDERS if any(row.key in figures.get(name, {}) for row in ROWS)]
    lines = [["", *(CONTENDERS[name].title for name in present), "ratio to Ray", "goal", ""]]
    for row in ROWS:
        cells = [shown(middle(figures, name, row.key), row.unit) for name in present]
        if row.key not in asked or set(cells) == {"–"}:
            continue
        better = ratio(figures, row)
        lines.append([row.title, *cells, f"{better:.3g} ×" if better else "–", goal(row), verdict(figures, row)])
    return aligned(lines)


def values_table(figures: Figures, asked: list[str]) -> str:
    """The values that people hold: nbaccel and Ray, and how much longer each takes than numpy's array."""
    present = [name for name in CONTENDERS if any(row.key in figures.get(name, {}) for row in VALUE_ROWS)]
    lines = [["100 MB of each", *(CONTENDERS[name].title for name in present), "by numpy's", "goal", ""]]
    for row in VALUE_ROWS:
        cells = [shown(middle(figures, name, row.key), row.unit) for name in present]
        if row.key not in asked or set(cells) <= {"–"}:
            continue
        longer = beside(figures, row)
        lines.append([row.title, *cells, f"{longer:.2f} ×" if longer else "–", goal(row), verdict(figures, row)])
    return aligned(lines)


def floor_table(floor: dict[str, float]) -> str:
    return aligned(
        [["the floor of this machine", ""], *([title, shown(value, Unit.SECONDS)] for title, value in floor.items())]
    )


MARKS = ("<!-- figures -->", "<!-- end of figures -->")


def put_into(page: str, parts: list[str]) -> str:
    """The page with these parts between its marks. Raises ValueError when it has none."""
    before, mark, rest = page.partition(MARKS[0])
    _old, end, after = rest.partition(MARKS[1])
    if not mark or not end:
        raise ValueError(f"The page has no place for figures: put {MARKS[0]} and {MARKS[1]} where they belong.")
    return before + "\n\n".join([mark, *parts, end]) + after


def aligned(lines: list[list[str]]) -> str:
    """A Markdown table whose columns line up; all but the first and the last are numbers or short, to the right."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rule = ["-" * width if column == 0 else "-" * (width - 1) + ":" for column, width in enumerate(widths)]

    def drawn(line: list[str]) -> str:
        cells = [
            cell.ljust(w) if column == 0 else cell.rjust(w)
            for column, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        return "| " + " | ".join(cells) + " |"

    return "\n".join([drawn(lines[0]), drawn(rule), *map(drawn, lines[1:])])
