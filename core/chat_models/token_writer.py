"""How an answer's tokens are chosen and read into the context: one by one, or checking drafted ones together.

token = writer.next()      the same again until it is taken
writer.take(token, stop)   it belongs to the answer
writer.close()             the context holds the prompt and what was taken, nothing else
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

from core.chat_models.drafting import MOST_DRAFTED, DraftGain, PromptLookup
from core.chat_models.llama_runtime import LlamaRuntime
from core.chat_models.llama_sampling import Sampler
from core.chat_models.tuning import Tuning
from core.errors import StoppedError
from core.protocols import StopSignal


class TokenWriter:
    """One token at a time."""

    def __init__(self, runtime: LlamaRuntime, sampler: Sampler) -> None:
        self._runtime, self._sampler = runtime, sampler

    def next(self) -> int:
        return self._sampler.next()

    def take(self, token: int, stop: StopSignal | None) -> None:
        """raises  StoppedError; the token isn't in the context then"""
        self._runtime.append([token], stop)

    def close(self) -> None:
        """There is nothing more in the context than was taken."""


class DraftingTokenWriter:
    """Greedy only; writes the same text whatever is drafted.

    limit     longest answer in tokens: nothing is drafted behind it
    is_exact  few tokens at once give the very logits that they give one by one, so that this writes what `TokenWriter`
              writes. Otherwise two or three are always computed at once, never one alone: those give the same logits.
    """

    def __init__(
        self,
        runtime: LlamaRuntime,
        sampler: Sampler,
        lookup: PromptLookup,
        gain: DraftGain,
        *,
        limit: int,
        is_exact: bool,
    ) -> None:
        self._is_exact = is_exact
        self._runtime, self._sampler, self._lookup, self._gain = runtime, sampler, lookup, gain
        self._chosen: deque[int] = deque()  # accepted drafts, and the one that follows them
        self._ahead = 0  # how many of these are in the context already
        self._begin, self._limit, self._taken = runtime.length, limit, 0

    def next(self) -> int:
        if not self._chosen:
            self._chosen.append(self._sampler.next())
        return self._chosen[0]

    def take(self, token: int, stop: StopSignal | None) -> None:
        """raises  StoppedError; the token isn't in the context then"""
        if stop is not None and stop.is_set():
            raise StoppedError("stopped")
        self._chosen.popleft()
        self._lookup.add(token)
        self._taken += 1
        if self._ahead:
            self._ahead -= 1
            return
        room = min(MOST_DRAFTED, self._limit - self._taken)
        draft = self._lookup.draft(room) if room > 0 and self._gain.may_draft() else []
        try:
            if draft:
                self._gain.learn(len(draft), self._check(token, draft, stop))
            elif room > 0 and not self._is_exact:
                self._check(token, [token], stop)
            else:
                self._runtime.append([token], stop)
        except StoppedError:
            self._taken -= 1
            raise

    def _check(self, token: int, draft: list[int], stop: StopSignal | None) -> int:
        """How many of the drafted tokens the model would have chosen; they are in the context then."""
        begin = self._runtime.length
        self._runtime.append_each([token, *draft], stop)
        follows = self._sampler.next(0)
        accepted = 0
        while accepted < len(draft) and follows == draft[accepted]:
            accepted += 1
            follows = self._sampler.next(accepted)
        self._runtime.forget_from(begin + 1 + accepted)
        self._chosen.extend([*draft[:accepted], follows])
        self._ahead = accepted
        return accepted

    def close(self) -> None:
        self._runtime.forget_from(self._begin + self._taken)


def drafting_writer(
    runtime: LlamaRuntime,
    sampler: Sampler,
    tuning: Tuning | None,
    *,
    prompt: Iterable[int],
    endings: Collection[int],
    limit: int,
) -> DraftingTokenWriter:
    """One that drafts from the prompt and what was written, as it pays by `tuning`."""
    tuning = tuning or Tuning(1, 1, 1, 1.0, 1.0)
    lookup, gain = PromptLookup(prompt, endings), DraftGain(*tuning.draft_costs)
    return DraftingTokenWriter(runtime, sampler, lookup, gain, limit=limit, is_exact=tuning.is_exact)
