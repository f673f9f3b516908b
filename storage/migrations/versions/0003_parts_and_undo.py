"""Texts in parts, documents that can be brought back, originals still to be removed, and figures of the machine.

`texts` is rebuilt because its unique key changes. Foreign keys are off meanwhile (see `migrations.upgrade`). The
counter of its ids is carried over: an id of a text that is gone isn't given out again.
"""

from alembic import op

revision = "0003"
down_revision = "0002"

STATEMENTS = """
CREATE TABLE text_parts (
    text_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    start INTEGER NOT NULL,
    text TEXT NOT NULL,
    marks JSON NOT NULL,
    after JSON NOT NULL,
    PRIMARY KEY (text_id, number),
    FOREIGN KEY (text_id) REFERENCES texts (id) ON DELETE CASCADE
);
INSERT INTO text_parts (text_id, number, start, text, marks, after)
    SELECT id, 0, 0, text, marks, '{}' FROM texts ORDER BY id;
CREATE TABLE new_texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    content_hash TEXT NOT NULL,
    pipeline TEXT NOT NULL,
    building TEXT NOT NULL,
    type TEXT NOT NULL,
    pages INTEGER,
    characters INTEGER NOT NULL,
    warnings JSON NOT NULL,
    segment_keys JSON NOT NULL,
    seen FLOAT NOT NULL,
    UNIQUE (content_hash, pipeline, building)
);
INSERT INTO new_texts
    SELECT id, content_hash, pipeline, '', type, pages, characters, warnings, segment_keys, seen FROM texts ORDER BY id;
DELETE FROM sqlite_sequence WHERE name = 'new_texts';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_texts', seq FROM sqlite_sequence WHERE name = 'texts';
DROP TABLE texts;
ALTER TABLE new_texts RENAME TO texts;
CREATE TABLE deleted_documents (
    id INTEGER PRIMARY KEY NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    collection TEXT NOT NULL,
    text_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    metadata JSON NOT NULL,
    added FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    deleted FLOAT NOT NULL,
    FOREIGN KEY (text_id) REFERENCES texts (id)
);
CREATE INDEX deleted_documents_text ON deleted_documents (text_id);
CREATE TABLE superfluous_originals (
    content_hash TEXT PRIMARY KEY NOT NULL,
    seen FLOAT NOT NULL
);
CREATE TABLE measurements (
    name TEXT PRIMARY KEY NOT NULL,
    value JSON NOT NULL,
    updated FLOAT NOT NULL
)
"""


def upgrade() -> None:
    for statement in STATEMENTS.split(";\n"):
        op.execute(statement)
