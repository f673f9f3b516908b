"""The file saves a start the reading of all segments; whatever lies in its place, a search answers as without it."""

import hashlib
import json

import numpy as np
import pytest

from core.domain import Embedding, TextSegment
from core.text.postings import Postings
from core.text.terms import index_terms
from storage.database import Database
from storage.documents import SqliteDocumentStore
from storage.embedding_stores import FaissEmbeddingStore
from storage.files import LocalFileStore
from storage.generation import Generation
from storage.keyword_index import SqliteKeywordIndex
from storage.postings_file import read_postings, read_postings_header, write_postings
from tests.storage.making import MODEL, new_document, vector_of

SEGMENTS = [(3, ["red", "pump", "pump"]), (5, []), (9, ["blue", "ポンプ"])]
NOW = Generation(7, "stamp")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index" / "main.postings"
    # A word that no segment has any more leaves a number without postings.
    postings = Postings.of(SEGMENTS).updated({11: ["gone"]}, []).updated({12: ["new"]}, [11])
    write_postings(path, postings, NOW, store="main")
    return path


def test_what_is_read_is_what_was_written(path):
    postings, generation = read_postings(path, store="main")
    assert generation == NOW
    (block,) = postings.blocks
    assert (block.ids.tolist(), block.lengths.tolist()) == ([3, 5, 9, 12], [3, 0, 2, 1])
    held = {term: block.of_term(number) for term, number in postings.vocabulary.items()}
    assert {term: (rows.tolist(), counts.tolist()) for term, (rows, counts) in held.items()} == {
        "red": ([0], [1]),
        "pump": ([0], [2]),
        "blue": ([2], [1]),
        "ポンプ": ([2], [1]),
        "gone": ([], []),
        "new": ([3], [1]),
    }
    assert read_postings_header(path).segments == 4
    later = postings.updated({20: ["red", "unheard"]}, [3])
    assert later.ids[later.best(["red", "unheard"], 5)].tolist() == [20]


def test_another_store_s_file_is_not_read(path):
    assert read_postings(path, store="other") is None
    assert read_postings(path.with_name("none.postings"), store="main") is None


def rewritten(path, change):
    """A file whose numbers were changed by somebody who knows the format: the checksum fits."""
    magic, line, body = path.read_bytes().split(b"\n", 2)
    header, body = change(json.loads(line), bytearray(body))
    header["sha256"] = hashlib.sha256(body).hexdigest()
    path.write_bytes(magic + b"\n" + json.dumps(header).encode() + b"\n" + bytes(body))


def with_numbers(name, values):
    """Puts other numbers where the array of this name lies."""

    def change(header, body):
        at = 0
        for array, kind, size in (
            ("ids", "<i8", header["segments"]),
            ("lengths", "<i4", header["segments"]),
            ("starts", "<i8", header["terms"] + 1),
            ("rows", "<i4", header["postings"]),
            ("counts", "u1", header["postings"]),
        ):
            length = size * np.dtype(kind).itemsize
            if array == name:
                body[at : at + length] = np.resize(np.array(values, dtype=kind), size).tobytes()
            at += length
        return header, body

    return change


def with_one_term_twice_in_a_segment(header, body):
    """All postings belong to the first term and the first segment, which is as long as that makes it."""
    size, terms = header["postings"], header["terms"]
    for name, values in (
        ("lengths", [size] + [0] * (header["segments"] - 1)),
        ("starts", [0] + [size] * terms),
        ("rows", [0]),
        ("counts", [1]),
    ):
        with_numbers(name, values)(header, body)
    return header, body


def with_header(**values):
    return lambda header, body: (header | values, body)


