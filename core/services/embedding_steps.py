"""Embedding what was read: each text once, in passes of similar length that are short enough to let an answer in."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from core.domain import EmbeddingRequest
from core.protocols import ComputeGate, DocumentStore, EmbeddingModel
from core.services.prepared import Prepared

# An answer waits no longer than one pass of the gate.
_PASS_S = 0.25
_LEAST_BYTES, _FIRST_BYTES, _MOST_BYTES = 4_096, 16_384, 131_072
# Vectors of texts that were embedded but may not be saved yet: more than can be on its way at once.
_RECENT_VECTORS = 8_192


class EmbeddingSteps:
    def __init__(self, documents: DocumentStore, model: EmbeddingModel, gate: ComputeGate) -> None:
        self._documents, self._model, self._gate = documents, model, gate
        self._recent: OrderedDict[str, np.ndarray] = OrderedDict()
        self._pass_bytes = _FIRST_BYTES

    def embed(self, prepared: Sequence[Prepared], closing: threading.Event) -> None:
        """Vectors that exist already are reused, the others made in passes of similar length.

        A stopped file's `vectors` stay None. raises ModelError, StoppedError when closing
        """
        for item in prepared:
            item.embedded = 0  # after a failure it may come again
        texts, owners = _texts_and_owners(prepared)
        vectors = self._known(texts)
        for key in vectors:
            _count_embedded(owners[key])
        missing = sorted((key for key in texts if key not in vectors), key=lambda key: -_size(texts[key]))
        while missing:
            count = self._fitting(texts[key] for key in missing)
            wanted = [key for key in missing[:count] if any(not owner.job.stop.is_set() for owner in owners[key])]
            del missing[:count]
            if wanted:
                vectors |= self._embedded(wanted, texts, owners, closing)
        for item in prepared:
            if not item.job.stop.is_set():
                item.vectors = self._stacked(item, vectors)

    def _known(self, texts: Mapping[str, str]) -> dict[str, np.ndarray]:
        known = {key: self._recent[key] for key in texts if key in self._recent}
        rest = [key for key in texts if key not in known]
        return known | self._documents.vectors_for(rest, self._model.model_id) if rest else known

    def _fitting(self, texts: Iterable[str]) -> int:
        """How many of them, longest first, make one pass: each counts as much as the longest, at least one."""
        longest = count = 0
        for text in texts:
            longest = longest or _size(text)
            if count and longest * (count + 1) > self._pass_bytes:
                break
            count += 1
        return count

    def _embedded(
        self,
        keys: Sequence[str],
        texts: Mapping[str, str],
        owners: Mapping[str, list[Prepared]],
        closing: threading.Event,
    ) -> dict[str, np.ndarray]:
        inputs = tuple(texts[key] for key in keys)
        input_type = "document" if "input_type" in self._model.supported_parameters() else None
        with self._gate.indexing(closing):
            begin = time.perf_counter()
            response = self._model.embed_request(EmbeddingRequest(inputs, input_type=input_type))
            self._adapt(time.perf_counter() - begin, sum(map(_size, inputs)))
        counts = response.token_counts or self._model.tokenizer.count_all(inputs)
        for key, tokens in zip(keys, counts, strict=True):
            owners[key][0].tokens += tokens
            _count_embedded(owners[key])
        for item in {id(owner): owner for key in keys for owner in owners[key]}.values():
            item.report_embedded()
        made = dict(zip(keys, response.vectors, strict=True))
        self._recent |= made
        while len(self._recent) > _RECENT_VECTORS:
            self._recent.popitem(last=False)
        return made

    def _adapt(self, seconds: float, size: int) -> None:
        """So much in one pass as this machine does in its time; halfway there each time, since others use it too."""
        if 2 * size >= self._pass_bytes:
            aim = size * _PASS_S / max(seconds, 1e-4)
            self._pass_bytes = int(min(max((self._pass_bytes + aim) / 2, _LEAST_BYTES), _MOST_BYTES))

    def _stacked(self, item: Prepared, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
        if not item.hashes:
            return np.empty((0, self._model.dimension), dtype=np.float32)
        return np.stack([vectors[key] for key in item.hashes])


def _size(text: str) -> int:
    """Bytes: of any script about four make a token."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _texts_and_owners(prepared: Sequence[Prepared]) -> tuple[dict[str, str], dict[str, list[Prepared]]]:
    """Each different text once, and the files that hold it, one entry for each time."""
    texts: dict[str, str] = {}
    owners: dict[str, list[Prepared]] = {}
    for item in prepared:
        for key, segment in zip(item.hashes, item.segments, strict=True):
            texts[key] = segment.text_to_embed
            owners.setdefault(key, []).append(item)
    return texts, owners


def _count_embedded(owners: Sequence[Prepared]) -> None:
    for owner in owners:
        owner.embedded += 1
