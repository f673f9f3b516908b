"""Conversations and their messages: `core.protocols.ConversationStore` over SQLite.

An answer lives here while it's written, so a page that reloads or a process that starts anew goes on showing it. One
engine at a time owns an answer, by a lease; one whose owner is gone becomes "interrupted" and keeps what was written.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, or_, select, text, update

from core.domain import ChatMessage
from core.errors import NotFoundError
from core.records import MESSAGE_ENDED, ConversationRecord, MessageRecord
from storage.database import Database
from storage.message_rows import message_record, message_values
from storage.neutral import neutral_text
from storage.tables import conversations, messages

_AFTER_JOBS = text(
    "NOT EXISTS (SELECT 1 FROM json_each(messages.record, '$.after_jobs') AS awaited "
    "JOIN jobs ON jobs.id = awaited.value WHERE jobs.state IN ('waiting', 'running'))"
)
WORKING = ("searching", "reading", "writing")
ABANDONED = "Footnote was closed while this answer was being made; ask again to get a whole one"


class SqliteConversationStore:
    """Thread-safe. `clock` gives seconds since 1970; tests turn it."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    # ── conversations ──

    def create(self, title: str = "", options: Mapping[str, Any] | None = None) -> ConversationRecord:
        now = self._clock()
        values = {"id": uuid.uuid4().hex, "title": neutral_text(title), "options": dict(options or {})}
        with self._database.write("conversation made") as connection:
            connection.execute(insert(conversations).values(created=now, updated=now, **values))
            return _conversation(connection, values["id"])

    def get(self, conversation_id: str) -> ConversationRecord:
        with self._database.read() as connection:
            return _conversation(connection, conversation_id)

    def list(self, *, search: str = "", limit: int = 200) -> list[ConversationRecord]:
        """The one that last changed first; `search` looks in titles, questions and answers, whatever the case."""
        query = select(conversations).order_by(conversations.c.updated.desc(), conversations.c.id).limit(limit)
        if search.strip():
            # instr, not LIKE: in a search for "100%" nothing is a wildcard.
            wanted = search.strip().casefold()
            in_messages = select(messages.c.id).where(
                messages.c.conversation_id == conversations.c.id, func.instr(func.fold(messages.c.text), wanted) > 0
            )
            query = query.where(or_(func.instr(func.fold(conversations.c.title), wanted) > 0, in_messages.exists()))
        with self._database.read() as connection:
            return [_conversation_record(row) for row in connection.execute(query)]

    def update(self, conversation_id: str, *, title: str | None = None, options: Mapping | None = None) -> None:
        """Another title or other options; the options are replaced as a whole."""
        values = {} if title is None else {"title": neutral_text(title)}
        values |= {} if options is None else {"options": dict(options)}
        with self._database.write("conversation changed") as connection:
            _conversation(connection, conversation_id)
            if values:
                connection.execute(update(conversations).where(conversations.c.id == conversation_id).values(**values))

    def delete(self, conversation_id: str) -> None:
        with self._database.write("conversation deleted") as connection:
            _conversation(connection, conversation_id)
            connection.execute(delete(conversations).where(conversations.c.id == conversation_id))

    # ── messages ──

    def add_turn(
        self, conversation_id: str, text: str, *, request_key: str, after_jobs: Sequence[int] = ()
    ) -> tuple[MessageRecord, MessageRecord]:
        now = self._clock()
        record = {"after_jobs": list(after_jobs)} if after_jobs else {}
        with self._database.write("turn added") as connection:
            _conversation(connection, conversation_id)
            known = connection.execute(select(messages).where(messages.c.request_key == request_key)).one_or_none()
            if known is None:
                question_id = _insert_message(
                    connection, conversation_id, "user", now, text=neutral_text(text), request_key=request_key
                )
                _insert_message(connection, conversation_id, "assistant", now, reply_to=question_id, record=record)
                connection.execute(
                    update(conversations).where(conversations.c.id == conversation_id).values(updated=now)
                )
            else:
                question_id = known.id
            pair = select(messages).where(or_(messages.c.id == question_id, messages.c.reply_to == question_id))
            question, answer, *_ = connection.execute(pair.order_by(messages.c.id)).all()
            return message_record(question), message_record(answer)

    def message(self, message_id: int) -> MessageRecord:
        with self._database.read() as connection:
            return message_record(_row(connection, message_id))

    def messages(self, conversation_id: str) -> list[MessageRecord]:
        query = select(messages).where(messages.c.conversation_id == conversation_id).order_by(messages.c.id)
        with self._database.read() as connection:
            _conversation(connection, conversation_id)
            return [message_record(row) for row in connection.execute(query)]

    def update_message(self, message_id: int, **changes: Any) -> None:
        """Any of text, state, reason, sources, sentences, record, memory_text.

        An ended state gives up the lease; "waiting" makes it free to be claimed again, as to regenerate an answer.
        """
        values = message_values(changes)
        if values.get("state") in (*MESSAGE_ENDED, "waiting"):
            values |= {"owner": None, "lease_until": None}
        if values.get("state") == "waiting":
            values["stop_requested"] = False
        step = f"answer {changes['state']}" if "state" in changes else f"message's {' and '.join(changes)} saved"
        with self._database.write(step) as connection:
            if not _change(connection, self._clock(), messages.c.id == message_id, **values):
                raise _no_message(message_id)

    def claim_answer(self, owner: str, *, lease_s: float, message_id: int | None = None) -> MessageRecord | None:
        """The oldest waiting answer whose conversation has none before it and none in work; it's "searching" then.

        One whose record names `after_jobs` is passed over until these have ended.

        message_id  only this one
        """
        query = _claimable(message_id)
        # Looking takes no lock: an idle engine asks again and again, beside people who write.
        with self._database.read() as connection:
            if connection.execute(query).first() is None and not _count_abandoned(connection, self._clock()):
                return None
        with self._database.write("answer claimed") as connection:
            now = self._clock()
            _interrupt(connection, now)
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            values = {"state": "searching", "owner": owner, "lease_until": now + lease_s}
            _change(connection, now, messages.c.id == row.id, **values)
            return message_record(_row(connection, row.id))

    def heartbeat(self, message_id: int, owner: str, *, lease_s: float) -> bool:
        """Keep the lease. False: it was lost, or the message is gone or ended; stop working on it."""
        owned = and_(messages.c.id == message_id, messages.c.owner == owner, messages.c.state.in_(WORKING))
        with self._database.write("answer heartbeat") as connection:
            now = self._clock()  # after the wait for the lock: a lease from before it might be over already
            return _change(connection, now, owned, lease_until=now + lease_s) == 1

    def interrupt_abandoned(self, is_dead: Callable[[str], bool] = lambda owner: False) -> int:
        """A dead owner's leases end at once: after a kill nobody should wait for them."""
        with self._database.write("answers interrupted") as connection:
            owned = select(messages.c.owner).where(messages.c.owner.is_not(None)).distinct()
            dead = [owner for owner in connection.execute(owned).scalars() if is_dead(owner)]
            connection.execute(update(messages).where(messages.c.owner.in_(dead)).values(lease_until=0.0))
            return _interrupt(connection, self._clock())

    def request_stop(self, message_id: int) -> None:
        """A waiting answer stops at once; one in work when its engine looks. An ended one stays as it is."""
        now = self._clock()
        with self._database.write("answer stop") as connection:
            _row(connection, message_id)
            _change(
                connection, now, and_(messages.c.id == message_id, messages.c.state.in_(WORKING)), stop_requested=True
            )
            waiting = and_(messages.c.id == message_id, messages.c.state == "waiting")
            _change(connection, now, waiting, state="stopped", stop_requested=True)

    def memory(self, conversation_id: str, *, before: int | None = None) -> list[ChatMessage]:
        """Questions and answers of turns of which both are kept, oldest first: never an orphan of either."""
        answers = messages.alias()
        query = (
            select(messages.c.memory_text, answers.c.memory_text.label("answer"))
            .join(answers, answers.c.reply_to == messages.c.id)
            .where(
                messages.c.conversation_id == conversation_id,
                messages.c.memory_text.is_not(None),
                answers.c.memory_text.is_not(None),
            )
            .order_by(messages.c.id)
        )
        if before is not None:
            query = query.where(messages.c.id < before, answers.c.id < before)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [
            message
            for row in rows
            for message in (ChatMessage("user", row.memory_text), ChatMessage("assistant", row.answer))
        ]

    def remove_after(self, message_id: int) -> None:
        with self._database.write("messages removed") as connection:
            row = _row(connection, message_id)
            later = and_(messages.c.conversation_id == row.conversation_id, messages.c.id >= message_id)
            connection.execute(delete(messages).where(later))


