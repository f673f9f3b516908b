"""The query as it is."""

from __future__ import annotations

from core.query import Query


class DefaultQueryTransformer:
    """Passes the query through."""

    def transform(self, query: Query) -> list[Query]:
        return [query]
