"""Text to keyword terms: the same for segments and for queries.

    index_terms("Pump XK-4471-B, running")  ['pump', 'xk4471b', 'xk', '4471', 'b', 'run']
    query_terms("what is xk 4471 b")        ['xk', '4471', 'b', 'xk4471', 'xk4471b', '4471b']
    index_terms("東京都")                    ['東', '京', '都', '東京', '京都']

Words are case, width and accent folded, then cut to their English (Porter) stem. Identifiers, dates and compounds stand
whole and in their parts; Chinese, Japanese and Korean as single characters and overlapping pairs, Thai and its
neighbours, which write no blanks, as pairs. Emoji and other symbols are terms too. A term is made of ASCII letters and
digits and of non-ASCII characters only, so that blanks can join terms. Positions are not kept.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from core.text.stop_words import stop_words_of

_CJK = (
    "\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff\uac00-\ud7a3"
)
_UNSPACED = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3"
# Python's \w leaves out the vowel signs of Indic scripts and points of Hebrew and Arabic, which would cut words there.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u200c\u200d"
_LETTER = rf"(?:(?![{_CJK}{_UNSPACED}])[^\W_]|[{_MARKS}])"
_JOINT = r"[-_./:@'’&\u2010-\u2013·]|(?<=\d),(?=\d)"
_TOKEN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)|(?P<unspaced>[{_UNSPACED}]+)"
    rf"|(?P<word>{_LETTER}+(?:(?:{_JOINT}){_LETTER}+)*(?:\+\+|#(?!\w))?)|(?P<symbol>[^\w\s\x00-\x7f])"
)
_PART = re.compile(rf"{_LETTER}+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DIGITS_OR_LETTERS = re.compile(r"\d+|[^\W\d_]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+\.\d+")
_NOT = re.compile(r"(?<=n)['’](?=t$)", re.IGNORECASE)
_CONTRACTION = re.compile(r"['’](?:s|d|m|ll|re|ve)$", re.IGNORECASE)
_MAX_TERM_CHARS = 64
_MAX_JOINED_WORDS = 4


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A term that is searched and the place in the query it comes from: `text[start:end]`.

    `is_joined`: made of neighbouring words; nobody would miss it in a segment that has the words.
    """

    term: str
    start: int
    end: int
    is_joined: bool = False


def index_terms(text: str) -> list[str]:
    """All terms of a segment in order, repetitions kept. "" and text without words or symbols give []."""
    return [term for terms, _, _ in _tokens(unicodedata.normalize("NFKC", text)) for term in terms]


def query_terms(text: str) -> list[str]:
    """The terms that are searched for: as `index_terms`, without stop words unless there is nothing else.

    Neighbouring words are also joined where a digit is among them, so that "xk 4471 b" finds XK-4471-B.
    """
    return [found.term for found in locate_query_terms(text)]


def locate_query_terms(text: str) -> list[QueryTerm]:
    """`query_terms` with their places, offsets into `text`."""
    normalised, places = _normalise_with_places(text)
    tokens = list(_tokens(normalised))
    stop_words = stop_words_of([fold(normalised[start:end]) for _, start, end in tokens])
    kept = [token for token in tokens if not _is_stop(normalised[token[1] : token[2]], stop_words)] or tokens
    found = [QueryTerm(term, places[start][0], places[end - 1][1]) for terms, start, end in kept for term in terms]
    joined = _joined(normalised, stop_words)
    return found + [QueryTerm(term, places[start][0], places[end - 1][1], True) for term, start, end in joined]