def _insert_message(connection: Connection, conversation_id: str, role: str, now: float, **values: Any) -> int:
    defaults = {
        "text": "",
        "state": "complete" if role == "user" else "waiting",
        "reason": "",
        "sources": [],
        "sentences": [],
        "record": {},
        "stop_requested": False,
    }
    values = {**defaults, **values, "conversation_id": conversation_id, "role": role, "created": now, "updated": now}
    return connection.execute(insert(messages).values(**values)).inserted_primary_key[0]


def _claimable(message_id: int | None):
    other = messages.alias()
    in_the_way = select(other.c.id).where(
        other.c.conversation_id == messages.c.conversation_id,
        other.c.role == "assistant",
        or_(other.c.state.in_(WORKING), and_(other.c.state == "waiting", other.c.id < messages.c.id)),
    )
    query = select(messages).where(
        messages.c.role == "assistant", messages.c.state == "waiting", ~in_the_way.exists(), _AFTER_JOBS
    )
    if message_id is not None:
        query = query.where(messages.c.id == message_id)
    return query.order_by(messages.c.id).limit(1)


def _abandoned(now: float) -> ColumnElement[bool]:
    return and_(messages.c.state.in_(WORKING), or_(messages.c.lease_until.is_(None), messages.c.lease_until < now))


