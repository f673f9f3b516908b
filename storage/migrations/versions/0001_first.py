"""The first tables, the keyword index and its triggers."""

from alembic import op

revision = "0001"
down_revision = None

TABLES = """
CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    created FLOAT NOT NULL
);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    content_hash TEXT NOT NULL,
    pipeline TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    marks JSON NOT NULL,
    pages INTEGER,
    characters INTEGER NOT NULL,
    warnings JSON NOT NULL,
    segment_keys JSON NOT NULL,
    seen FLOAT NOT NULL,
    UNIQUE (content_hash, pipeline)
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    collection_id INTEGER NOT NULL,
    text_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    metadata JSON NOT NULL,
    added FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    UNIQUE (collection_id, source),
    FOREIGN KEY (collection_id) REFERENCES collections (id),
    FOREIGN KEY (text_id) REFERENCES texts (id)
);
CREATE INDEX documents_text ON documents (text_id);
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    uid TEXT NOT NULL,
    text_id INTEGER,
    store TEXT NOT NULL,
    position INTEGER,
    start INTEGER,
    stop INTEGER,
    text TEXT,
    embedded_text TEXT,
    embedded_hash TEXT,
    metadata JSON NOT NULL,
    terms TEXT NOT NULL,
    generation INTEGER NOT NULL,
    UNIQUE (store, uid),
    FOREIGN KEY (text_id) REFERENCES texts (id) ON DELETE CASCADE
);
CREATE INDEX segments_text ON segments (text_id, position);
CREATE INDEX segments_store ON segments (store);
CREATE INDEX segments_generation ON segments (generation);
CREATE INDEX segments_embedded ON segments (embedded_hash);
CREATE TABLE embedding_models (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);
CREATE TABLE vectors (
    segment_id INTEGER NOT NULL,
    model_id INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (segment_id, model_id),
    FOREIGN KEY (segment_id) REFERENCES segments (id) ON DELETE CASCADE,
    FOREIGN KEY (model_id) REFERENCES embedding_models (id)
);
CREATE INDEX vectors_model ON vectors (model_id);
CREATE TABLE generations (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    stamp TEXT NOT NULL
);
CREATE TABLE removed_segments (
    segment_id INTEGER PRIMARY KEY NOT NULL,
    generation INTEGER NOT NULL
);
CREATE INDEX removed_segments_generation ON removed_segments (generation);
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    name TEXT NOT NULL,
    payload JSON NOT NULL,
    progress FLOAT NOT NULL,
    phase TEXT NOT NULL,
    reason TEXT NOT NULL,
    result JSON NOT NULL,
    batch TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    stop_requested BOOLEAN NOT NULL,
    owner TEXT,
    lease_until FLOAT,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL
);
CREATE INDEX jobs_state ON jobs (state);
CREATE TABLE conversations (
    id TEXT PRIMARY KEY NOT NULL,
    title TEXT NOT NULL,
    options JSON NOT NULL,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    conversation_id TEXT NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    sources JSON NOT NULL,
    sentences JSON NOT NULL,
    record JSON NOT NULL,
    memory_text TEXT,
    reply_to INTEGER,
    request_key TEXT UNIQUE,
    stop_requested BOOLEAN NOT NULL,
    owner TEXT,
    lease_until FLOAT,
    created FLOAT NOT NULL,
    updated FLOAT NOT NULL,
    FOREIGN KEY (conversation_id) REFERENCES conversations (id) ON DELETE CASCADE,
    FOREIGN KEY (reply_to) REFERENCES messages (id) ON DELETE CASCADE
);
CREATE INDEX messages_conversation ON messages (conversation_id);
CREATE INDEX messages_state ON messages (state);
CREATE INDEX messages_reply_to ON messages (reply_to);
CREATE TABLE settings (
    name TEXT PRIMARY KEY NOT NULL,
    value JSON NOT NULL
);
INSERT INTO generations (stamp) VALUES (lower(hex(randomblob(16))))
"""

# Terms come folded and joined by blanks, ASCII letters and digits or letters beyond ASCII: "ascii" cuts at blanks only.
KEYWORD_INDEX = (
    "CREATE VIRTUAL TABLE segments_fts USING fts5 (terms, content='segments', content_rowid='id', tokenize='ascii')",
    """CREATE TRIGGER segments_fts_insert AFTER INSERT ON segments BEGIN
        INSERT INTO segments_fts (rowid, terms) VALUES (new.id, new.terms);
    END""",
    """CREATE TRIGGER segments_fts_delete AFTER DELETE ON segments BEGIN
        INSERT INTO segments_fts (segments_fts, rowid, terms) VALUES ('delete', old.id, old.terms);
    END""",
    """CREATE TRIGGER segments_fts_update AFTER UPDATE OF terms ON segments WHEN old.terms IS NOT new.terms BEGIN
        INSERT INTO segments_fts (segments_fts, rowid, terms) VALUES ('delete', old.id, old.terms);
        INSERT INTO segments_fts (rowid, terms) VALUES (new.id, new.terms);
    END""",
)


def upgrade() -> None:
    for statement in (*TABLES.split(";\n"), *KEYWORD_INDEX):
        op.execute(statement)
