"""Check, repair and backup of a data folder: `core.protocols.Maintenance`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from core.records import Problem
from storage import checks, repairs
from storage.backup import write_backup
from storage.database import Database
from storage.files import LocalFileStore
from storage.repairs import Embed


class SqliteMaintenance:
    """Looks after one data folder.

    model_id  the model whose vectors must be there; None looks after none
    embed     makes vectors for texts by that model; without it, missing vectors are reported and not mended
    """

    def __init__(
        self, database: Database, files: LocalFileStore, *, model_id: str | None = None, embed: Embed | None = None
    ) -> None:
        self._database = database
        self._files = files
        self._model_id = model_id
        self._embed = embed

    def check(self, *, full: bool = True) -> list[Problem]:
        """What is wrong, worst first; [] when all is well. `full` reads every text, vector and original."""
        return list(self._problems(full))

    def repair(self, problems: Iterable[Problem]) -> list[Problem]:
        """Mend what can be mended; returns what a full check finds afterwards."""
        kinds = {problem.kind for problem in problems if problem.repairable}
        if "damaged_vectors" in kinds:
            kinds.add("missing_vectors")  # which they are once they have been removed
        for kind, repair in self._repairs().items():
            if kind in kinds:
                repair()
        return self.check(full=True)

    def backup(self, target: Path) -> dict[str, int]:
        """Everything that can't be made again, in one file. See `storage.backup`."""
        return write_backup(self._database, self._files, target)

    def sweep(self) -> int:
        """Remove what crashes left half written; for the start of the app. Returns how many files."""
        return self._files.sweep()

    def _problems(self, full: bool) -> Iterator[Problem]:
        with self._database.read() as connection:
            if full:
                found = list(checks.sqlite_itself(connection))
                yield from found
                if any(problem.kind == "damaged_database" for problem in found):
                    return  # what is read from here on means nothing
                yield from checks.slices(connection)
            yield from checks.texts_and_documents(connection)
            yield from checks.damaged_vectors(connection, full=full)
            if self._model_id is not None:
                yield from checks.vectors_of_model(connection, self._model_id, can_embed=self._embed is not None)
            yield from checks.originals(connection, self._files, full=full)
            yield from checks.index_files(self._database, connection)
            yield from checks.stale_jobs(connection)
        yield from checks.keyword_index(self._database, full=full)

    def _repairs(self) -> dict[str, Callable[[], object]]:
        """In the order in which they make sense: first what removes, then what fills up."""
        database = self._database
        mending: dict[str, Callable[[], object]] = {
            "dangling_row": lambda: repairs.remove_dangling_rows(database),
            "orphan_text": lambda: repairs.remove_orphan_texts(database),
            "half_visible": lambda: repairs.mend_visibility(database),
            "damaged_vectors": lambda: repairs.remove_damaged_vectors(database),
            "keyword_index": lambda: repairs.rebuild_keyword_index(database),
            "index_file": lambda: repairs.remove_index_files(database),
            "stale_job": lambda: repairs.free_stale_jobs(database),
            "orphan_files": lambda: repairs.tidy_files(database, self._files),
        }
        if self._embed is not None and self._model_id is not None:
            model_id, embed = self._model_id, self._embed
            mending["missing_vectors"] = lambda: repairs.embed_missing(database, model_id, embed)
        return mending
