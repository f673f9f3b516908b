"""Collections: names that documents are sorted under."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from core.errors import ConfigError, NotFoundError
from core.records import CollectionRecord
from storage.neutral import neutral_name
from storage.tables import collections, documents, segments


def collection_records(connection: Connection, name: str | None = None) -> list[CollectionRecord]:
    """By name; or the one of that name, or none."""
    counts = (
        select(func.count()).select_from(segments).where(segments.c.text_id == documents.c.text_id).scalar_subquery()
    )
    query = (
        select(
            collections,
            func.count(documents.c.id).label("documents"),
            func.coalesce(func.sum(counts), 0).label("segments"),
        )
        .outerjoin(documents, documents.c.collection_id == collections.c.id)
        .group_by(collections.c.id)
        .order_by(func.fold(collections.c.name))
    )
    if name is not None:
        query = query.where(collections.c.name == name)
    return [
        CollectionRecord(row.id, row.name, row.documents, row.segments, datetime.fromtimestamp(row.created, UTC))
        for row in connection.execute(query)
    ]


def collection_id(connection: Connection, name: str) -> int:
    """raises NotFoundError."""
    found = connection.execute(select(collections.c.id).where(collections.c.name == name)).scalar()
    if found is None:
        raise NotFoundError(f"there is no collection called {name!r}")
    return found


def ensured_collection_id(connection: Connection, name: str) -> int:
    name = checked_name(name)
    found = connection.execute(select(collections.c.id).where(collections.c.name == name)).scalar()
    return found if found is not None else insert_collection(connection, name)


def insert_collection(connection: Connection, name: str) -> int:
    try:
        result = connection.execute(insert(collections).values(name=checked_name(name), created=time.time()))
    except IntegrityError:
        raise _taken(name) from None
    return result.inserted_primary_key[0]


def rename_collection(connection: Connection, name: str, new_name: str) -> None:
    row_id = collection_id(connection, name)
    try:
        connection.execute(update(collections).where(collections.c.id == row_id).values(name=checked_name(new_name)))
    except IntegrityError:
        raise _taken(new_name) from None


def checked_name(name: str) -> str:
    if not name.strip():
        raise ConfigError("a collection's name must not be blank")
    return neutral_name(name)


def _taken(name: str) -> ConfigError:
    return ConfigError(f"there is a collection called {name!r} already; choose another name")
