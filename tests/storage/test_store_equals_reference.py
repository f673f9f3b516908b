"""Whatever is added, removed, searched and filtered: FAISS answers as the reference does, and ids never come again."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from sqlalchemy import select

from core.domain import Embedding, EmbeddingSearchRequest, TextSegment
from core.filters import metadata_key
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore, InMemoryEmbeddingStore
from storage.files import LocalFileStore
from storage.tables import segments
from tests.storage.making import MODEL, new_document

# Each step is a commit, and a commit waits for the disk; where there is a disk in memory, it's on that.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None

# Few contents, names and filters, so that they meet again: shared texts, moved segments, remembered masks.
contents = st.sampled_from(["a", "ab", "abc", "ba", "aa", "bcd"]).map(list)
names = st.sampled_from(["one.txt", "two.txt"])
collections = st.sampled_from(["x", "y"])
numbers = st.integers(-3, 3)
# Few different vectors make ties and equal entries likely.
vectors = st.lists(numbers, min_size=8, max_size=8).filter(any)


def leaf_filters():
    of_number = st.builds(
        lambda kind, value: getattr(metadata_key("n"), kind)(value),
        st.sampled_from(["is_equal_to", "is_not_equal_to", "is_less_than", "is_greater_than_or_equal_to"]),
        numbers,
    )
    of_index = st.builds(lambda value: metadata_key("index").is_less_than(value), numbers)
    of_collection = st.builds(lambda value: metadata_key("collection").is_equal_to(value), collections)
    of_name = st.builds(lambda value: metadata_key("file_name").is_in([value]), names)
    of_document = st.builds(lambda value: metadata_key("document_id").is_not_in(value), st.lists(st.integers(1, 5)))
    of_owner = st.builds(lambda value: metadata_key("owner").contains_string(value), st.sampled_from("ab"))
    return of_number | of_index | of_collection | of_name | of_document | of_owner


filters = st.recursive(
    leaf_filters(),
    lambda inner: (
        st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
        | inner.map(lambda a: ~a)
    ),
    max_leaves=4,
)


ALWAYS_ASKED = [
    None,
    metadata_key("collection").is_equal_to("x"),
    metadata_key("collection").is_equal_to("y") & metadata_key("index").is_less_than(1),
    ~metadata_key("owner").is_equal_to("a"),
]


class StoreMachine(RuleBasedStateMachine):
    """What is added by itself goes to both stores; documents lie in the database, which both read."""

    ids = Bundle("ids")
    documents = Bundle("documents")

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.database = Database(Path(self.folder.name))
        self.store = SqliteDocumentStore(self.database, LocalFileStore(Path(self.folder.name)))
        self.faiss = FaissEmbeddingStore(self.database, model_id=MODEL)
        self.reference = InMemoryEmbeddingStore(self.database, model_id=MODEL)
        self.added = 0
        self.seen, self.present = set(), set()

    def teardown(self):
        if hasattr(self, "database"):
            self.faiss.close()
            self.database.close()
            self.folder.cleanup()

    @rule(target=ids, vector=vectors, n=st.none() | numbers)
    def add(self, vector, n):
        self.added += 1
        id = f"id-{self.added}"
        segment = None if n is None else TextSegment.from_text(f"text {n}", {"n": n})
        for store in (self.faiss, self.reference):
            store.add_all([id], [Embedding(vector)], [segment])
        return id

    @rule(id=ids, vector=vectors)
    def replace(self, id, vector):
        for store in (self.faiss, self.reference):
            store.add(id, Embedding(vector))

    @rule(id=consumes(ids))
    def remove(self, id):
        for store in (self.faiss, self.reference):
            store.remove(id)

    @rule(removed=st.lists(ids, min_size=1, max_size=3))
    def remove_some(self, removed):
        for store in (self.faiss, self.reference):
            store.remove_all(removed)

    @rule(n=numbers)
    def remove_by_filter(self, n):
        for store in (self.faiss, self.reference):
            store.remove_all(metadata_key("n").is_equal_to(n) & metadata_key("collection").is_not_in(["x", "y"]))

    @rule(target=documents, lines=contents, name=names, collection=collections, owner=st.sampled_from(["", "a", "b"]))
    def save(self, lines, name, collection, owner):
        metadata = {"owner": owner} if owner else {}
        own = {line: {"n": position} for position, line in enumerate(lines) if position != 1}
        new = new_document("\n".join(lines), name, collection=collection, metadata=metadata, own=own)
        return self.store.save(new).document.id

    @rule(document=consumes(documents))
    def delete(self, document):
        if any(row.id == document for row in self.store.list()):
            self.store.delete(document)

    @rule()
    def restart(self):
        self.faiss.close()
        self.faiss = FaissEmbeddingStore(self.database, model_id=MODEL)

    @rule(
        vector=vectors, limit=st.integers(1, 8), min_score=st.sampled_from([0.0, 0.4, 0.5, 0.75, 1.0]), filter=filters
    )
    def search_filtered(self, vector, limit, min_score, filter):
        self.compare(EmbeddingSearchRequest(Embedding(vector), limit, min_score, filter))

    @rule(vector=vectors, limit=st.integers(1, 20), min_score=st.sampled_from([0.0, 0.5, 0.9]))
    def search(self, vector, limit, min_score):
        self.compare(EmbeddingSearchRequest(Embedding(vector), limit, min_score))

    def compare(self, request):
        found, expected = self.faiss.search(request), self.reference.search(request)
        assert [match.cosine for match in found] == [match.cosine for match in expected]
        # Of equally near ones any may come, so those are compared that no other is as near as.
        last = expected[-1].cosine if expected else None
        assert sorted(map(key, found)) == sorted(map(key, expected)) or _same_above(found, expected, last)

    @invariant()
    def both_answer_alike(self):
        if hasattr(self, "database"):
            assert self.faiss.count() == self.reference.count()
            for filter in ALWAYS_ASKED:
                self.compare(EmbeddingSearchRequest(Embedding([1, 2, 3, 0, 0, 0, 0, 0]), 50, filter=filter))

    @invariant()
    def ids_never_come_again(self):
        if not hasattr(self, "database"):
            return
        with self.database.read() as connection:
            now = set(connection.execute(select(segments.c.id)).scalars())
        assert not (now - self.present) & self.seen
        self.seen |= now
        self.present = now


def key(match):
    return (match.id, match.document_id or 0, match.segment.text if match.segment else "")


def _same_above(found, expected, last):
    above = [sorted(key(match) for match in matches if match.cosine > last) for matches in (found, expected)]
    return above[0] == above[1]


StoreMachine.TestCase.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
TestStoreEqualsReference = StoreMachine.TestCase


def test_the_8_bit_index_gives_the_exact_scores_and_order(tmp_path):
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((400, 32)).astype(np.float32)
    with Database(tmp_path) as database:
        coarse = FaissEmbeddingStore(database, model_id=MODEL, exact_limit=100)
        reference = InMemoryEmbeddingStore(model_id=MODEL)
        ids = [f"{number}" for number in range(400)]
        for store in (coarse, reference):
            store.add_all(ids[:50], [Embedding(row) for row in rows[:50]], [None] * 50)
        coarse.load()  # exact so far; the next ones make it outgrow its kind
        for store in (coarse, reference):
            store.add_all(ids[50:], [Embedding(row) for row in rows[50:]], [None] * 350)
            store.remove_all(["3", "77"])
        for query in rng.standard_normal((20, 32)).astype(np.float32):
            request = EmbeddingSearchRequest(Embedding(query), 10)
            assert coarse.search(request) == reference.search(request)
        coarse.close()
        again = FaissEmbeddingStore(database, model_id=MODEL, exact_limit=100)
        assert again.search(request) == reference.search(request)
