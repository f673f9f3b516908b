"""What a document has lost for good, written on it as a warning: known to whoever opens it, and to `check`."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, func, select, update

from storage.tables import texts

LOST_ORIGINAL = "its original file is lost; add the file again"
LOST_TEXT = "its text is lost and can't be found; add the file again"
LOST_PLACES = "some of its passages may stand elsewhere than shown; add the file again"
LOST_DETAILS = "pages, headings or tables of its passages are lost; add the file again"
LOST_SEGMENTS = "some of its passages are lost and can't be found; add the file again"


def is_said(loss: str) -> ColumnElement[bool]:
    """Whether the text's warnings hold this one."""
    return func.instr(texts.c.warnings, loss) > 0


def say(connection: Connection, text_ids: Iterable[int], loss: str) -> None:
    for text_id in text_ids:
        warnings = _warnings(connection, text_id)
        if loss not in warnings:
            _write(connection, text_id, [*warnings, loss])


def unsay(connection: Connection, text_ids: Iterable[int], *losses: str) -> None:
    """They're found again, or read anew."""
    for text_id in text_ids:
        warnings = _warnings(connection, text_id)
        left = [warning for warning in warnings if warning not in losses]
        if left != warnings:
            _write(connection, text_id, left)


def _warnings(connection: Connection, text_id: int) -> list[str]:
    return list(connection.execute(select(texts.c.warnings).where(texts.c.id == text_id)).scalar() or ())


def _write(connection: Connection, text_id: int, warnings: list[str]) -> None:
    connection.execute(update(texts).where(texts.c.id == text_id).values(warnings=warnings))