def _count_abandoned(connection: Connection, now: float) -> int:
    return connection.execute(select(func.count()).select_from(messages).where(_abandoned(now))).scalar_one()


def _interrupt(connection: Connection, now: float) -> int:
    record = func.json_remove(messages.c.record, "$.phase")  # it isn't doing that any more
    values = {"owner": None, "lease_until": None, "record": record}
    stopped = _change(connection, now, and_(_abandoned(now), messages.c.stop_requested), state="stopped", **values)
    return stopped + _change(connection, now, _abandoned(now), state="interrupted", reason=ABANDONED, **values)


def _change(connection: Connection, now: float, which: ColumnElement[bool], **values: Any) -> int:
    return connection.execute(update(messages).where(which).values(updated=now, **values)).rowcount


def _row(connection: Connection, message_id: int) -> Row:
    row = connection.execute(select(messages).where(messages.c.id == message_id)).one_or_none()
    if row is None:
        raise _no_message(message_id)
    return row


def _no_message(message_id: int) -> NotFoundError:
    return NotFoundError(f"there is no message {message_id}; its conversation may have been deleted")


def _conversation(connection: Connection, conversation_id: str) -> ConversationRecord:
    row = connection.execute(select(conversations).where(conversations.c.id == conversation_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"there is no conversation {conversation_id!r}; it may have been deleted")
    return _conversation_record(row)


def _conversation_record(row: Row) -> ConversationRecord:
    return ConversationRecord(
        row.id,
        row.title,
        datetime.fromtimestamp(row.created, UTC),
        datetime.fromtimestamp(row.updated, UTC),
        row.options,
    )
