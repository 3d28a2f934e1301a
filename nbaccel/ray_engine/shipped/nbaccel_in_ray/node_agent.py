"""The small actor of one node: device metrics from NVML, the ends of log files, and where workers stand."""

from __future__ import annotations

import glob
import os
import time
from typing import Any

from nbaccel_in_ray import internals, proc, stacks

Sample = dict[str, Any]

_MARKS = (":task_name:", ":actor_name:", ":job_id:")  # whose lines follow, for Ray's log monitor


class NodeAgent:
    """Answers questions about its machine; it has no state."""

    def devices(self) -> list[Sample]:
        """One record for each NVIDIA device, as snapshot rows need them; [] without one."""
        try:
            pynvml = internals.nvml()
        except Exception:  # no driver, no library, or one that Ray's copy of pynvml does not know
            return []
        try:
            return [_sampled(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount())]
        finally:
            pynvml.nvmlShutdown()

    def log_tail(self, session_dir: str, worker_id: str, lines: int) -> str:
        """The last lines that a worker has printed, or all workers if `worker_id` is empty."""
        pattern = os.path.join(session_dir, "logs", f"worker-{worker_id or '*'}*.[oe][ur][tr]")
        found: list[str] = []
        for path in sorted(glob.glob(pattern)):
            with open(path, errors="replace", newline="\n") as file:
                text = file.read().removesuffix("\n")
            printed = text.split("\n") if text else []
            found += [_last_frame(line) for line in printed if not line.startswith(_MARKS)]
        return "\n".join(found[-lines:] if lines > 0 else found)

    def usage(self, pids: list[int]) -> dict[int, tuple[float, int]]:
        """The seconds of CPU and the bytes of each of these workers, with what they have started."""
        found = {}
        for pid in pids:
            try:
                found[pid] = proc.usage(pid)
            except OSError:
                continue  # it has ended
        return found

    def stack(self, pid: int) -> str:
        """The stacks of a worker, innermost frames first; "" if it does not answer."""
        return str(stacks.of(pid))

    def log_parts(
        self, session_dir: str, worker_id: str, since: list[int], most: int, whole: bool
    ) -> list[tuple[bytes, int]]:
        """The newest bytes of a worker's stdout and stderr after these offsets, and where each part begins.

        A line that is not ended is left for the next time, unless the `whole` of it is wanted.
        """
        names = [os.path.join(session_dir, "logs", f"worker-{worker_id}*.{end}") for end in ("out", "err")]
        paths = [next(iter(sorted(glob.glob(name))), "") for name in names]
        sizes = [os.stat(path).st_size if path else 0 for path in paths]
        new = [max(size - start, 0) for size, start in zip(sizes, since, strict=True)]
        err = min(new[1], max(most // 2, most - new[0]))
        parts = []
        for path, size, start, count in zip(paths, sizes, since, (min(new[0], most - err), err), strict=True):
            data, at = b"", start
            if count:
                at = size - count
                with open(path, "rb") as file:
                    file.seek(at)
                    data = file.read(count)
            if not whole:
                data = data[: max(data.rfind(b"\n"), data.rfind(b"\r")) + 1]
            parts.append((data, at))
        return parts


def _last_frame(line: str) -> str:
    """The last text of a line that redraws itself, such as a progress bar."""
    return line.rstrip("\r").rpartition("\r")[2]


def _sampled(pynvml: Any, index: int) -> Sample:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    reasons: dict[str, str] = {}

    def ask(field: str, question: Any, *more: Any) -> Any:
        try:
            return question(handle, *more)
        except pynvml.NVMLError as error:
            reasons[field] = str(error)
            return None

    memory = ask("memory_used_bytes", pynvml.nvmlDeviceGetMemoryInfo)
    rates = ask("utilisation_percent", pynvml.nvmlDeviceGetUtilizationRates)
    power = ask("power_watts", pynvml.nvmlDeviceGetPowerUsage)
    return {
        "name": _text(ask("name", pynvml.nvmlDeviceGetName)),
        "uuid": _text(ask("uuid", pynvml.nvmlDeviceGetUUID)),
        "metrics": {
            "utilisation_percent": None if rates is None else float(rates.gpu),
            "memory_used_bytes": None if memory is None else memory.used,
            "memory_total_bytes": None if memory is None else memory.total,
            "temperature_celsius": ask("temperature_celsius", pynvml.nvmlDeviceGetTemperature, 0),
            "power_watts": None if power is None else power / 1000,
            "reasons": reasons,
            "sampled_at": time.time(),
        },
    }


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