def fold(word: str) -> str:
    """A word as it is compared: NFKC, no case, no accents on Latin and Greek letters, digits as 0-9."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    if folded.isascii():
        return folded
    kept: list[str] = []
    for character in unicodedata.normalize("NFD", folded):
        if unicodedata.category(character) in ("Mn", "Cf") and _is_dropped_after(kept, character):
            continue
        kept.append(str(unicodedata.decimal(character, character)))
    return unicodedata.normalize("NFC", "".join(kept))


def stem(word: str) -> str:
    """The English stem of a folded word; other scripts and words with digits stay as they are."""
    return _stem(word) if len(word) > 2 and word.isascii() and word.isalpha() else word


def _tokens(text: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """(terms, start, end) of each token of an NFKC text."""
    for match in _TOKEN.finditer(text):
        kind, token, start, end = match.lastgroup, match.group(), match.start(), match.end()
        if kind == "word":
            yield _word_terms(token), start, end
        elif kind == "symbol":
            if _is_symbol(token):
                yield (token,), start, end
        else:
            if kind == "cjk" or len(token) == 1:
                for at, character in enumerate(token, start):
                    yield (fold(character),), at, at + 1
            for at in range(len(token) - 1):
                yield (fold(token[at : at + 2]),), start + at, start + at + 2


@lru_cache(maxsize=200_000)
def _word_terms(token: str) -> tuple[str, ...]:
    """Terms of a word or of parts held together by joints: `rock-n-roll` gives rocknrol, rock, n, roll."""
    language = re.fullmatch(r"([A-Za-z])(\+\+|#)", token)
    if language:
        return (fold(language[1]) + ("sharp" if language[2] == "#" else "plusplus"),)
    token = _CONTRACTION.sub("", _NOT.sub("", token.rstrip("+#")))
    if _THOUSANDS.fullmatch(token):
        token = token.replace(",", "")
    if _DECIMAL.fullmatch(token):
        # A middle dot keeps 3.5 apart from 35; the dot itself would end a term.
        return (fold(token.replace(".", "·")), *fold(token).split("."))
    parts = _PART.findall(token)
    terms = [] if len(parts) == 1 else [stem(fold("".join(parts)))]
    for part in parts:
        folded = fold(part)
        terms.append(stem(folded))
        humps = _HUMP.split(part) if len(part) > 3 else [part]
        pieces = humps if len(humps) > 1 else _DIGITS_OR_LETTERS.findall(folded)
        if len(pieces) > 1:
            terms += [stem(fold(piece)) for piece in pieces if len(piece) > 1]
    return tuple(term[:_MAX_TERM_CHARS] for term in dict.fromkeys(terms) if term)


def _joined(text: str, stop_words: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Neighbouring words, only blanks between them, a digit among them, as one: "xk 4471" gives xk4471."""
    words = list(_PART.finditer(text))
    for first in range(len(words)):
        joined = fold(words[first].group())
        for last in range(first, min(first + _MAX_JOINED_WORDS, len(words))):
            word = fold(words[last].group())
            if len(word) > 1 and word in stop_words:
                break
            if last > first:
                if not text[words[last - 1].end() : words[last].start()].isspace():
                    break
                joined += word
                if any(character.isdigit() for character in joined):
                    yield joined[:_MAX_TERM_CHARS], words[first].start(), words[last].end()


def _is_stop(word: str, stop_words: frozenset[str]) -> bool:
    """`don't`, `what's` and `o'clock` are looked up without what follows the apostrophe, and without the apostrophe."""
    whole = fold(_CONTRACTION.sub("", word))
    return whole in stop_words or "".join(_PART.findall(whole)) in stop_words


def _is_symbol(character: str) -> bool:
    """Emoji, currency and signs; not punctuation, box drawing, joiners or skin tones."""
    return unicodedata.category(character) in ("So", "Sc", "Sm", "Co", "Cn") and not "\u2500" <= character <= "\u25ff"


def _is_dropped_after(kept: list[str], character: str) -> bool:
    """Accents on Latin and Greek, Hebrew points, Arabic vowel signs and invisible characters; never Indic or kana."""
    if unicodedata.category(character) == "Cf":
        return True
    base = kept[-1] if kept else ""
    return base < "\u0400" or "\u0590" <= base <= "\u06ff" or base in "её"


def _normalise_with_places(text: str) -> tuple[str, list[tuple[int, int]]]:
    """NFKC of `text`, and for each character of it the (start, end) in `text` that it comes from."""
    normalised: list[str] = []
    places: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and (unicodedata.combining(text[end]) or text[end] in "\uff9e\uff9f"):
            end += 1
        piece = unicodedata.normalize("NFKC", text[start:end])
        normalised.append(piece)
        places += [(start, end)] * len(piece)
        start = end
    return "".join(normalised), places


_stemming = threading.Lock()


@cache
def _stemmer():
    import snowballstemmer

    return snowballstemmer.stemmer("porter")


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    # The stemmer keeps its state in itself: one thread at a time.
    with _stemming:
        return _stemmer().stemWord(word)
