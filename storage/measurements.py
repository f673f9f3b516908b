"""What was measured on this machine: `core.protocols.MeasurementStore` over SQLite."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.dialects.sqlite import insert

from storage.database import Database
from storage.tables import measurements

logger = logging.getLogger(__name__)


class SqliteMeasurementStore:
    """Figures by name. What they mean is the business of whoever measured them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, name: str) -> dict[str, Any] | None:
        """None for what wasn't measured yet, and for what is no JSON object: it's measured again."""
        query = select(type_coerce(measurements.c.value, Text)).where(measurements.c.name == name)
        with self._database.read() as connection:
            raw = connection.execute(query).scalar()
        if raw is None:
            return None
        try:
            value = json.loads(raw)
        except (ValueError, TypeError, RecursionError) as error:
            logger.warning("measurement %r passed over, it isn't JSON: %s", name, error)
            return None
        return value if isinstance(value, dict) else None

    def put(self, name: str, value: Mapping[str, Any]) -> None:
        statement = insert(measurements).values(name=name, value=dict(value), updated=time.time())
        changes = {"value": statement.excluded.value, "updated": statement.excluded.updated}
        statement = statement.on_conflict_do_update(index_elements=["name"], set_=changes)
        with self._database.write("measurement saved") as connection:
            connection.execute(statement)
