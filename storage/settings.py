"""Choices made in the app, by setting name: `core.protocols.SettingsStore` over SQLite."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert

from storage.database import Database
from storage.tables import settings


class SqliteSettingsStore:
    """Values are anything that JSON holds. What they mean, and their limits, is `core.settings`' business."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> dict[str, Any]:
        with self._database.read() as connection:
            return dict(connection.execute(select(settings.c.name, settings.c.value).order_by(settings.c.name)).all())

    def save(self, name: str, value: Any) -> None:
        statement = insert(settings).values(name=name, value=value)
        statement = statement.on_conflict_do_update(index_elements=["name"], set_={"value": statement.excluded.value})
        with self._database.write() as connection:
            connection.execute(statement)

    def reset(self, name: str) -> None:
        with self._database.write() as connection:
            connection.execute(delete(settings).where(settings.c.name == name))