@pytest.mark.parametrize(
    "change",
    [
        with_numbers("ids", [5, 3]),
        with_numbers("lengths", [-1]),
        with_numbers("starts", [0, 9, 2]),
        with_numbers("starts", [1 << 40]),
        with_numbers("rows", [1 << 30]),
        with_numbers("rows", [-1]),
        with_one_term_twice_in_a_segment,
        with_numbers("lengths", [3, 0, 2, 2]),
        with_numbers("lengths", [2, 0, 2, 1]),
        with_numbers("counts", [0]),
        with_header(segments=1 << 39),
        with_header(segments=-1),
        with_header(terms="6"),
        with_header(postings=True),
        with_header(vocabulary=3),
        with_header(more="of it"),
        lambda header, body: ({"store": "main"}, body),
        lambda header, body: (header, body[:-1]),
        lambda header, body: (header, body[: -header["vocabulary"]] + b"[" * header["vocabulary"]),
        lambda header, body: (header, body[: -header["vocabulary"]] + b"7".rjust(header["vocabulary"])),
        lambda header, body: (header, body.replace(b'"blue"', b'"pump"')),
        lambda header, body: (header | {"vocabulary": header["vocabulary"] + 100_000}, body + b"[" * 100_000),
        lambda header, body: (
            header | {"vocabulary": 100_000},
            body[: -header["vocabulary"]] + b"[" * 100_000,
        ),
    ],
)
def test_a_file_that_somebody_made_is_not_believed(path, change):
    rewritten(path, change)
    assert read_postings(path, store="main") is None
    with pytest.raises(ValueError, match=r"\w"):
        read_postings_header(path)


@pytest.mark.parametrize("damage", [b"", b"\0" * 500, b"footnote postings 1\n", b"footnote postings 1\n{}\n", None])
def test_a_damaged_file_is_built_anew(tmp_path, damage):
    with Database(tmp_path) as database:
        new = new_document("the red pump\na blue valve\n")
        terms = tuple(" ".join(index_terms(segment.text)) for segment in new.segments)
        documents = SqliteDocumentStore(database, LocalFileStore(tmp_path))
        documents.save(new_document("the red pump\na blue valve\n", terms=terms))
        index = SqliteKeywordIndex(database)
        index.warm()
        index.close()
        (file,) = (tmp_path / "index").glob("*.postings")
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
        again = SqliteKeywordIndex(database)
        assert [match.segment.text for match in again.search("red", limit=3)] == ["the red pump\n"]
        again.close()
        assert file.read_bytes() == whole


def test_a_file_of_another_database_is_not_taken_for_this_one_s(tmp_path):
    """As after a backup was restored: the number fits, the stamp doesn't."""
    for name, line in (("one", "red pump"), ("two", "blue valve")):
        with Database(tmp_path / name) as database:
            documents = SqliteDocumentStore(database, LocalFileStore(tmp_path / name))
            documents.save(new_document(f"{line}\n", terms=(line,)))
            index = SqliteKeywordIndex(database)
            if name == "two":
                (foreign,) = (tmp_path / "one" / "index").glob("*.postings")
                (tmp_path / "two" / "index").mkdir()
                foreign.rename(tmp_path / "two" / "index" / foreign.name)
            assert [match.segment.text for match in index.search(line, limit=3)] == [f"{line}\n"]
            index.close()


def test_a_file_that_holds_what_the_database_does_is_used_whatever_else_lies_there(tmp_path, caplog):
    """Free entries with and without a text, in this store and another one, and a document that was deleted."""
    with Database(tmp_path) as database:
        documents = SqliteDocumentStore(database, LocalFileStore(tmp_path))
        documents.save(new_document("red pump\nblue valve\n", "a.txt"))
        documents.delete(documents.save(new_document("old hose\n", "b.txt")).document.id)
        for name in ("main", "other"):
            store = FaissEmbeddingStore(database, model_id=MODEL, name=name, terms=lambda text: text)
            store.add(Embedding(vector_of(name)), TextSegment.from_text(f"free {name}"))
            store.add(Embedding(vector_of(name)))
        for name, count in (("main", 3), ("other", 1)):
            first = SqliteKeywordIndex(database, store=name)
            first.warm()
            first.close()
            (file,) = (tmp_path / "index").glob(f"{name}*.postings")
            assert read_postings_header(file).segments == count
            with caplog.at_level("INFO"):
                again = SqliteKeywordIndex(database, store=name)
                assert [match.segment.text for match in again.search("free", limit=5)] == [f"free {name}"]
        assert "read the terms" not in caplog.text
        assert "built anew" not in caplog.text
