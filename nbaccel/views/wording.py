"""Words for the values of a snapshot: amounts, sizes, ages, names. Every view uses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

UNKNOWN = "unknown"
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def amount(quantity: float) -> str:
    """A resource quantity without noise: 1.0 is "1", 0.25 is "0.25"; the scheduler counts in 1/10,000."""
    return f"{round(quantity, 4):.4f}".rstrip("0").rstrip(".")


def size(size_bytes: int | None) -> str:
    """Bytes with the unit that fits: 42949672960 is "40 GiB"."""
    if size_bytes is None:
        return UNKNOWN
    for unit_bytes, unit in _SIZES:
        if size_bytes >= unit_bytes:
            value = size_bytes / unit_bytes
            return f"{value:.0f} {unit}" if value >= 10 or value == int(value) else f"{value:.1f} {unit}"
    return f"{size_bytes} B"


def number(value: float) -> str:
    """A reading with four significant digits: "0.03217", "12500", "1e-05"."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e9 else f"{value:.0f}"


def age(seconds: float) -> str:
    """A duration as a person says it: "8 s", "2 min", "3 min 12 s", "2 h 05 min"."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60:02d} s" if whole % 60 else "")
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h" + (f" {minutes:02d} min" if minutes else "")


def duration(seconds: float) -> str:
    """How long something ran, with tenths of a second for short times: "0.4 s"."""
    return f"{max(0.0, seconds):.1f} s" if seconds < 9.95 else age(seconds)


def moment(time_s: float) -> str:
    """A point in time by this machine's clock: "2026-11-22 14:03:22"."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_s))


def as_of(time_s: float) -> str:
    """The words for when something that may be read much later was so: "as of 2026-11-22 14:03:22"."""
    return f"as of {moment(time_s)}"


def clock(time_s: float, now_s: float) -> str:
    """A moment of today as "14:03:22", of another day as "11-22 14:03", by this machine's clock."""
    at, today = time.localtime(time_s), time.localtime(now_s)
    return time.strftime("%H:%M:%S" if at[:3] == today[:3] else "%m-%d %H:%M", at)


def plain(name: str) -> str:
    """A user's text on one line, with control characters visible: a name must not be able to draw on a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in name)


def encodable(text: str) -> str:
    """A text that can be sent to views. Half a surrogate pair, as in a file's name that is no UTF-8, is an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def text_of(value: object, most: int = 200, text: Callable[[Any], str] = str) -> str:
    """A value as short text; its class if it has none: `str` and `repr` may be a user's, or refuse a very large int."""
    try:
        return text(value)[:most]
    except Exception as error:
        return f"<{type(value).__name__}, whose text raises {type(error).__name__}>"


def task_name(name: str) -> str:
    """A task's name for people: an actor's constructor is the actor that starts, "Model (starting)"."""
    made = name.removesuffix(".__init__")
    return plain(name) if made == name else f"{plain(made)} (starting)"


def demand(quantities: dict[str, float]) -> str:
    """What a task asks for: "1 CPU, 0.5 GPU"."""
    return (
        ", ".join(f"{amount(quantity)} {plain(name)}" for name, quantity in quantities.items() if quantity) or "nothing"
    )


def device_ids(ids: dict[str, list[str]]) -> str:
    """The devices of a task: "GPU 0, 1"."""
    return "; ".join(f"{name} {', '.join(plain(each) for each in names)}" for name, names in ids.items() if names)


def cell(where: str) -> str:
    """Where a task was submitted: "cell [7] line 3", or "line 3" of a cell without a number."""
    return f"cell {plain(where)}" if where.startswith("[") else plain(where)


def short_id(id: str) -> str:
    """A task's id as people read and type it. The tasks of one driver share its start, so it ends with their number."""
    number = int(id[24:40], 16) if len(id) == 48 else 1 << 63
    if number < 1 << 40:
        return f"{id[:4]}-{number}"
    return id[16:28] if id.startswith("f" * 16) else id[:12]  # what makes an actor on Ray is named by the actor


def sentence(parts: Iterable[str]) -> str:
    """Facts on one line, the empty ones left out."""
    return " · ".join(part for part in parts if part)


def amount_of(quantity: float, noun: str) -> str:
    """As `count`, of a quantity: "2 CPUs", "0.5 GPUs"."""
    return f"{amount(quantity)} {noun}" if quantity == 1 or noun.endswith("s") else f"{amount(quantity)} {noun}s"


def count(number: int, noun: str) -> str:
    """`count(2, "node")` is "2 nodes"; a noun that ends in s stays as it is."""
    return f"{number} {noun}" if number == 1 or noun.endswith("s") else f"{number} {noun}s"
