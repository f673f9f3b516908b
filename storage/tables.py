"""The tables, as SQLAlchemy Core sees them. What makes them is in `migrations/`; a test compares the two.

    collections ─< documents >─ texts ─< segments ─< vectors >─ embedding_models
                 deleted_documents >─┘ └─< text_parts
    conversations ─< messages        jobs   settings   chat_memories   measurements
    generations   removed_segments   superfluous_originals

A document is a name for a text. Two names with the same content share one text, its segments and vectors; a text goes
with its last name. What no document names is invisible: a text that is still being built, part by part, or one whose
documents were deleted and can be brought back. Times are seconds since 1970, UTC. `segments_fts`, the FTS5 index over
`segments.terms`, is kept by triggers and isn't listed here.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

DOCUMENT_STORE = "main"  # the name of the embedding store that finds the segments of documents

# Ids are never reused: a cache or an old message that still knows one must not find something else under it.
_AUTOINCREMENT = {"sqlite_autoincrement": True}


def _id() -> Column:
    return Column("id", Integer, primary_key=True, nullable=False)


collections = Table(
    "collections",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    Column("created", Float, nullable=False),
    **_AUTOINCREMENT,
)

# One parsed content.
texts = Table(
    "texts",
    metadata,
    _id(),
    Column("content_hash", Text, nullable=False),  # SHA-256 of the original bytes
    Column("pipeline", Text, nullable=False),  # fingerprint of what made the segments
    # Empty, or the embedding model for which it's being built; an unfinished one lies beside the one it will replace.
    Column("building", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("pages", Integer),
    Column("characters", Integer, nullable=False),
    Column("warnings", JSON, nullable=False),
    Column("segment_keys", JSON, nullable=False),  # metadata keys that its segments have of their own
    Column("seen", Float, nullable=False),  # when it was last saved or linked; see files.LocalFileStore.remove
    UniqueConstraint("content_hash", "pipeline", "building"),
    **_AUTOINCREMENT,
)

# A text in the stretches it was read in, one after the other; short ones have one.
text_parts = Table(
    "text_parts",
    metadata,
    Column("text_id", Integer, ForeignKey("texts.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("start", Integer, nullable=False),  # characters of the text before it
    Column("text", Text, nullable=False),
    Column("marks", JSON, nullable=False),  # [[start, end, kind, value], …], counted from the part's beginning
    Column("after", JSON, nullable=False),  # what the parser needs to go on behind it
    PrimaryKeyConstraint("text_id", "number"),
)

documents = Table(
    "documents",
    metadata,
    _id(),
    Column("source", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("collection_id", Integer, ForeignKey("collections.id"), nullable=False),
    Column("text_id", Integer, ForeignKey("texts.id"), nullable=False),
    Column("size", Integer, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("added", Float, nullable=False),
    Column("updated", Float, nullable=False),
    UniqueConstraint("collection_id", "source"),
    Index("documents_text", "text_id"),
    **_AUTOINCREMENT,
)

# Documents that can be brought back, with their ids.
deleted_documents = Table(
    "deleted_documents",
    metadata,
    Column("id", Integer, primary_key=True, nullable=False),  # that of the document
    Column("source", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("collection", Text, nullable=False),  # its name: the collection may be gone
    Column("text_id", Integer, ForeignKey("texts.id"), nullable=False),
    Column("size", Integer, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("added", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("deleted", Float, nullable=False),
    Index("deleted_documents_text", "text_id"),
)

segments = Table(
    "segments",
    metadata,
    _id(),
    Column("uid", Text, nullable=False),  # the id that people and programs see
    Column("text_id", Integer, ForeignKey("texts.id", ondelete="CASCADE")),  # NULL: added to an embedding store
    Column("store", Text, nullable=False),  # name of the embedding store that finds it
    Column("position", Integer),  # its metadata "index"
    Column("start", Integer),
    Column("stop", Integer),
    Column("text", Text),  # NULL: an entry without a segment
    Column("embedded_text", Text),  # NULL: the text itself was embedded
    Column("embedded_hash", Text),
    Column("metadata", JSON, nullable=False),  # its own keys only; the document's are merged in when it's read
    Column("terms", Text, nullable=False),  # keyword tokens, joined by blanks
    Column("generation", Integer, nullable=False),  # when it last changed; 0: invisible
    UniqueConstraint("store", "uid"),
    Index("segments_text", "text_id", "position"),
    Index("segments_store", "store"),
    Index("segments_generation", "generation"),
    Index("segments_embedded", "embedded_hash"),
    **_AUTOINCREMENT,
)

# What serves searches, counts and lists reads only these. (Not `> 0`: it would take the index over generations for it.)
is_visible = segments.c.generation != 0

embedding_models = Table(
    "embedding_models",
    metadata,
    _id(),
    Column("name", Text, nullable=False, unique=True),  # EmbeddingModel.model_id
    Column("dimension", Integer, nullable=False),
    **_AUTOINCREMENT,
)

vectors = Table(
    "vectors",
    metadata,
    Column("segment_id", Integer, ForeignKey("segments.id", ondelete="CASCADE"), nullable=False),
    Column("model_id", Integer, ForeignKey("embedding_models.id"), nullable=False),
    Column("vector", LargeBinary, nullable=False),  # float32, little-endian, length 1
    PrimaryKeyConstraint("segment_id", "model_id"),
    Index("vectors_model", "model_id"),
)

# One row per committed change of the index; the newest id is the generation number.
generations = Table(
    "generations",
    metadata,
    _id(),
    Column("stamp", Text, nullable=False),  # random: tells a generation from the same number after a restored backup
    **_AUTOINCREMENT,
)

removed_segments = Table(
    "removed_segments",
    metadata,
    Column("segment_id", Integer, primary_key=True, autoincrement=False, nullable=False),
    Column("generation", Integer, nullable=False),
    Index("removed_segments_generation", "generation"),
)

# Originals that a committed change has made superfluous and that are still to be removed; see `storage.originals`.
superfluous_originals = Table(
    "superfluous_originals",
    metadata,
    Column("content_hash", Text, primary_key=True, nullable=False),
    Column("seen", Float, nullable=False),  # when their content was last saved or linked
)

jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("progress", Float, nullable=False),
    Column("phase", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("result", JSON, nullable=False),
    Column("batch", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("stop_requested", Boolean, nullable=False),
    Column("owner", Text),
    Column("lease_until", Float),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Index("jobs_state", "state"),
    **_AUTOINCREMENT,
)

conversations = Table(
    "conversations",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("title", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
)

messages = Table(
    "messages",
    metadata,
    _id(),
    Column("conversation_id", Text, ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("sentences", JSON, nullable=False),
    Column("record", JSON, nullable=False),
    Column("memory_text", Text),
    Column("reply_to", Integer, ForeignKey("messages.id", ondelete="CASCADE")),
    Column("request_key", Text, unique=True),  # of a question; NULL for answers
    Column("stop_requested", Boolean, nullable=False),
    Column("owner", Text),
    Column("lease_until", Float),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Index("messages_conversation", "conversation_id"),
    Index("messages_state", "state"),
    Index("messages_reply_to", "reply_to"),
    **_AUTOINCREMENT,
)

settings = Table(
    "settings",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("value", JSON, nullable=False),
)

# Of the library's Assistant; the app's conversations remember by themselves.
chat_memories = Table(
    "chat_memories",
    metadata,
    Column("id", Text, primary_key=True, nullable=False),
    Column("messages", JSON, nullable=False),  # [[role, text], …]
)

# What this machine was found to do: seconds, rates.
measurements = Table(
    "measurements",
    metadata,
    Column("name", Text, primary_key=True, nullable=False),
    Column("value", JSON, nullable=False),
    Column("updated", Float, nullable=False),
)
