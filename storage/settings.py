"""Choices made in the app, by setting name: `core.protocols.SettingsStore` over SQLite."""

from __future__ import annotations

import json
import logging
from typing import Any

from sqlalchemy import Text, delete, select, type_coerce
from sqlalchemy.dialects.sqlite import insert

from storage.database import Database
from storage.tables import settings

logger = logging.getLogger(__name__)


class SqliteSettingsStore:
    """Values are anything that JSON holds. What they mean, and their limits, is `core.settings`' business."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> dict[str, Any]:
        """What is no JSON, as somebody's own SQL may leave it, is passed over: one bad row must not lock anyone out."""
        query = select(settings.c.name, type_coerce(settings.c.value, Text).label("raw")).order_by(settings.c.name)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        loaded = {}
        for name, raw in rows:
            try:
                # SQLite keeps a JSON number as a number.
                loaded[name] = raw if isinstance(raw, int | float) else json.loads(raw)
            except (ValueError, RecursionError) as error:
                logger.warning("saved setting %r passed over, it isn't JSON: %s", name, error)
        return loaded

    def save(self, name: str, value: Any) -> None:
        statement = insert(settings).values(name=name, value=value)
        statement = statement.on_conflict_do_update(index_elements=["name"], set_={"value": statement.excluded.value})
        with self._database.write("setting saved") as connection:
            connection.execute(statement)

    def reset(self, name: str) -> None:
        with self._database.write("setting reset") as connection:
            connection.execute(delete(settings).where(settings.c.name == name))
