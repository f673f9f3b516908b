"""How much of a query an embedding model can read, judged by how its tokenizer cuts it.

A model that has learnt a language has whole words of it in its vocabulary; one that hasn't spells it letter by letter,
or replaces it by one unknown token. Models whose tokenizer spells Chinese by design are taken for one that can't read
it.
"""

from __future__ import annotations

import re

from core.protocols import TokenCountEstimator

_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]"
)
# Mean characters of a token: below the first nothing is read, from the second on all. English questions have 4.4 with
# MiniLM (the lowest of a hundred 2.5), Japanese and Russian 1.0; Japanese with a vocabulary of its own about 1.7.
_SPACED = (1.2, 2.7)
_WITHOUT_BLANKS = (1.1, 1.5)
_LONGEST_WORD_PIECE = 16


def readable_share(text: str, tokenizer: TokenCountEstimator) -> float:
    """0 (nothing) to 1 (all), each script weighted by its characters. Text without words gives 0.

    `readable_share("Where is the pump?", minilm)` is 1.0, of "ポンプはどこ" 0.0, of "QT43" 0.1.
    """
    characters, tokens = [0, 0], [0, 0]
    for start, end in tokenizer.offsets(text):
        piece = text[start:end]
        if not any(map(str.isalnum, piece)):
            continue
        without_blanks = bool(_UNSPACED.search(piece))
        tokens[without_blanks] += 1
        # One token for a whole foreign word is the unknown one.
        characters[without_blanks] += 1 if len(piece) > _LONGEST_WORD_PIECE and not piece.isascii() else len(piece)
    if not sum(characters):
        return 0.0
    shares = [
        _between(*limits, c / t if t else 0.0)
        for limits, c, t in zip((_SPACED, _WITHOUT_BLANKS), characters, tokens, strict=True)
    ]
    return sum(share * count for share, count in zip(shares, characters, strict=True)) / sum(characters)


def _between(low: float, high: float, value: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))
