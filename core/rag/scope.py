"""Which documents a question is about: all, a collection, or chosen ones; and whatever a filter adds.

It travels in the query's invocation parameters under "scope", so that every retriever of one call sees the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.filters import Filter, IsEqualTo, IsIn
from core.query import Query

PARAMETER = "scope"


@dataclass(frozen=True)
class Scope:
    """`collection` None is all of them, no `document_ids` is all documents."""

    collection: str | None = None
    document_ids: tuple[int, ...] = ()
    filter: Filter | None = None

    def as_filter(self) -> Filter | None:
        """All conditions in one, or None where everything is meant."""
        conditions: list[Filter] = []
        if self.document_ids:
            conditions.append(IsIn("document_id", self.document_ids))
        if self.collection is not None:
            conditions.append(IsEqualTo("collection", self.collection))
        if self.filter is not None:
            conditions.append(self.filter)
        if not conditions:
            return None
        whole = conditions[0]
        for condition in conditions[1:]:
            whole = whole & condition
        return whole


def scope_of(query: Query) -> Scope:
    return query.metadata.invocation_parameters.get(PARAMETER) or Scope()


def scope_filter(query: Query) -> Filter | None:
    """What a retriever takes as its `dynamic_filter`."""
    return scope_of(query).as_filter()
