"""Every damage to a data folder that the tests know: each function does one to a folder that nobody has open."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np

Damage = Callable[[Path], None]


def sql(*statements: str) -> Damage:
    """As somebody does it without knowing the rules: foreign keys off."""

    def run(folder: Path) -> None:
        connection = sqlite3.connect(folder / "footnote.db", isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()

    return run


def index_file(folder: Path) -> Path:
    (path,) = (folder / "index").glob("*.faiss")
    return path


def cut_index(share: float) -> Damage:
    def run(folder: Path) -> None:
        whole = index_file(folder).read_bytes()
        index_file(folder).write_bytes(whole[: int(len(whole) * share)])

    return run


def index_bytes(data: bytes) -> Damage:
    return lambda folder: index_file(folder).write_bytes(data)


def flipped_index(folder: Path) -> None:
    whole = bytearray(index_file(folder).read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    index_file(folder).write_bytes(whole)


def index_of_another_model(folder: Path) -> None:
    whole = index_file(folder).read_bytes()
    index_file(folder).write_bytes(whole.replace(b'"model": "hashing-1-', b'"model": "hashing-9-', 1))


def folder_for_index(folder: Path) -> None:
    path = index_file(folder)
    path.unlink()
    path.mkdir()
    (path / "somebody's.txt").write_text("mine")


def postings_file(folder: Path) -> Path:
    (path,) = (folder / "index").glob("*.postings")
    return path


def cut_postings(folder: Path) -> None:
    whole = postings_file(folder).read_bytes()
    postings_file(folder).write_bytes(whole[: len(whole) // 2])


def folder_for_postings(folder: Path) -> None:
    path = postings_file(folder)
    path.unlink()
    path.mkdir()


def file_for_index_folder(folder: Path) -> None:
    shutil.rmtree(folder / "index")
    (folder / "index").write_text("in the way")


def originals(folder: Path) -> list[Path]:
    return sorted((folder / "originals").glob("[0-9a-f][0-9a-f]/*"))


def lost_originals(folder: Path) -> None:
    for path in originals(folder):
        path.unlink()


def damaged_originals(folder: Path) -> None:
    for path in originals(folder):
        path.write_bytes(b"other bytes")


def old_file(*parts: str) -> Damage:
    def run(folder: Path) -> None:
        path = folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
        os.utime(path, (0, 0))

    return run


def long_ago(kind: str) -> str:
    return f"UPDATE {kind} SET owner = 'gone:1:1:1', lease_until = 5"


def blob(*numbers: float) -> str:
    return np.resize(np.array(numbers, dtype="<f4"), 384).tobytes().hex()


_JOB = (
    "INSERT INTO jobs (kind, state, name, payload, progress, phase, reason, result, batch, attempts, stop_requested, "
    "owner, lease_until, created, updated) VALUES ('ingest', 'running', 'x.txt', '{}', 0, '', '', '{}', '', 1, 0, "
    "'gone:1:1:1', 5, 5, 5)"
)
_TEXT = (
    "INSERT INTO texts (content_hash, pipeline, building, type, characters, warnings, segment_keys, seen) "
    "VALUES (lower(hex(zeroblob(32))), 'p', '{building}', 'text', 0, '[]', '[]', 5)"
)
_OF_LAST_TEXT = (
    "INSERT INTO segments (uid, text_id, store, position, start, stop, text, metadata, terms, generation) "
    "SELECT 'x', max(id), 'main', 0, 0, 4, 'ghost', '{}', 'ghost', {generation} FROM texts"
)

# name -> (what is done, the kind of problem that a full check finds first; "" where it's none)
DAMAGES: dict[str, tuple[Damage, str]] = {
    # index files are caches
    "index_missing": (lambda folder: index_file(folder).unlink(), ""),
    "index_empty": (index_bytes(b""), "index_file"),
    "index_garbage": (index_bytes(b"\x80\x04." * 100), "index_file"),
    "index_garbage_header": (index_bytes(b"footnote index 1\n{]\nxx"), "index_file"),
    "index_cut_in_its_header": (cut_index(0.02), "index_file"),
    "index_cut_in_its_middle": (cut_index(0.5), "index_file"),
    "index_cut_before_its_end": (cut_index(0.999), "index_file"),
    "index_flipped_byte": (flipped_index, "index_file"),
    "index_of_another_database": (sql("UPDATE generations SET stamp = 'another'"), "index_file"),
    "index_of_another_model": (index_of_another_model, "index_file"),
    "index_is_a_folder": (folder_for_index, "index_file"),
    "index_folder_is_a_file": (file_for_index_folder, "index_file"),
    "postings_missing": (lambda folder: postings_file(folder).unlink(), ""),
    "postings_empty": (lambda folder: postings_file(folder).write_bytes(b""), "index_file"),
    "postings_garbage": (lambda folder: postings_file(folder).write_bytes(b"\x80\x04." * 100), "index_file"),
    "postings_cut": (cut_postings, "index_file"),
    "postings_is_a_folder": (folder_for_postings, "index_file"),
    # vectors
    "vectors_without_rows": (sql("DELETE FROM segments WHERE id = (SELECT max(id) - 1 FROM segments)"), "dangling_row"),
    "rows_without_vectors": (sql("DELETE FROM vectors WHERE segment_id IN (1, 3)"), "missing_vectors"),
    "all_vectors_gone": (sql("DELETE FROM vectors"), "missing_vectors"),
    "vectors_table_dropped": (sql("DROP TABLE vectors"), "missing_parts"),
    "vectors_of_an_unknown_model": (sql("UPDATE vectors SET model_id = 99"), "dangling_row"),
    "vector_too_short": (sql("UPDATE vectors SET vector = x'0011' WHERE segment_id = 1"), "damaged_vectors"),
    "vector_is_a_text": (sql("UPDATE vectors SET vector = 'abc' WHERE segment_id = 1"), "damaged_vectors"),
    "vector_nan": (sql(f"UPDATE vectors SET vector = x'{blob(np.nan)}' WHERE segment_id = 2"), "damaged_vectors"),
    "vector_zero": (sql(f"UPDATE vectors SET vector = x'{blob(0)}' WHERE segment_id = 2"), "damaged_vectors"),
    "vector_too_long": (sql(f"UPDATE vectors SET vector = x'{blob(1, 2)}'"), "damaged_vectors"),
    # keyword index
    "keywords_lost_a_row": (
        sql("INSERT INTO segments_fts (segments_fts, rowid, terms) SELECT 'delete', id, terms FROM segments LIMIT 1"),
        "keyword_index",
    ),
    "keywords_emptied": (sql("INSERT INTO segments_fts (segments_fts) VALUES ('delete-all')"), "keyword_index"),
    "keywords_garbled": (sql("UPDATE segments_fts_data SET block = x'ff00ff'"), "keyword_index"),
    "keywords_wrong": (sql("UPDATE segments SET terms = 'quite other words' WHERE id = 1"), "wrong_terms"),
    "keywords_table_dropped": (sql("DROP TABLE segments_fts"), "keyword_index"),
    "keywords_part_dropped": (sql("DROP TABLE segments_fts_config"), "keyword_index"),
    "keywords_data_dropped": (sql("DROP TABLE segments_fts_data"), "keyword_index"),
    "keywords_no_longer_kept": (sql("DROP TRIGGER segments_fts_insert"), "keyword_index"),
    # rows
    "schema_index_dropped": (sql("DROP INDEX segments_generation"), "missing_parts"),
    "generations_emptied": (sql("DELETE FROM generations"), "no_generation"),
    "text_row_gone": (sql("DELETE FROM texts WHERE id = 1"), "dangling_row"),
    "collection_gone": (sql("DELETE FROM collections"), "dangling_row"),
    "conversation_gone": (sql("DELETE FROM conversations"), "dangling_row"),
    "question_gone": (sql("DELETE FROM messages WHERE role = 'user'"), "dangling_row"),
    "orphan_text": (
        sql(_TEXT.format(building=""), _OF_LAST_TEXT.replace("{generation}", "0")),
        "orphan_text",
    ),
    "orphan_text_that_is_found": (
        sql(_TEXT.format(building=""), _OF_LAST_TEXT.replace("{generation}", "1")),
        "orphan_text",
    ),
    "unfinished_text_without_a_job": (
        sql(_TEXT.format(building="m"), _OF_LAST_TEXT.replace("{generation}", "0")),
        "orphan_text",
    ),
    "document_hidden": (sql("UPDATE segments SET generation = 0 WHERE text_id = 1"), "half_visible"),
    "document_half_hidden": (sql("UPDATE segments SET generation = 0 WHERE id = 1"), "half_visible"),
    "details_of_documents": (sql("UPDATE documents SET metadata = '{'"), "unreadable_details"),
    "details_of_segments": (sql("UPDATE segments SET metadata = 'x' WHERE id = 2"), "unreadable_details"),
    "details_of_texts": (sql("UPDATE texts SET warnings = '', segment_keys = 'no'"), "unreadable_details"),
    "details_of_parts": (sql("UPDATE text_parts SET marks = '[[' WHERE text_id = 1"), "unreadable_details"),
    "details_of_answers": (sql("UPDATE messages SET sources = '[{', record = ''"), "unreadable_details"),
    # places
    "places_shifted": (sql("UPDATE segments SET start = start + 1, stop = stop + 1 WHERE id = 1"), "wrong_slices"),
    "places_at_zero": (sql("UPDATE segments SET start = 0, stop = 3"), "wrong_slices"),
    "segment_text_changed": (sql("UPDATE segments SET text = 'forged' WHERE id = 1"), "wrong_slices"),
    # left by the dead
    "stale_job": (sql(_JOB), "stale_job"),
    "stale_answer": (
        sql("UPDATE messages SET state = 'writing', owner = 'gone:1:1:1', lease_until = 5 WHERE role = 'assistant'"),
        "stale_answer",
    ),
    "unfinished_original": (old_file("originals", "unfinished", "half"), "orphan_files"),
    "unfinished_index": (old_file("index", "a.faiss.00ff.tmp"), "orphan_files"),
    "unfinished_copy": (old_file("backups", "before.tmp"), "orphan_files"),
    "orphan_original": (old_file("originals", "00", "0" * 63 + "1"), "orphan_files"),
}
