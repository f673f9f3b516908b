"""A corpus, questions and which entries answer them, from the three files that retrieval benchmarks come in.

    corpus.jsonl   {"id": …, "title": …, "text": …}
    queries.jsonl  {"id": …, "text": …, "history": [{"role": "user", "text": …}, …]}
    qrels.tsv      query_id <tab> corpus_id <tab> relevance, with a header line
`history` is optional; a turn that is a plain text is a user's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.domain import ChatMessage
from core.errors import ConfigError

_ROLES = {"user": "user", "human": "user", "assistant": "assistant", "agent": "assistant", "bot": "assistant"}


@dataclass(frozen=True)
class Entry:
    id: str
    title: str
    text: str

    def as_markdown(self) -> str:
        """The title as a heading in front of the text."""
        return f"# {self.title}\n\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Question:
    """`relevant`: entry id -> relevance above 0. `history`: the turns before, oldest first."""

    id: str
    text: str
    relevant: dict[str, float]
    history: tuple[ChatMessage, ...] = ()


@dataclass(frozen=True)
class QuestionSet:
    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]


def load_question_set(corpus: Path, queries: Path, qrels: Path) -> QuestionSet:
    """Questions without a relevant entry are left out: no ranking of theirs is better than another.

    raises  ConfigError naming the file, the line and what is missing; an entry twice; a relevant id that isn't there
    """
    entries = {}
    for place, row in _rows(corpus):
        entry = Entry(_field(place, row, "id"), str(row.get("title") or ""), _field(place, row, "text"))
        if entry.id in entries:
            raise ConfigError(f"{place}: the id {entry.id!r} stands there a second time")
        entries[entry.id] = entry
    relevant = _relevance(qrels, entries)
    questions = [
        Question(id, _field(place, row, "text"), relevant[id], _history(place, row))
        for place, row in _rows(queries)
        if (id := _field(place, row, "id")) in relevant
    ]
    if not questions:
        raise ConfigError(f"none of the queries in {queries.name!r} has a relevant entry in {qrels.name!r}")
    return QuestionSet(tuple(entries.values()), tuple(questions))


def _relevance(path: Path, entries: dict[str, Entry]) -> dict[str, dict[str, float]]:
    relevant: dict[str, dict[str, float]] = {}
    for number, line in enumerate(_lines(path), 1):
        columns = line.split("\t")
        if number == 1 or not line.strip():
            continue
        try:
            query_id, entry_id, gain = columns[0], columns[1], float(columns[2])
        except (IndexError, ValueError):
            raise ConfigError(f"{path.name}, line {number}: expected query_id, corpus_id and a number") from None
        if entry_id not in entries:
            raise ConfigError(f"{path.name}, line {number}: the corpus has no entry {entry_id!r}")
        if gain > 0:
            relevant.setdefault(query_id, {})[entry_id] = gain
    return relevant


def _history(place: str, row: dict) -> tuple[ChatMessage, ...]:
    turns = row.get("history") or []
    if not isinstance(turns, list):
        raise ConfigError(f"{place}: 'history' must be a list of turns")
    messages = []
    for turn in turns:
        if isinstance(turn, str):
            turn = {"role": "user", "text": turn}
        role = _ROLES.get(str(turn.get("role") or turn.get("speaker")).lower()) if isinstance(turn, dict) else None
        if role is None:
            raise ConfigError(f"{place}: a turn of 'history' needs 'role' (user or assistant) and 'text'")
        messages.append(ChatMessage(role, str(turn.get("text") or turn.get("content") or "")))
    return tuple(messages)


def _field(place: str, row: dict, name: str) -> str:
    if not isinstance(row.get(name), str | int):
        raise ConfigError(f"{place}: the field {name!r} is missing or no text")
    return str(row[name])


def _rows(path: Path) -> Iterator[tuple[str, dict]]:
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        place = f"{path.name}, line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            raise ConfigError(f"{place}: this is no JSON object") from None
        if not isinstance(row, dict):
            raise ConfigError(f"{place}: this is no JSON object")
        yield place, row


def _lines(path: Path) -> list[str]:
    try:
        # Not splitlines(): JSON text may hold U+2028 unescaped.
        return path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigError(f"can't read {path.name!r}: {reason}") from None
