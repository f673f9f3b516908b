"""Where sentences begin and end, without a language model.

Latin and other scripts with blanks, Chinese and Japanese, line breaks. Abbreviations, initials, decimal numbers and
wrapped lines don't end a sentence. It leaves out scripts without sentence marks (Thai): a line of them is a sentence.
"""

from __future__ import annotations

import re

# Marks that end a sentence wherever they stand; the others end one only before a blank or the end of the text.
_ALWAYS = frozenset("。！？｡؟۔।॥።")
_MARKS = "".join(sorted(_ALWAYS)) + ".!?…‼⁇⁈⁉"
_CLOSERS = "\"'”’»›)\\]}」』）】〉》〕"
FINAL_MARKS = frozenset(_MARKS)

# One run of marks with the quotes that close after it, or one run of line breaks. Never fails half-way: linear.
_CANDIDATE = re.compile(f"[{_MARKS}]+[{_CLOSERS}]*|[ \\t]*[\\r\\n\\f\\v\\x85\\u2028\\u2029]\\s*")
_WORD_BEFORE = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*\Z|\d+\Z")
_SHORTEST_WRAPPED = 24
_FIELD = re.compile(r"[\w.-]{1,40}[ \t]*[:=]")
_JAPANESE_QUOTE = frozenset("」』）")
_WORDS = re.compile(r"\S+")
_ABBREVIATIONS = frozenset(
    _WORDS.findall(
        "mr mrs ms dr prof st sr jr vs etc eg ie cf al fig figs eq no nos vol pp ed eds inc ltd co corp dept approx "
        "est jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e u.s u.k a.m p.m ph.d gen col capt lt sgt rev "
        "hon bzw usw ca z.b d.h u.a nr abs art"
    )
)
# After these a capital letter may well begin the next sentence ("… in the U.S. The …", "… etc. Then …").
_ENDS_TOO = frozenset(_WORDS.findall("etc inc ltd co corp u.s u.k a.m p.m ph.d usw al jr sr"))


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """(start, end) of each sentence, in order, covering the text without gaps.

    A span holds the blanks and line breaks after its sentence. "" gives [].
    `sentence_spans("It cost 3.5 euros. Dr. No left.")` gives [(0, 19), (19, 31)].
    """
    if not text:
        return []
    cuts = []
    for match in _CANDIDATE.finditer(text):
        end = match.end()
        if end < len(text) and _ends_sentence(text, match):
            cuts.append(end + _blanks(text, end))
    starts = list(dict.fromkeys([0, *(cut for cut in cuts if cut < len(text))]))
    starts = _without_blank_spans(text, starts)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))


def is_wrapped_line(text: str, start: int, end: int) -> bool:
    """Whether the line break at text[start:end] only wraps a running sentence.

    One break, no mark before it and a small letter after it, a line before it that is long enough to be wrapped, and
    after it no `name: value` or `name = value`, which are lines of their own.
    """
    breaks = text[start:end].replace("\r\n", "\n")
    lines = sum(breaks.count(mark) for mark in "\n\r\f\v\x85\u2028\u2029")
    if lines != 1 or start == 0 or end >= len(text):
        return False
    if text[start - 1] in FINAL_MARKS or text[start - 1] in ":：" or not text[end].islower():
        return False
    is_long = not any(mark in text[max(0, start - _SHORTEST_WRAPPED) : start] for mark in "\n\r")
    return is_long and start >= _SHORTEST_WRAPPED and not _FIELD.match(text, end)


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    found, end = match.group(), match.end()
    if found[0] not in FINAL_MARKS:
        return not is_wrapped_line(text, match.start(), end)
    after = text[end]
    if any(mark in _ALWAYS for mark in found):
        # 「行くよ。」と言った。 is one sentence: what follows the quote goes on in kana.
        return not (found[-1] in _JAPANESE_QUOTE and "ぁ" <= after <= "ゖ")
    if not after.isspace():
        return False
    following = end + _blanks(text, end)
    goes_on = following < len(text) and text[following].islower()
    if found[0] == ".":
        return not goes_on and not _is_abbreviation(text, match.start(), following, single=found == ".")
    return not goes_on or "\n" in text[end:following]


def _is_abbreviation(text: str, dot: int, following: int, *, single: bool) -> bool:
    if not single or "\n" in text[dot:following]:
        return False
    line = text[max(0, dot - 24) : dot]
    found = _WORD_BEFORE.search(line)
    if found is None:
        return False
    word = found.group()
    at_line_start = dot - len(word) == 0 or text[dot - len(word) - 1] == "\n"
    if word.isdigit():
        return at_line_start and len(word) <= 3  # "12. Remove the cover" is a numbered item
    if word.lower() in _ABBREVIATIONS:
        return not (word.lower() in _ENDS_TOO and text[following : following + 1].isupper())
    return len(word) == 1 and word.isupper() and word != "I"  # an initial: "J. Smith"


def _blanks(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end].isspace():
        end += 1
    return end - start


def _without_blank_spans(text: str, starts: list[int]) -> list[int]:
    """A text that begins with blanks: they belong to the first sentence."""
    if len(starts) > 1 and not text[: starts[1]].strip():
        return [0, *starts[2:]]
    return starts
