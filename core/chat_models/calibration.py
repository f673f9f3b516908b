"""A short measurement of how a loaded model runs best here: threads, batch size, and what checking drafts costs.

Reads some 600 tokens and writes a few dozen: seconds, once for a model and machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from core.chat_models.llama_runtime import LlamaRuntime
from core.chat_models.tuning import READ_BATCH, Tuning
from core.protocols import StopSignal

SAMPLE = (
    "The lighthouse keeper wrote down the wind, the height of the tide and the names of the ships that passed. "
    "On 14 March 1911 he counted 27 of them before noon; three were late, and one, the Aurora, never came back. "
)
CALIBRATION_TOKENS = 768  # context that it needs; over 512, from where llama.cpp computes one token in another way
_WARM_UP = 32  # the first tokens pay for pages that are touched for the first time
_FOR_THREADS = 96
BATCHES = (64, READ_BATCH, 128)
_CLEARLY = 1.1
_SLOPE = 1e-4  # a token costs about so much more for each one before it
_REPEATS = 6
_FEW = 3  # tokens at once


class Calibration:
    """`run` raises StoppedError as soon as `stop` is set.

    runtime  with an empty context of CALIBRATION_TOKENS
    cores    physical ones; tried are all and half of them
    threads  more than 0: a person has chosen; only this number is measured
    """

    def __init__(self, runtime: LlamaRuntime, *, cores: int, threads: int = 0) -> None:
        self._runtime = runtime
        self._candidates = [threads] if threads else sorted({max(1, cores), max(1, cores // 2)}, reverse=True)
        sample = runtime.tokenize(SAMPLE)
        wanted = _WARM_UP + len(self._candidates) * _FOR_THREADS + sum(BATCHES)
        self._tokens = (sample * (wanted // len(sample) + 1))[:wanted]

    def run(self, stop: StopSignal | None = None) -> Tuning:
        runtime = self._runtime
        self._seconds_per_token(_WARM_UP, self._candidates[0], stop)
        read_by = {n: self._seconds_per_token(_FOR_THREADS, n, stop) for n in self._candidates}
        reading = self._best(read_by)
        batch_by = {n: self._seconds_per_token(n, reading, stop) for n in BATCHES}
        best = min(batch_by.values())
        # Another batch may round an answer to other words, so it has to be worth it.
        batch = READ_BATCH if batch_by[READ_BATCH] <= best * _CLEARLY else min(batch_by, key=batch_by.get)
        write_by = {n: self._alone(n, stop) for n in self._candidates}
        writing = self._best(write_by)
        runtime.set_threads(write=writing, read=writing)
        single, pair, triple, is_exact = self._few_at_once(stop)
        return Tuning(
            reading, writing, batch, round(1 / best, 1), round(1 / write_by[writing], 1),
            round(pair / single, 2), round(triple / single, 2), is_exact,
        )  # fmt: skip

    def _best(self, cost_by_threads: dict[int, float]) -> int:
        """All cores, unless fewer are clearly faster: others may just have been busy."""
        most = max(cost_by_threads)
        best = min(cost_by_threads, key=cost_by_threads.__getitem__)
        return best if cost_by_threads[best] * _CLEARLY < cost_by_threads[most] else most

    def _seconds_per_token(self, count: int, threads: int, stop: StopSignal | None) -> float:
        """Of the next tokens of the sample, in one batch; as if nothing stood before them."""
        begin = self._runtime.length
        self._runtime.set_threads(write=threads, read=threads)
        begun = time.perf_counter()
        self._runtime.append(self._tokens[begin : begin + count], stop)
        seconds = time.perf_counter() - begun
        return seconds / count / (1 + _SLOPE * (begin + count / 2))

    def _alone(self, threads: int, stop: StopSignal | None) -> float:
        """Seconds for one token, as when writing."""
        self._runtime.set_threads(write=threads, read=threads)
        return self._fastest(lambda: self._runtime.append(self._tokens[:1], stop))

    def _few_at_once(self, stop: StopSignal | None) -> tuple[float, float, float, bool]:
        """(seconds for one, two and three tokens at once, whether three at once give the logits of one by one)"""
        few = self._tokens[:_FEW]
        seconds = [self._fastest(lambda n=n: self._runtime.append_each(few[:n], stop)) for n in range(1, len(few) + 1)]
        begin = self._runtime.length
        one_by_one = []
        for token in few:
            self._runtime.append([token], stop)
            one_by_one.append(self._runtime.logits())
        self._runtime.forget_from(begin)
        self._runtime.append_each(few, stop)
        is_exact = all((self._runtime.logits(n) == logits).all() for n, logits in enumerate(one_by_one))
        return *seconds, bool(is_exact)

    def _fastest(self, step: Callable[[], None]) -> float:
        begin, fastest = self._runtime.length, float("inf")
        for _ in range(_REPEATS):
            begun = time.perf_counter()
            step()
            fastest = min(fastest, time.perf_counter() - begun)
            self._runtime.forget_from(begin)
        return fastest
