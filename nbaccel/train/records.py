"""The records of a run: reports, checkpoints, the journal's lines, and the user's callbacks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from nbaccel.train import failures, journal, storage
from nbaccel.train.checkpoint import Checkpoint
from nbaccel.train.configs import TrainRunContext
from nbaccel.train.journal import Kept
from nbaccel.train.loops import UsersCode
from nbaccel.train.ranks import Seat
from nbaccel.train.result import Result, of_run
from nbaccel.train.session import Metrics
from nbaccel.train.storage import OpenRun
from nbaccel.views.sinks import notify


class Records:
    """The records of one run, for the run's thread."""

    def __init__(self, open_run: OpenRun, context: TrainRunContext) -> None:
        self.past = open_run.past
        self._open = open_run
        self._config = context.run_config
        self._context: TrainRunContext | None = context
        self.folder = open_run.folder
        self._size = 1
        self._reported: dict[int, dict[int, Metrics]] = {}  # of reports that not all ranks have sent: by rank
        self._committed: dict[int, Checkpoint] = {}
        self._names: dict[int, str] = {}  # of checkpoints, where ranks have given one
        self._differing_was_reported = False
        self._copy_failed = False
        self.first_report = self.past.next_report

    @property
    def last_metrics(self) -> Metrics | None:
        return self.past.reports[-1]["metrics"] if self.past.reports else None

    def latest_path(self) -> str:
        """The checkpoint to continue from; "" without one."""
        return os.path.join(self.folder, self.past.kept[-1].folder) if self.past.kept else self._open.begin_from

    def latest_name(self) -> str:
        return self.past.kept[-1].folder if self.past.kept else ""

    # ---- a worker group

    def worker_group_begins(self, size: int) -> None:
        """Note a new worker group, which starts after the latest checkpoint: later reports are made again."""
        self._size = size
        self.first_report = self.past.next_report
        self._reported.clear()
        self._committed.clear()
        self._names.clear()

    def worker_group_stands(self, number: int, seats: Sequence[Seat]) -> None:
        first = self.first_report
        self.past.reports = [each for each in self.past.reports if each["report"] < first]
        ranks = [
            {"node": seat.facts.address, "pid": seat.facts.pid, "devices": dict(seat.facts.device_ids)}
            for seat in seats
        ]
        self._open.journal.worker_group(number, first, self.latest_name(), ranks)

    # ---- reports

    def report(self, rank: int, number: int, metrics: Metrics, checkpoint_name: str = "") -> None:
        if checkpoint_name:
            self._names.setdefault(number, checkpoint_name)
        self._reported.setdefault(number, {})[rank] = metrics
        if rank == 0:
            self._open.journal.report(number, rank, metrics)
            self.past.reports.append({"report": number, "time": None, "metrics": metrics})

    def commit(self, number: int) -> None:
        """Commit a checkpoint whose parts are all there, and delete surplus ones. Raises OSError."""
        by_rank = self._reported.get(number, {})
        metrics = by_rank[min(by_rank)] if by_rank else {}
        folder, differing = storage.commit(self.folder, number, self._names.pop(number, ""))
        self._notify_what_differs(differing, folder)
        kept = Kept(folder, number, metrics)
        self._open.journal.checkpoint(kept)
        self.past.keep(kept)
        self._committed[number] = Checkpoint(os.path.join(self.folder, folder))
        for each in journal.to_delete(self.past.kept, self._config.checkpoint_config):
            self._open.journal.deleted(each.folder)
            storage.delete(self.folder, each.folder)
            self.past.kept.remove(each)
        self._copy()

    def _notify_what_differs(self, files: Sequence[str], folder: str) -> None:
        if files and not self._differing_was_reported:
            self._differing_was_reported = True
            notify(
                "train",
                f"{self._open.name}: ranks brought different files of one name to {folder}: {', '.join(files[:3])}"
                f"{', …' if len(files) > 3 else ''}. The name is that of the lowest rank's file, and the others are in "
                "the checkpoint's folders rank_1, rank_2 and so on. If one file is enough, let only rank 0 bring it.",
            )

    def _copy(self) -> str:
        """Let the remote copy follow; returns why it could not, which is said once. The next call catches up."""
        if self._open.remote is None:
            return ""
        try:
            self._open.remote.follow(self.folder, self.past.kept)
        except Exception as error:  # of a filesystem and a network that are not ours
            why = f"{self._open.name} could not be copied to {self._open.remote.url}: {type(error).__name__}: {error}"
            if not self._copy_failed:
                notify("train", f"{why}. The run goes on in {self.folder}, and the next checkpoint tries again.")
            self._copy_failed = True
            return why
        self._copy_failed = False
        return ""

    def failure(self, words: str) -> None:
        self.past.failures.append(words)
        self._open.journal.failure(words)

    # ---- who is called back

    def call_after_report(self, number: int) -> None:
        """Call the user's callbacks, once all ranks have sent this report."""
        by_rank = self._reported.get(number, {})
        if len(by_rank) < self._size:
            return
        del self._reported[number]
        checkpoint = self._committed.pop(number, None)
        with UsersCode():
            for callback in self._config.callbacks:
                callback.after_report(self._context, [by_rank[rank] for rank in sorted(by_rank)], checkpoint)

    def call_after_exception(self, errors: dict[int, BaseException]) -> None:
        causes = {rank: failures.cause_of(error) for rank, error in errors.items()}
        found = {rank: error for rank, error in causes.items() if isinstance(error, Exception)}
        with UsersCode():
            for callback in self._config.callbacks:
                callback.after_exception(self._context, found)

    # ---- the end

    def close(self, how: str, error: Exception | None, return_value: Any) -> Result:
        """Write the end and unlock the folder; returns the run's Result."""
        self._context = None  # with it goes what the loop's config refers to
        self.past.ended = how
        self.past.error = str(error) if error is not None else ""
        try:
            self._open.journal.end(how, self.past.error)
            not_copied = self._copy()
        finally:
            self._open.close()
        if not_copied:
            notify("train", f"{not_copied}. All of it is in {self.folder}; a run of the same name copies it again.")
        return of_run(self.folder, self.past, self._config.checkpoint_config, error=error, return_value=return_value)
