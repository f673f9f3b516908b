"""Whether a segment says the query's words side by side, as the query does.

    Phrase(["red", "pump"], {"red": 2.0, "pump": 1.0}).share_in(["the", "red", "pump"])   1.0

Metzler and Croft, A Markov Random Field Model for Term Dependencies, SIGIR 2005:
https://doi.org/10.1145/1076034.1076115 (their sequential dependence, as a share).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

# One term may stand between: of "the price of oil" only price and oil are searched.
_REACH = 2


class Phrase:
    """The neighbouring pairs of a query.

    query   terms as they follow each other
    rarity  of each term; a pair weighs the mean of its two
    """

    def __init__(self, query: Sequence[str], rarity: Mapping[str, float]) -> None:
        self._weights = {
            (first, second): (rarity.get(first, 0.0) + rarity.get(second, 0.0)) / 2
            for first, second in pairwise(query)
            if first != second
        }
        self._whole = sum(self._weights.values())
        self._asked = frozenset(query)

    def share_in(self, terms: Sequence[str]) -> float:
        """Share of the pairs that `terms` hold in this order, at most one term between; 0 to 1, for one term 0."""
        if not self._whole:
            return 0.0
        asked = self._asked
        places = [(place, term) for place, term in enumerate(terms) if term in asked]
        held: set[tuple[str, str]] = set()
        for number, (place, term) in enumerate(places):
            for later, other in places[number + 1 : number + 1 + _REACH]:
                if later - place > _REACH:
                    break
                held.add((term, other))
        return sum(weight for pair, weight in self._weights.items() if pair in held) / self._whole
