"""What is there, by every way of looking, which must agree. Asks the services; what they don't tell, SQLite itself.

    states, problems = Survey(services, expected).documents()

It knows nothing of kills: it says what it finds, and what of it is half or belongs to nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np

from core.bootstrap import Services
from core.domain import Document, EmbeddingRequest, text_hash
from core.records import DocumentRecord, SegmentRecord
from tests.kills.contents import COMMON, content_named
from tests.kills.ledger import Ledger

_MANY = 100_000
A_DAY_S = 25 * 3600  # by which each round makes older what is left half done; then it may be swept
_KEPT = re.compile(
    r"footnote\.db(-wal|-shm)?|originals/([0-9a-f]{2})/\2[0-9a-f]{62}|index/[^/]+(?<!\.tmp)|backups/before-[^/]+\.db|unused/.+"
)


def signature(text: Document, segments: list[SegmentRecord]) -> str:
    """The same for two documents with the same text, marks and segments."""
    marks = [[mark.start, mark.end, mark.kind, mark.value] for mark in text.marks]
    slices = [[one.segment.index, one.segment.start, one.segment.end, one.segment.text] for one in segments]
    return hashlib.sha256(json.dumps([text.text, marks, slices]).encode("utf-8", "surrogatepass")).hexdigest()


class Survey:
    """expected: content name -> the signatures that it may have, one for each pipeline that was used"""

    def __init__(self, services: Services, expected: Mapping[str, set[str]]) -> None:
        self._services, self._expected = services, expected
        self._content_of = {hashlib.sha256(content_named(name).data).hexdigest(): name for name in expected}
        self._collection_of: dict[str, str] = {}
        self.problems: list[str] = []

    def documents(self) -> dict[str, str]:
        """source -> "live:<content>" or "deleted:<content>", and what is wrong with each in `problems`"""
        library = self._services.library
        states: dict[str, str] = {}
        visible: dict[str, str] = {}
        live = library.documents()
        for record in live:
            if record.source in states:
                self.problems.append(f"{record.source} is there twice")
            segments = library.segments(record.id)
            visible |= {one.id: one.segment.text for one in segments}
            states[record.source] = f"live:{self._whole(record, segments)}"
            self._collection_of[record.source] = record.collection
        for record in library.deleted():
            content = self._original_of(self._hash_of_deleted(record.id), record.name)
            if record.source not in states:  # another document may have its source by now
                states[record.source] = f"deleted:{content}"
        self._legs(visible)
        return states

    def collections(self, ledger: Ledger) -> dict[str, str]:
        """After `documents`: "collection:<token>" -> its name, or gone; then all its documents are."""
        names = {collection.name for collection in self._services.library.collections()}
        found: dict[str, str] = {}
        for key, fact in ledger.facts.items():
            if not key.startswith("collection:"):
                continue
            there = sorted((fact.now | fact.then) & names)
            if len(there) > 1:
                self.problems.append(f"wrong: {key} is there under {there}")
            found[key] = there[0] if there else "gone"
            of_it = [one.split(":", 2)[2] for one in ledger.facts if one.startswith(f"document:{key.split(':')[1]}:")]
            if wrong := {self._collection_of.get(source, found[key]) for source in of_it} - {found[key]}:
                self.problems.append(f"wrong: documents of {key} ({found[key]}) are in {wrong}")
            half = {one.split(":", 2)[2] in self._collection_of for one in fact.about.get("documents", ())}
            if len(fact.now) > 1 and half and half != {found[key] != "gone"}:
                self.problems.append(f"half-deleted: {key} is {found[key]} and some of its documents aren't")
        return found

    def left_behind(self, timeout_s: float) -> None:
        """After all work is done: no row or file that belongs to nothing, nothing that waits.

        The app sweeps leftovers beside everything else, some time after its start.
        """
        deadline = time.monotonic() + timeout_s
        while (found := [*self._rows(), *self._files()]) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.problems += found

    def checks(self, *, full: bool, apart_from: tuple[str, ...] = ()) -> None:
        for problem in self._services.maintenance.check(full=full):
            if problem.kind not in apart_from:
                self.problems.append(f"check: {problem.kind}: {problem.message}")

    # ── inside ──

    def _rows(self) -> Iterator[str]:
        for what, query in _NONE_OF_THESE.items():
            if found := self._select(query):
                yield f"{what}: {found[:3]}"

    def _files(self) -> Iterator[str]:
        data = Path(self._services.settings.data)
        names = [path.relative_to(data).as_posix() for path in data.rglob("*") if path.is_file()]
        yield from (f"stray file {name}" for name in names if not _KEPT.fullmatch(name))
        there = {name.rsplit("/", 1)[1] for name in names if _KEPT.fullmatch(name) and name.startswith("originals/")}
        needed = {row[0] for row in self._select(_NEEDED_ORIGINALS)}
        yield from (f"orphan original {name[:12]} ({self._content_of.get(name)})" for name in there - needed)

    def _whole(self, record: DocumentRecord, segments: list[SegmentRecord]) -> str:
        content = self._original_of(record.content_hash, record.name)
        text = self._services.library.document_text(record.id)
        if signature(text, segments) not in self._expected.get(content, ()):
            self.problems.append(f"half-indexed: {record.source} isn't what {content} becomes")
        if record.segments != len(segments) or record.characters != len(text.text):
            self.problems.append(f"half-indexed: {record.source} says it has {record.segments} segments")
        model = self._services.search.embedding_model
        sample = segments[:: max(1, len(segments) // 4)]
        texts = [one.segment.text_to_embed for one in sample]
        kept = self._services.search.documents.vectors_for([text_hash(text) for text in texts], model.model_id)
        input_type = "document" if "input_type" in model.supported_parameters() else None
        made = model.embed_request(EmbeddingRequest(tuple(texts), input_type=input_type)).vectors
        for text, vector in zip(texts, made, strict=True):
            if (found := kept.get(text_hash(text))) is None or float(np.dot(found, vector)) < 0.99:
                self.problems.append(f"half-indexed: a segment of {record.source} has no vector, or another's")
        return content

    def _original_of(self, content_hash: str, name: str) -> str:
        """Looks at the bytes themselves."""
        path = Path(self._services.settings.data, "originals", content_hash[:2], content_hash)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != content_hash:
            self.problems.append(f"lost: the original of {name} is gone or damaged")
        return self._content_of.get(content_hash, "unknown")

    def _legs(self, visible: Mapping[str, str]) -> None:
        """Each leg finds every segment there is, and nothing else."""
        for retriever in ("vector", "keyword"):
            found = self._services.search.search(COMMON, retriever=retriever, limit=_MANY).contents
            hits = {content.id: content.segment.text for content in found}
            # Of segments with the same text (the same file read with two settings) a search shows one.
            missing = set(map(_words, visible.values())) - set(map(_words, hits.values()))
            foreign = [found for found in hits.items() if found not in visible.items()]
            if missing or foreign:
                self.problems.append(
                    f"half-indexed: the {retriever} leg lacks {len(missing)} segments and has {len(foreign)} of nothing"
                )

    def _hash_of_deleted(self, document_id: int) -> str:
        (row,) = self._select(
            "SELECT content_hash FROM texts JOIN deleted_documents d ON d.text_id = texts.id WHERE d.id = ?",
            document_id,
        )
        return row[0]

    def _select(self, query: str, *values: object) -> list[tuple]:
        with closing(sqlite3.connect(Path(self._services.settings.data, "footnote.db"))) as connection:
            return connection.execute(query, values).fetchall()


def _words(text: str) -> str:
    return " ".join(text.split())


_NAMED = "SELECT text_id FROM documents UNION SELECT text_id FROM deleted_documents"
# Parts for other settings than those that the file was then read with: the start after next sweeps them.
_YOUNG = f"SELECT id FROM texts WHERE building != '' AND seen > unixepoch() - {2 * A_DAY_S}"
_NEEDED_ORIGINALS = (
    "SELECT content_hash FROM texts "
    "UNION SELECT json_extract(payload, '$.content_hash') FROM jobs WHERE state != 'done'"
)
_NONE_OF_THESE = {
    "jobs that nobody does": "SELECT id, state, phase FROM jobs WHERE state IN ('waiting', 'running')",
    "jobs that failed": "SELECT id, name, reason FROM jobs WHERE state = 'failed'",
    "answers that nobody ends": "SELECT id, state FROM messages WHERE state IN "
    "('waiting', 'searching', 'reading', 'writing')",
    "texts of nothing": f"SELECT id, building FROM texts WHERE id NOT IN ({_NAMED}) AND id NOT IN ({_YOUNG})",
    "segments of nothing": f"SELECT id FROM segments WHERE text_id NOT IN ({_NAMED}) AND text_id NOT IN ({_YOUNG})",
    "visible segments of no document": "SELECT id FROM segments WHERE generation != 0 "
    "AND text_id NOT IN (SELECT text_id FROM documents)",
    "invisible segments of a document": "SELECT id FROM segments WHERE generation = 0 "
    "AND text_id IN (SELECT text_id FROM documents)",
    "segments without a vector": "SELECT id FROM segments WHERE id NOT IN (SELECT segment_id FROM vectors)",
    "vectors of nothing": "SELECT segment_id FROM vectors WHERE segment_id NOT IN (SELECT id FROM segments)",
    "keyword rows of nothing": "SELECT id FROM segments_fts_docsize WHERE id NOT IN (SELECT id FROM segments)",
    "rows whose parent is gone": "PRAGMA foreign_key_check",
}
