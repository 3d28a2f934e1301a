"""Streams, async actors, placement groups and many actors: nbaccel beside Ray, in turn on this machine.

    python benchmarks/actors.py [--repeat 3] [--actors 1000] [--only nbaccel]

Each round starts each engine in a process of its own; a ratio is the median of the rounds' ratios. The memory of actors
is measured with 1,000 of nbaccel's and 50 of Ray's, whose figure for 1,000 is extrapolated, and said to be.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]  # started as a script, the directory above is not there

from benchmarks import census  # noqa: E402

ITEMS, CALLS, GROUPS, BUNDLES = 20_000, 5_000, 20, 8
RAYS_ACTORS = 50
TIMEOUT_S = 900
MB = 10**6

# key -> (title, goal as a ratio to Ray, goal as a value, whether more is better)
ROWS = {
    "stream": ("items of one stream per second", 5.0, None, True),
    "async": (f"calls of one async actor per second, {CALLS:,} in flight", 5.0, None, True),
    "group": (f"a placement group of {BUNDLES} bundles, created, ready and removed (ms)", None, 5.0, False),
    "actor_pss": ("memory of an idle actor that holds no CPU (MB of PSS)", None, 8.0, False),
}


def measure(name: str, actors: int) -> dict[str, float]:
    """In a process of its own: every row of one engine."""
    engine: Any = importlib.import_module(name)
    groups: Any = importlib.import_module(f"{name}.util.placement_group")
    engine.init(num_cpus=8, log_to_driver=False, **({"include_dashboard": False} if name == "ray" else {}))
    found = {"stream": stream(engine), "async": async_calls(engine), "group": group(engine, groups)}
    found["actor_pss"] = memory_of_actors(engine, actors if name == "nbaccel" else RAYS_ACTORS)
    engine.shutdown()
    return found


def stream(engine: Any) -> float:
    @engine.remote
    def numbers(count: int) -> Any:
        for number in range(count):  # noqa: UP028  (Ray sends something in, which a range cannot take)
            yield number

    def total(count: int) -> int:
        return sum(engine.get(ref) for ref in numbers.remote(count))

    total(200)
    count = ITEMS if engine.__name__ == "nbaccel" else ITEMS // 10
    began = time.perf_counter()
    assert total(count) == count * (count - 1) // 2
    return count / (time.perf_counter() - began)


def async_calls(engine: Any) -> float:
    @engine.remote
    class Echo:
        async def same(self, value: int) -> int:
            return value

    echo = Echo.remote()
    engine.get([echo.same.remote(number) for number in range(200)])
    began = time.perf_counter()
    assert engine.get([echo.same.remote(number) for number in range(CALLS)]) == list(range(CALLS))
    return CALLS / (time.perf_counter() - began)


def group(engine: Any, groups: Any) -> float:
    """Milliseconds, the median."""
    times = []
    for _ in range(GROUPS + 2):
        began = time.perf_counter()
        made = groups.placement_group([{"CPU": 1}] * BUNDLES)
        engine.get(made.ready())
        groups.remove_placement_group(made)
        times.append(time.perf_counter() - began)
        while engine.available_resources().get("CPU") != BUNDLES:
            time.sleep(0.01)
    return statistics.median(times[2:]) * 1000


def memory_of_actors(engine: Any, count: int) -> float:
    """What each adds, in MB: the processes' sum with them less that before, divided by their number."""

    @engine.remote(num_cpus=0)
    class Idle:
        def there(self) -> bool:
            return True

    before = census.pss_bytes(census.members())
    idle = [Idle.remote() for _ in range(count)]
    assert all(engine.get([actor.there.remote() for actor in idle]))
    return (census.pss_bytes(census.members()) - before) / count / MB


def run(name: str, actors: int) -> dict[str, float]:
    environ = {
        **os.environ, census.TOKEN_VARIABLE: secrets.token_hex(8), "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }  # fmt: skip
    command = [sys.executable, __file__, "--measure", name, "--actors", str(actors)]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(rounds: list[dict[str, dict[str, float]]]) -> None:
    for key, (title, times_better, limit, more_is_better) in ROWS.items():
        mine = statistics.median(each["nbaccel"][key] for each in rounds)
        line = f"{title:68} nbaccel {mine:10,.1f}"
        met = limit is None or mine <= limit
        if "ray" in rounds[0]:
            theirs = statistics.median(each["ray"][key] for each in rounds)
            ratios = [each["nbaccel"][key] / each["ray"][key] for each in rounds]
            ratio = statistics.median(ratios) if more_is_better else 1 / statistics.median(ratios)
            line += f"  ray {theirs:10,.1f}  ratio {ratio:6.1f}"
            met = met and (times_better is None or ratio >= times_better)
        goal = f"≥ {times_better:g} × Ray" if times_better else f"≤ {limit:g}"
        print(f"{line}  goal {goal}: {'met' if met else 'not met'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--actors", type=int, default=1000)
    parser.add_argument("--only", choices=["nbaccel"])
    parser.add_argument("--measure", choices=["nbaccel", "ray"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.actors)))
        return
    names = [options.only] if options.only else ["nbaccel", "ray"]
    rounds = []
    for number in range(options.repeat):
        order = names if number % 2 == 0 else names[::-1]
        rounds.append({name: run(name, options.actors) for name in order})
    report(rounds)


if __name__ == "__main__":
    main()
