"""Whatever is done to documents, in whatever order, the store holds what a few dictionaries say; `check` is clean."""

import random

import pytest

from core.domain import Embedding, EmbeddingSearchRequest, text_hash
from core.errors import ConfigError, NotFoundError, StorageError
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.keyword_index import SqliteKeywordIndex
from storage.maintenance import SqliteMaintenance
from tests.storage.making import MODEL, finished_document, new_document, parts_of, vector_of

# They share lines, also within one, so that segments are taken over from version to version.
CONTENTS = (
    "red door\nblue lamp\nred door\n",
    "blue lamp\ngreen chair\n",
    "green chair\nred door\nblack cat\nwhite dog\n",
    "black cat\n",
)
LINES = sorted({line for content in CONTENTS for line in content.splitlines(keepends=True)})
SOURCES = ("a.txt", "b.txt", "c.txt")
STEPS = 60


class Expected:
    """What should be there: id -> (name, content), and how many parts of which content are kept."""

    def __init__(self):
        self.documents, self.deleted, self.parts = {}, {}, {}
        self.newest = 0

    def put(self, name, content):
        """The status and id that a save has."""
        for id, (known, old) in self.documents.items():
            if known == name:
                self.documents[id] = (name, content)
                return ("unchanged" if old == content else "updated"), id
        is_known = any(content == other for _, other in self.documents.values())
        self.newest += 1
        self.documents[self.newest] = (name, content)
        return ("duplicate" if is_known else "indexed"), self.newest

    def holds(self, content):
        """Whether a finished text of it is kept, found or not."""
        return any(content == other for _, other in [*self.documents.values(), *self.deleted.values()])


class Life:
    """The store and what is expected of it, changed together."""

    def __init__(self, database, dice):
        self.database, self.dice = database, dice
        self.files = LocalFileStore(database.data_dir)
        self.store = SqliteDocumentStore(database, self.files)
        self.vectors = FaissEmbeddingStore(database, model_id=MODEL)
        self.words = SqliteKeywordIndex(database)
        self.expected = Expected()
        self.ids_of_deleted = {}

    def save(self):
        name, content = self.dice.choice(SOURCES), self.dice.choice(CONTENTS)
        self.files.put(content.encode())
        result = self.store.save(new_document(content, name))
        assert (result.status, result.document.id) == self.expected.put(name, content)

    def link(self):
        name, content = self.dice.choice(SOURCES), self.dice.choice(CONTENTS)
        known = new_document(content, name)
        values = {key: getattr(known, key) for key in ("source", "name", "content_hash", "size", "pipeline")}
        result = self.store.link_existing(**values, collection="default", model_id=MODEL, on_conflict="replace")
        assert (result is not None) == self.expected.holds(content)
        if result is not None:
            assert (result.status, result.document.id) == self.expected.put(name, content)

    def add_part(self):
        content = self.dice.choice(CONTENTS)
        self.files.put(content.encode())
        parts, kept = parts_of(content, lines=1), self.expected.parts.get(content, 0)
        number = min(self.dice.choice((kept, kept, kept, 0)), len(parts) - 1)
        self.store.add_part(parts[number])
        self.expected.parts[content] = max(kept, number + 1)

    def build(self):
        """All parts, and the publication."""
        content = self.dice.choice(CONTENTS)
        self.files.put(content.encode())
        parts = parts_of(content, lines=1)
        for part in parts:
            self.store.add_part(part)
        self.expected.parts[content] = len(parts)
        self.publish(content)

    def publish(self, content=None):
        name, content = self.dice.choice(SOURCES), content or self.dice.choice(CONTENTS)
        kept = self.expected.parts.get(content, 0)
        if 0 < kept < len(parts_of(content, lines=1)):
            return
        if not kept and not self.expected.holds(content):
            with pytest.raises(StorageError, match="is gone"):
                self.store.publish(finished_document(content, name))
            return
        result = self.store.publish(finished_document(content, name))
        assert (result.status, result.document.id) == self.expected.put(name, content)
        self.expected.parts.pop(content, None)

    def discard(self):
        content = self.dice.choice(CONTENTS)
        self.store.discard_unfinished(text_hash(content), "p1")
        self.expected.parts.pop(content, None)

    def delete(self):
        if self.expected.documents:
            id = self.dice.choice(list(self.expected.documents))
            self.ids_of_deleted[id] = [record.id for record in self.store.segments(id)]
            self.store.delete(id)
            self.expected.deleted[id] = self.expected.documents.pop(id)

    def undelete(self):
        id = self.dice.choice([*self.expected.deleted, 999])
        if id == 999:
            with pytest.raises(NotFoundError):
                self.store.undelete(id)
        elif any(self.expected.deleted[id][0] == name for name, _ in self.expected.documents.values()):
            with pytest.raises(ConfigError, match="has its source by now"):
                self.store.undelete(id)
        else:
            self.store.undelete(id)
            assert [record.id for record in self.store.segments(id)] == self.ids_of_deleted[id]
            self.expected.documents[id] = self.expected.deleted.pop(id)

    def purge(self):
        ids = self.dice.choice((None, list(self.expected.deleted)[:1]))
        gone = list(self.expected.deleted) if ids is None else ids
        assert self.store.purge_deleted(document_ids=ids) == len(gone)
        for id in gone:
            del self.expected.deleted[id]

    def compare(self):
        expected = self.expected
        found = {row.id: (row.name, self.store.text(row.id).text) for row in self.store.list()}
        assert found == dict(sorted(expected.documents.items()))
        for id, (_, content) in found.items():
            records = self.store.segments(id)
            assert [record.segment.text for record in records] == content.splitlines(keepends=True)
            assert all(content[record.segment.start : record.segment.end] == record.segment.text for record in records)
        assert {row.id: row.name for row in self.store.deleted()} == {
            id: name for id, (name, _) in expected.deleted.items()
        }
        for content in CONTENTS:
            unfinished = self.store.unfinished(text_hash(content), "p1", MODEL)
            assert (unfinished.parts if unfinished else 0) == expected.parts.get(content, 0)
        seen = [line for content in {content for _, content in found.values()} for line in content.splitlines(True)]
        for line in LINES:
            request = EmbeddingSearchRequest(Embedding(vector_of(line)), 20, min_score=1.0)
            by_vector = {hit.id for hit in self.vectors.search(request)}
            by_word = {hit.id for hit in self.words.search(line, limit=20) if hit.segment.text == line}
            assert by_vector == by_word
            assert len(by_vector) == seen.count(line)
        kept = {content for _, content in [*expected.documents.values(), *expected.deleted.values()]}
        there = set(self.files.hashes())
        assert {text_hash(content) for content in {*kept, *expected.parts}} <= there
        assert SqliteMaintenance(self.database, self.files, model_id=MODEL).check() == []


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_changes_leaves_what_was_asked_for(tmp_path, seed):
    dice = random.Random(seed)
    with Database(tmp_path) as database:
        life = Life(database, dice)
        often = [life.save, life.build, life.add_part, life.add_part, life.publish, life.delete, life.undelete]
        steps = [*often, *often, life.link, life.purge, life.discard]
        for _ in range(STEPS):
            dice.choice(steps)()
            life.compare()
        assert life.store.sweep() == 0
        life.words.close()
        life.vectors.close()
    # Another start, another cache, the same answers.
    with Database(tmp_path) as database:
        again = Life(database, dice)
        again.expected = life.expected
        again.compare()
        again.words.close()
