"""A text as it's kept: in the parts it was read in, one behind the other, each with the marks that lie in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from core.domain import Mark
from storage.neutral import neutral_text
from storage.tables import text_parts


def add_text_part(
    connection: Connection,
    text_id: int,
    number: int,
    start: int,
    text: str,
    marks: Iterable[Mark],
    after: Mapping[str, Any] | None = None,
) -> None:
    """start: characters before the part. Marks count from the part's own beginning."""
    connection.execute(
        insert(text_parts).values(
            text_id=text_id,
            number=number,
            start=start,
            text=neutral_text(text),
            marks=_plain_marks(marks),
            after=dict(after or {}),
        )
    )


def replace_text(connection: Connection, text_id: int, text: str, marks: Sequence[Mark]) -> bool:
    """Make this, in one part, the whole text. Returns whether it was another one before."""
    if joined_text(connection, text_id) == (neutral_text(text), _plain_marks(marks)):
        return False
    connection.execute(delete(text_parts).where(text_parts.c.text_id == text_id))
    add_text_part(connection, text_id, 0, 0, text, marks)
    return True


def whole_text(connection: Connection, text_id: int) -> tuple[str, tuple[Mark, ...]]:
    """The text and its marks, counted from its beginning. A table or section that goes on over parts has several."""
    text, marks = joined_text(connection, text_id)
    return text, tuple(Mark(*mark) for mark in marks)


def joined_text(connection: Connection, text_id: int) -> tuple[str, list[list[Any]]]:
    """The same with marks as plain lists; empty where there is no such text."""
    columns = (text_parts.c.start, text_parts.c.text, text_parts.c.marks)
    rows = connection.execute(select(*columns).where(text_parts.c.text_id == text_id).order_by(text_parts.c.number))
    texts: list[str] = []
    marks: list[list[Any]] = []
    for row in rows:
        texts.append(row.text)
        marks += [[start + row.start, end + row.start, kind, value] for start, end, kind, value in row.marks]
    return "".join(texts), marks


def excerpt(connection: Connection, text_id: int, start: int, end: int) -> str:
    """The characters start to end; reads only the parts they lie in, and of those only what is asked for."""
    return "".join(_pieces(connection, text_id, max(start, 0), end))


def _pieces(connection: Connection, text_id: int, start: int, end: int) -> Iterator[str]:
    of_text = text_parts.c.text_id == text_id
    first = select(func.max(text_parts.c.start)).where(of_text, text_parts.c.start <= start).scalar_subquery()
    # substr counts characters as Python does: both count code points, and no text holds a NUL.
    wanted = func.substr(text_parts.c.text, func.max(start - text_parts.c.start, 0) + 1, end - start)
    query = select(text_parts.c.start, wanted).where(of_text, text_parts.c.start >= first, text_parts.c.start < end)
    for part_start, piece in connection.execute(query.order_by(text_parts.c.number)):
        yield piece[: end - max(start, part_start)]


def _plain_marks(marks: Iterable[Mark]) -> list[list[Any]]:
    return [[mark.start, mark.end, mark.kind, mark.value] for mark in marks]
