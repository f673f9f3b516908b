"""Messages to rows and back: sources frozen as they were shown, records as plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row

from core.errors import ConfigError
from core.records import MessageRecord, Source
from storage.neutral import neutral_text

CHANGEABLE = ("text", "state", "reason", "sources", "sentences", "record", "memory_text")


def message_record(row: Row) -> MessageRecord:
    return MessageRecord(
        id=row.id,
        conversation_id=row.conversation_id,
        role=row.role,
        text=row.text,
        state=row.state,
        reason=row.reason,
        sources=tuple(_source(values) for values in row.sources),
        sentences=tuple(row.sentences),
        record=row.record,
        created=datetime.fromtimestamp(row.created, UTC),
        updated=datetime.fromtimestamp(row.updated, UTC),
        memory_text=row.memory_text,
        reply_to=row.reply_to,
        stop_requested=row.stop_requested,
    )


def message_values(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Columns for `update_message`. raises ConfigError for a name that isn't changeable."""
    unknown = sorted(changes.keys() - set(CHANGEABLE))
    if unknown:
        raise ConfigError(f"a message has no {unknown[0]!r} to change; choose among {', '.join(map(repr, CHANGEABLE))}")
    values = {
        key: neutral_text(value, keep_returns=True) if isinstance(value, str) else value
        for key, value in changes.items()
    }
    if "sources" in values:
        values["sources"] = [_source_values(source) for source in values["sources"]]
    if "sentences" in values:
        values["sentences"] = [dict(sentence) for sentence in values["sentences"]]
    if "record" in values:
        values["record"] = dict(values["record"])
    return values


def _source_values(source: Source) -> dict[str, Any]:
    return {**asdict(source), "text": neutral_text(source.text), "document": neutral_text(source.document)}


def _source(values: Mapping[str, Any]) -> Source:
    return Source(**{**values, "matched_terms": tuple(values["matched_terms"])})
