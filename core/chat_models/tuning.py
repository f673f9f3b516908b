"""How a model is best run on one machine, as it was measured there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# Tokens read in one go before this machine is known. 512 takes 150 MB more with a vocabulary of 150,000; no faster.
READ_BATCH = 256
# Tokens that a check of two drafts gives in answers that quote; taken with care: all right would be 3, none 1.
_RIGHT = 1.8
_MOST_THREADS = 1024
_MOST_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Tuning:
    """Threads and batch size to use, and what was measured with them.

    read_threads, write_threads  for reading a prompt and for writing an answer
    batch_tokens                 tokens read in one go
    reads_per_s, writes_per_s    tokens a second, with an almost empty context
    pair_cost, triple_cost       time of checking one or two drafted tokens together with the next one, in that of one
                                 token alone
    is_exact                     two or three tokens at once gave the very logits that they give one by one
    """

    read_threads: int
    write_threads: int
    batch_tokens: int
    reads_per_s: float
    writes_per_s: float
    pair_cost: float = 2.0
    triple_cost: float = 3.0
    is_exact: bool = False

    @property
    def draft_costs(self) -> tuple[float, float]:
        """Of checking one or two drafted tokens, in the time of the step that is taken without a draft."""
        without = 1.0 if self.is_exact else self.pair_cost  # see `DraftingTokenWriter`
        return self.pair_cost / without, self.triple_cost / without

    @property
    def drafting_pays(self) -> bool:
        """Only where it changes no text. Of two drafted tokens that are checked at once, one is right on average."""
        return self.is_exact and self.triple_cost < _RIGHT

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tuning | None:
        """None where the record isn't whole or holds what no machine can have: then it is measured again."""
        try:
            tuning = cls(
                *(int(value[name]) for name in ("read_threads", "write_threads", "batch_tokens")),
                *(float(value[name]) for name in ("reads_per_s", "writes_per_s", "pair_cost", "triple_cost")),
                is_exact=bool(value["is_exact"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        figures = (tuning.reads_per_s, tuning.writes_per_s, tuning.pair_cost, tuning.triple_cost)
        are_possible = (
            all(1 <= threads <= _MOST_THREADS for threads in (tuning.read_threads, tuning.write_threads))
            and 1 <= tuning.batch_tokens <= _MOST_BATCH_TOKENS
            and all(0 < figure < float("inf") for figure in figures)
        )
        return tuning if are_possible else None
