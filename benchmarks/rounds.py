"""Rounds of contenders that each run in a process of its own, so that nobody runs beside another.

A ratio is that of one round; the median of the rounds is printed with the quartiles, which say how much of it is the
machine's other work. A row that a contender has no word for is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

# Student's t for 95 % on both sides, by degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)

Figures = dict[str, float]  # row -> value
Contenders = Mapping[str, Callable[[], Figures]]


def main(file: str, doc: str | None, rows: Mapping[str, str], contenders: Contenders) -> None:
    """The command line of a benchmark. `rows` are the words of each row; the first contender is compared with."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(contenders), help="contenders, separated by commas")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(contenders[given.one]()))
        return
    names = given.only.split(",")
    figures: dict[str, list[Figures]] = {name: [] for name in names}
    for number in range(given.repeat):
        for name in names if number % 2 == 0 else reversed(names):
            figures[name].append(_measured(file, name))
    print(f"medians of {given.repeat}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    first = next(iter(contenders))
    for row, words in rows.items():
        print(f"{words}: {', '.join(cell for name in names if (cell := _cell(row, name, first, figures)))}")


def _measured(file: str, name: str) -> Figures:
    """A contender's figures of one round."""
    done = subprocess.run([sys.executable, file, "--one", name], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} failed:\n{done.stderr[-2000:]}", file=sys.stderr)
        return {}
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def _cell(row: str, name: str, first: str, figures: Mapping[str, list[Figures]]) -> str:
    """ "spawn 8.1 (12.3 ×, quartiles 11.1 to 13.9)": the figure, and how many times the first one's of its round."""
    values = [each[row] for each in figures[name] if row in each]
    if not values:
        return ""
    pairs = zip(figures[name], figures.get(first, []), strict=False)
    ratios = [theirs[row] / ours[row] for theirs, ours in pairs if row in theirs and row in ours]
    beside = ""
    if name != first and len(ratios) > 1:
        low, middle, high = statistics.quantiles(ratios, method="inclusive")
        beside = f" ({middle:.3g} ×, quartiles {low:.3g} to {high:.3g})"
    return f"{name} {statistics.median(values):.4g}{beside}"


def interval(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The geometric mean of the pairs' ratios, in the middle of its 95 % interval; takes 2 to 15 pairs."""
    logs = [math.log(each) for each in ratios]
    middle = statistics.fmean(logs)
    reach = _T[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle - reach), math.exp(middle), math.exp(middle + reach)
