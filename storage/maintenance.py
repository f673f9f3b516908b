"""Check, repair and backup of a data folder: `core.protocols.Maintenance`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.records import Problem
from storage.backup import write_backup
from storage.database import Database
from storage.database_errors import storage_error
from storage.files import LocalFileStore
from storage.upkeep import details, index_files, keywords, left_behind, original_files, rows, schema, texts, vectors
from storage.upkeep.damaged_database import damaged_database
from storage.upkeep.keywords import Terms
from storage.upkeep.vectors import Embed

logger = logging.getLogger(__name__)

# What one round uncovers the next one mends: a table made anew is empty, a vector that was removed is missing.
_ROUNDS = 5


class SqliteMaintenance:
    """Looks after one data folder.

    model_id    the model whose vectors must be there; None: any model's
    embed       makes vectors for texts by that model; without it, missing vectors are reported and not mended
    terms       makes a segment's keyword tokens; without it, those that are kept are taken to be right
    is_stopped  asked between batches of embedding, which may take long
    """

    def __init__(
        self,
        database: Database,
        files: LocalFileStore,
        *,
        model_id: str | None = None,
        embed: Embed | None = None,
        terms: Terms | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._files = files
        self._model_id = model_id
        self._embed = embed
        self._terms = terms
        self._is_stopped = is_stopped

    def check(self, *, full: bool = True) -> list[Problem]:
        """What is wrong, worst first; [] when all is well. `full` reads every text, vector and original."""
        with self._file_errors():
            return list(self._problems(full))

    def repair(
        self, problems: Iterable[Problem], *, full: bool = True, only: Container[str] | None = None
    ) -> list[Problem]:
        """Mend what can be mended, and what comes to light on the way; returns what a check finds afterwards.

        A document that has to be read anew stays in the list: that is a job's work.

        only  the kinds of problems that may be mended; None: all
        """
        left = list(problems)
        for _ in range(_ROUNDS):
            kinds = {problem.kind for problem in left if problem.repairable and (only is None or problem.kind in only)}
            if not kinds:
                break
            for kind, repair in self._repairs(full):
                if kind in kinds:
                    logger.info("mending: %s", kind)
                    with self._file_errors():
                        repair()
            before, left = left, self.check(full=full)
            if left == before:
                break
        return left

    def backup(self, target: Path) -> dict[str, int]:
        """Everything that can't be made again, in one file. See `storage.backup`."""
        return write_backup(self._database, self._files, target)

    def sweep(self) -> int:
        """Remove what crashes left half written; for the start of the app. Returns how many files."""
        return self._files.sweep()

    @contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise storage_error(error, self._database.data_dir) from error

    def _problems(self, full: bool) -> Iterator[Problem]:
        database, files = self._database, self._files
        with database.read() as connection:
            found = list(damaged_database(connection, database.data_dir, full=full))
            found = found or list(schema.missing_parts(connection, full=full))
            yield from found
            if found:
                return  # what is read from here on means nothing
            if full:
                unreadable = list(details.unreadable_details(connection))
                yield from unreadable
                if unreadable:
                    return  # nor can what is read next
                yield from rows.dangling_rows(connection)
                yield from texts.wrong_slices(connection)
                if self._terms is not None:
                    yield from keywords.wrong_terms(connection, self._terms)
            yield from rows.no_generation(connection)
            yield from texts.texts_of_nothing(connection)
            yield from texts.no_segments(connection)
            yield from details.lost_details(connection, files)
            yield from vectors.damaged_vectors(connection, full=full)
            yield from vectors.missing_vectors(connection, self._model_id, can_embed=self._embed is not None)
            yield from original_files.found_originals(connection, files)
            yield from original_files.files_of_nothing(connection, files)
            yield from index_files.index_files(database, connection, full=full)
            yield from left_behind.stale_jobs(connection)
            yield from left_behind.stale_answers(connection)
        yield from original_files.lost_originals(database, files, full=full)
        yield from keywords.keyword_index(database, full=full)

    def _repairs(self, full: bool) -> Iterator[tuple[str, Callable[[], object]]]:
        """In the order in which they make sense: first what removes, then what fills up."""
        database, files = self._database, self._files
        yield "missing_parts", lambda: schema.make_missing_parts(database)
        yield "unreadable_details", lambda: details.empty_unreadable(database)
        yield "no_generation", lambda: rows.begin_generation(database)
        yield "no_generation", lambda: index_files.remove_index_files(database)
        yield "dangling_row", lambda: rows.mend_dangling_rows(database, files)
        yield "lost_deleted", lambda: texts.forget_lost_deleted(database)
        yield "half_visible", lambda: texts.mend_visibility(database)
        yield "orphan_text", lambda: texts.remove_orphan_texts(database)
        yield "wrong_slices", lambda: texts.mend_slices(database)
        if self._terms is not None:
            terms = self._terms
            yield "wrong_terms", lambda: keywords.mend_terms(database, terms)
        yield "damaged_vectors", lambda: vectors.remove_damaged_vectors(database)
        yield "keyword_index", lambda: schema.rebuild_keyword_index(database)
        yield "index_file", lambda: index_files.remove_index_files(database)
        yield "stale_job", lambda: left_behind.free_stale_jobs(database)
        yield "stale_answer", lambda: left_behind.interrupt_stale_answers(database)
        yield "orphan_files", lambda: original_files.tidy_files(database, files)
        for kind in ("missing_original", "damaged_original", "found_original"):
            yield kind, lambda: original_files.bring_back(database, files, full=full)
        for kind in ("no_segments", "wrong_slices", "lost_segments"):
            yield kind, lambda: texts.say_what_is_lost(database, files)
        if self._embed is not None and self._model_id is not None:
            model_id, embed = self._model_id, self._embed
            for kind in ("missing_vectors", "other_model"):
                yield kind, lambda: vectors.embed_missing(database, model_id, embed, is_stopped=self._is_stopped)
