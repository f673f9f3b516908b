"""What a message wants: nothing from the documents, a whole document, or a search.

    read_intent("thanks!").kind                       "small_talk"
    read_intent("summarise the second file")          Intent("overview", ordinal=2)
    read_intent("hello Mirko").kind                   "search"

Word lists, no model; careful: whatever holds one word that isn't on a list is a search. English, and the commonest
phrases of ten other languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from core.query import Query
from core.rag.intent_words import (
    CJK_CUE,
    CJK_DIGITS,
    CJK_GENERIC,
    CJK_ORDINAL,
    CUES,
    DOCUMENT_WORDS,
    GENERIC,
    ORDINALS,
    REACTIONS,
    SMALL_TALK,
    WEAK_CUES,
)
from core.text.stop_words import LANGUAGES
from core.text.terms import fold

# Where the decision travels: in the query's invocation parameters.
PARAMETER = "intent"
Kind = Literal["small_talk", "overview", "search"]


@dataclass(frozen=True)
class Intent:
    """Of an overview: `ordinal` is the document's place (1 the first, -1 the last), `document` its name, or neither."""

    kind: Kind = "search"
    ordinal: int | None = None
    document: str | None = None


_WORD = re.compile(r"[^\W_]+(?:[.'’;-][^\W_]+)*")
_CONTRACTED = re.compile(r"['’](?:s|re|ve|d|ll|m)\b", re.IGNORECASE)
_LENGTH = re.compile(r"\b\d{1,3}(?= (?:sentences|words|bullets?|points|lines|paragraphs)\b)", re.IGNORECASE)
_MOST_SMALL_TALK_CHARS = 80


def intent_of(query: Query) -> Intent | None:
    """What was decided for this call, if anything yet."""
    return query.metadata.invocation_parameters.get(PARAMETER)


def read_intent(text: str, *, has_history: bool = False, document_names: Callable[[], Sequence[str]] = tuple) -> Intent:
    """has_history     something was asked before, so that a message without any topic goes on with it
    document_names  asked for only where a summary is wanted of something that isn't on the lists
    """
    if _is_small_talk(text):
        return Intent("small_talk")
    return _overview(text, has_history, document_names) or Intent()


def _is_small_talk(text: str) -> bool:
    if len(text) > _MOST_SMALL_TALK_CHARS:
        return False
    plain = text.translate({ord(character): " " for character in REACTIONS})
    pieces = [
        " ".join(_WORD.findall(fold(piece).replace("'", "").replace("’", "")))
        for piece in re.split(r"[,.!?;:~、。！？…\n]+", plain)
    ]
    said = [piece for piece in pieces if piece]
    if not said:
        return plain != text and not plain.strip(" \n.!?")  # nothing but thumbs and smiles
    # Names and signs that aren't words ("🎉", "§ 5") are asked for, not said.
    rest = re.sub(r"[\w\s,.!?;:~、。！？…'’\u0300-\u036f\ufe0f-]", "", plain)
    return not rest and all(piece in SMALL_TALK or _all_known(piece) for piece in said)


def _all_known(piece: str) -> bool:
    """Two phrases without a comma: "ok thanks"."""
    words = piece.split()
    return any(
        " ".join(words[:cut]) in SMALL_TALK and " ".join(words[cut:]) in SMALL_TALK for cut in range(1, len(words))
    )


def _overview(text: str, has_history: bool, document_names: Callable[[], Sequence[str]]) -> Intent | None:
    if CJK_CUE.search(text):
        return _cjk_overview(text)
    words = [fold(word) for word in _WORD.findall(_LENGTH.sub("", _CONTRACTED.sub("", text)))]
    names_document = any(word in DOCUMENT_WORDS for word in words)
    has_cue = any(word in CUES or (word in WEAK_CUES and (names_document or not has_history)) for word in words)
    left = [word for word in words if not _is_generic(word) and word not in ORDINALS]
    ordinal = next((ORDINALS[word] for word in words if word in ORDINALS), None)
    if not left:
        asks_for_all = has_cue or (any(word in GENERIC for word in words) and not has_history)
        return Intent("overview", ordinal) if asks_for_all else None
    if not has_cue:
        return None
    named = [name for name in document_names() if set(left) <= _words_of_name(name)]
    return Intent("overview", document=named[0]) if len(named) == 1 else None


def _is_generic(word: str) -> bool:
    return word in GENERIC or any(word in stop_words for stop_words in LANGUAGES)


def _words_of_name(name: str) -> set[str]:
    folded = fold(name)
    return {folded, fold(PurePath(name).stem), *re.findall(r"[^\W_]+", folded)}


def _cjk_overview(text: str) -> Intent | None:
    ordinal = CJK_ORDINAL.search(text)
    number = None
    if ordinal:
        digit = ordinal[1] or ordinal[2]
        number = CJK_DIGITS[digit] if digit else -1
        text = text.replace(ordinal[0], "")
    left = CJK_GENERIC.sub("", CJK_CUE.sub("", text))
    return None if any(map(str.isalnum, left)) else Intent("overview", number)
