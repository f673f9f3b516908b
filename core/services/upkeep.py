"""Looks after the data folder: checks, mends by itself at the start what it safely can, and says what it can't.

look_after()   at the start of the app, in the background: what it leaves is in `left`, for a banner
look()         the same look without mending, in a second: the command line's
check()        everything
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from core.domain import EmbeddingRequest
from core.errors import ModelError
from core.protocols import ComputeGate, EmbeddingModel, Maintenance
from core.records import Problem
from core.services.library import REINDEX, LibraryService

logger = logging.getLogger(__name__)

# Mended at the start without asking: rebuilt from the truth, brought back, moved aside or embedded. Nothing is removed
# but vectors that no search can use, which are made again, and half-written files that a crash left.
SAFE = frozenset(
    {
        "no_generation",
        "half_visible",
        "damaged_vectors",
        "missing_vectors",
        "keyword_index",
        "index_file",
        "stale_job",
        "stale_answer",
        "orphan_files",
        "missing_original",
        "found_original",
    }
)
_READ_ANEW = frozenset({"no_segments", "wrong_slices", "lost_segments", "lost_details"})
_IN_VAIN = ("failed", "needs_password")


class UpkeepService:
    """`core.protocols.Maintenance`, with the embedding model where it can be opened, and jobs that read anew.

    make         the storage's maintenance; takes model_id, embed, is_stopped
    run_jobs     works until no job waits or runs
    """

    def __init__(
        self,
        make: Callable[..., Maintenance],
        model: EmbeddingModel,
        library: LibraryService,
        gate: ComputeGate,
        *,
        run_jobs: Callable[[], None],
    ) -> None:
        self._make, self._model, self._library, self._gate = make, model, library, gate
        self._run_jobs = run_jobs
        self._closing = threading.Event()
        self.left: tuple[Problem, ...] = ()

    def check(self, *, full: bool = True) -> list[Problem]:
        return self._maintenance().check(full=full)

    def look(self) -> list[Problem]:
        """The fast check, which loads no model."""
        return self._make().check(full=False)

    def look_after(self) -> None:
        """The fast check; mends what is safe, and leaves the rest in `left`."""
        maintenance = self._maintenance()
        found = maintenance.check(full=False)
        if found:
            found = maintenance.repair(found, full=False, only=SAFE)
        queued = self._read_anew(found)
        self.left = tuple(problem for problem in found if problem not in queued and problem.kind != "other_model")
        for problem in self.left:
            logger.warning("found at the start: %s", problem.message)

    def repair(self, problems: Iterable[Problem], *, full: bool = True) -> list[Problem]:
        """Mends what it can, reads anew what has to be, and returns what a check finds afterwards."""
        maintenance = self._maintenance()
        left = maintenance.repair(problems, full=full)
        if self._read_anew(left, again=True):
            self._run_jobs()
            left = maintenance.repair(maintenance.check(full=full), full=full)
        self.left = tuple(left)
        return left

    def backup(self, target: Path) -> dict[str, int]:
        return self._make().backup(target)

    def sweep(self) -> int:
        return self._make().sweep()

    def close(self) -> None:
        """Ends a repair between two batches of embedding."""
        self._closing.set()

    def _read_anew(self, problems: Sequence[Problem], *, again: bool = False) -> list[Problem]:
        """Queues one job for each document that has to be read again; returns the problems that this will mend.

        again  also what was read again in vain: a person asks, who may have changed something since
        """
        wanted = [problem for problem in problems if problem.kind in _READ_ANEW and problem.document_ids]
        states = self._last_readings() if wanted else {}
        in_vain = set() if again else {document_id for document_id, state in states.items() if state in _IN_VAIN}
        wanted = [problem for problem in wanted if in_vain.isdisjoint(problem.document_ids)]
        for document_id in sorted({document_id for problem in wanted for document_id in problem.document_ids}):
            if states.get(document_id) not in ("waiting", "running"):
                self._library.reindex(document_id)
        return wanted

    def _last_readings(self) -> dict[int | None, str]:
        """The state of each document's newest job that reads it again, by the document's id."""
        # Such jobs belong to no batch; asked for by it, they aren't cut off at the newest few.
        oldest_first = reversed(self._library.jobs(batch=""))
        return {job.payload.get("document_id"): job.state for job in oldest_first if job.kind == REINDEX}

    def _maintenance(self) -> Maintenance:
        try:
            model_id = self._model.model_id
        except ModelError as error:
            logger.warning("looking without the embedding model: %s", error)
            return self._make(is_stopped=self._closing.is_set)
        return self._make(model_id=model_id, embed=self._embed, is_stopped=self._closing.is_set)

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        input_type = "document" if "input_type" in self._model.supported_parameters() else None
        with self._gate.indexing(self._closing):
            return self._model.embed_request(EmbeddingRequest(tuple(texts), input_type=input_type)).vectors
