"""Guessing what an answer says next from what stands in the prompt: answers from documents quote them.

The last two or three tokens are looked up in prompt and answer so far; what followed them there is the draft. The model
then reads the draft together with the token before it, which takes less than one by one, and says for each whether it
would have chosen it itself (https://github.com/apoorvumang/prompt-lookup-decoding).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

MOST_DRAFTED = 2  # llama.cpp computes two and three tokens at once alike, and four in another way
_LENGTHS = (3, 2)  # tokens that must be the same before a draft is made, the longest first


class PromptLookup:
    """Where each pair and triple of tokens stood last.

    tokens   the prompt
    endings  tokens that are never drafted: what ends a turn ends a draft
    """

    def __init__(self, tokens: Iterable[int], endings: Collection[int] = ()) -> None:
        self._tokens: list[int] = []
        self._endings = endings
        self._behind: dict[tuple[int, ...], int] = {}
        for token in tokens:
            self.add(token)

    def add(self, token: int) -> None:
        """A place is known once something has followed it."""
        for length in _LENGTHS:
            if len(self._tokens) >= length:
                self._behind[tuple(self._tokens[-length:])] = len(self._tokens)
        self._tokens.append(token)

    def draft(self, most: int = MOST_DRAFTED) -> list[int]:
        """[] where the last tokens stand nowhere else."""
        for length in _LENGTHS:
            place = self._behind.get(tuple(self._tokens[-length:]))
            if place is not None:
                return self._until_ending(self._tokens[place : place + most])
        return []

    def _until_ending(self, tokens: Sequence[int]) -> list[int]:
        drafted = []
        for token in tokens:
            if token in self._endings:
                break
            drafted.append(token)
        return drafted


class DraftGain:
    """Does drafting pay at present? It pauses where it doesn't, longer each time, and then tries again.

    pair_cost, triple_cost  time of reading one or two drafted tokens with the next one, in that of one token alone
    """

    _NEW_SHARE = 0.2
    _FIRST_PAUSE, _LONGEST_PAUSE = 8, 64

    def __init__(self, pair_cost: float, triple_cost: float) -> None:
        self._costs = {1: pair_cost, 2: triple_cost}
        self._gain = 0.0  # tokens' time won by a draft, the newest counting most
        self._pause, self._next_pause = 0, self._FIRST_PAUSE

    def may_draft(self) -> bool:
        """Asked before every token."""
        self._pause = max(0, self._pause - 1)
        return self._pause == 0

    def learn(self, drafted: int, accepted: int) -> None:
        won = 1 + accepted - self._costs.get(drafted, float(1 + drafted))
        self._gain += self._NEW_SHARE * (won - self._gain)
        if self._gain > 0:
            self._next_pause = self._FIRST_PAUSE
        elif self._gain < -0.25:
            self._pause, self._next_pause = self._next_pause, min(2 * self._next_pause, self._LONGEST_PAUSE)
            self._gain = 0.0
