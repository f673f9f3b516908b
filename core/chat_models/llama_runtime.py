"""One llama.cpp model and its context behind a dozen methods: load, tokens, decode, sample, free.

Calls the C functions themselves instead of `llama_cpp.Llama`, which redirects the whole process's output while it
loads, copies every row of logits, and can't be stopped while it reads a prompt. Knows nothing of chats, templates or
stop strings. Not thread-safe: one owner.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.chat_models.llama_sampling import Sampler
from core.errors import ModelError, StoppedError
from core.protocols import StopSignal

if TYPE_CHECKING:
    import numpy as np

logger = logging.getLogger(__name__)

_ABORTED = 2  # llama_decode's return code after the abort callback said yes
_LOG_LEVELS = {3: logging.INFO, 4: logging.WARNING}
_log = threading.local()
_callbacks: list[object] = []  # ctypes callbacks must outlive the library's use of them


class LlamaRuntime:
    """A loaded model with a context of `context_tokens`.

    path            a GGUF file
    threads         for writing and for reading a prompt; `set_threads` tells the two apart
    batch_tokens    tokens read in one go; larger needs more memory, and is faster on some processors only
    vocab_only      only the tokenizer and the metadata: fast, small, can't decode
    model_of        a runtime of the same file that outlives this one: its weights are used, only the context is new
    library         llama.cpp's functions; None: those that are installed
    raises          ModelError with llama.cpp's own reason
    """

    def __init__(
        self,
        path: str,
        *,
        context_tokens: int,
        threads: int,
        gpu_layers: int = 0,
        batch_tokens: int = 512,
        vocab_only: bool = False,
        model_of: LlamaRuntime | None = None,
        library: Any = None,
    ) -> None:
        self._c = c = library or _library()
        self.batch_tokens = self._most_batch_tokens = min(batch_tokens, context_tokens)
        self._stop: StopSignal | None = None
        self._context = self._model = None
        self._kept: list[int] = []  # what the context has read, in order

        self._owns_model = model_of is None
        self._model = model_of._model if model_of is not None else self._load(path, gpu_layers, vocab_only)
        self._vocab = c.llama_model_get_vocab(self._model)
        if not vocab_only:
            self._open_context(context_tokens, threads)

    def _load(self, path: str, gpu_layers: int, vocab_only: bool):
        c = self._c
        parameters = c.llama_model_default_params()
        parameters.n_gpu_layers = 0x7FFFFFFF if gpu_layers < 0 else gpu_layers
        parameters.vocab_only = vocab_only
        # Reading the file instead of mapping it leaves 590 MB less resident once weights are repacked.
        parameters.load_mode = c.LLAMA_LOAD_MODE_NONE
        with _Captured() as said:
            model = c.llama_model_load_from_file(path.encode(), parameters)
        if not model:
            raise ModelError(said.reason() or "llama.cpp could not load it")
        return model

    def _open_context(self, context_tokens: int, threads: int) -> None:
        c = self._c
        parameters = c.llama_context_default_params()
        parameters.n_ctx = context_tokens
        parameters.n_batch = parameters.n_ubatch = self.batch_tokens
        parameters.n_seq_max = 1
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.no_perf = True
        self._abort = c.ggml_abort_callback(lambda _: self._stop is not None and self._stop.is_set())
        with _Captured() as said:
            self._context = c.llama_init_from_model(self._model, parameters)
        if not self._context:
            self.close()
            raise ModelError(said.reason() or f"there isn't enough memory for a context of {context_tokens} tokens")
        c.llama_set_abort_callback(self._context, self._abort, None)
        self._memory = c.llama_get_memory(self._context)

    def close(self) -> None:
        """Free the context, then the model. Twice does no harm."""
        if self._context:
            self._c.llama_free(self._context)
        if self._model and self._owns_model:
            self._c.llama_model_free(self._model)
        self._context = self._model = None
        self._kept = []

    # ── tokens ───────────────────────────────────────────────────────────────

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Ids without BOS. Without `special`, text that looks like a special token stays plain text."""
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        buffer = (ctypes.c_int32 * room)()
        count = self._c.llama_tokenize(self._vocab, data, len(data), buffer, room, False, special)
        if count < 0:
            room = -count
            buffer = (ctypes.c_int32 * room)()
            count = self._c.llama_tokenize(self._vocab, data, len(data), buffer, room, False, special)
        return list(buffer[: max(count, 0)])

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of one token, which may be half a character. Special tokens are empty unless asked for."""
        buffer = ctypes.create_string_buffer(256)
        size = self._c.llama_token_to_piece(self._vocab, token, buffer, 256, 0, special)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = self._c.llama_token_to_piece(self._vocab, token, buffer, -size, 0, special)
        return buffer.raw[: max(size, 0)]

    def ends(self, token: int) -> bool:
        return self._c.llama_vocab_is_eog(self._vocab, token)

    def is_control(self, token: int) -> bool:
        return self._c.llama_vocab_is_control(self._vocab, token)

    @property
    def bos(self) -> int:
        """-1 where the model has none."""
        return self._c.llama_vocab_bos(self._vocab)

    @property
    def eos(self) -> int:
        return self._c.llama_vocab_eos(self._vocab)

    @property
    def adds_bos(self) -> bool:
        return self._c.llama_vocab_get_add_bos(self._vocab)

    # ── reading and writing ──────────────────────────────────────────────────

    def set_threads(self, *, write: int, read: int) -> None:
        self._c.llama_set_n_threads(self._context, write, read)

    def set_batch_tokens(self, batch_tokens: int) -> None:
        """Read in smaller steps from now on; never larger ones than the context was made for."""
        self.batch_tokens = max(1, min(batch_tokens, self._most_batch_tokens))

    @property
    def can_forget(self) -> bool:
        """Recurrent models can't forget their last tokens alone."""
        c = self._c
        return not (c.llama_model_is_recurrent(self._model) or c.llama_model_is_hybrid(self._model))

    @property
    def length(self) -> int:
        """Tokens in the context."""
        return len(self._kept)

    def known(self, tokens: Sequence[int]) -> int:
        """How many of these tokens, from the first on, the context has read already."""
        same = 0
        for ours, theirs in zip(self._kept, tokens, strict=False):
            if ours != theirs:
                break
            same += 1
        return same

    def kept_prefix(self, tokens: Sequence[int]) -> int:
        """How many needn't be read again; the last one always is, for what follows it."""
        return min(self.known(tokens), len(tokens) - 1)

    def read(self, tokens: Sequence[int], stop: StopSignal | None = None) -> int:
        """Make the context hold exactly these tokens; returns how many were kept from before.

        raises StoppedError when stop is set (noticed within milliseconds, also in the middle of a batch)
        """
        kept = self.forget_from(self.kept_prefix(tokens))
        for start in range(kept, len(tokens), self.batch_tokens):
            self.append(tokens[start : start + self.batch_tokens], stop)
        return kept

    def forget_from(self, length: int) -> int:
        """Keep so many tokens and forget what came after them; returns how many are left."""
        return self._cut_off(length) if length < len(self._kept) else len(self._kept)

    def append(self, tokens: Sequence[int], stop: StopSignal | None = None) -> None:
        """Read at most batch_tokens more; what may follow the last of them can be sampled then."""
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        self._decode(self._c.llama_batch_get_one(array, len(tokens)), tokens, stop)

    def append_each(self, tokens: Sequence[int], stop: StopSignal | None = None) -> None:
        """Read a few tokens at once; what may follow each of them can be sampled then, by its place."""
        batch = self._c.llama_batch_init(len(tokens), 0, 1)
        try:
            batch.n_tokens = len(tokens)
            for place, token in enumerate(tokens):
                batch.token[place], batch.pos[place] = token, len(self._kept) + place
                batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
                batch.logits[place] = 1
            self._decode(batch, tokens, stop)
        finally:
            self._c.llama_batch_free(batch)

    def logits(self, place: int = -1) -> np.ndarray:
        """Of the token at `place` of the last batch: a copy, float32, shape (vocabulary,)"""
        import numpy as np

        row = self._c.llama_get_logits_ith(self._context, place)
        return np.ctypeslib.as_array(row, (self._c.llama_vocab_n_tokens(self._vocab),)).copy()

    def _decode(self, batch, tokens: Sequence[int], stop: StopSignal | None) -> None:
        if stop is not None and stop.is_set():
            raise StoppedError("stopped")
        self._stop = _log.stop = stop
        try:
            code = self._c.llama_decode(self._context, batch)
        finally:
            self._stop = _log.stop = None
        if code == 0:
            self._kept.extend(tokens)
            return
        self._cut_off(len(self._kept))  # whatever of this batch was read already
        if code == _ABORTED:
            raise StoppedError("stopped")
        raise ModelError(f"the chat model failed while reading (llama.cpp code {code}); the log has the details")

    def _cut_off(self, length: int) -> int:
        """Take everything from this place on out of the context; returns how many tokens are left in it."""
        if not self._c.llama_memory_seq_rm(self._memory, 0, length, -1):
            # Recurrent models can't forget a part.
            self._c.llama_memory_clear(self._memory, True)
            length = 0
        del self._kept[length:]
        return length

    def sampler(self, *, temperature: float, top_p: float, seed: int, grammar: str | None = None) -> Sampler:
        return Sampler(self._c, self._context, self._vocab, temperature, top_p, seed, grammar)


class _Captured:
    """Keeps what llama.cpp says on this thread, so that a failure has its reason."""

    def __enter__(self) -> _Captured:
        self.lines: list[str] = []
        _log.lines = self.lines
        return self

    def __exit__(self, *_: object) -> None:
        _log.lines = None

    def reason(self) -> str:
        """The first error it printed, without the function's name in front."""
        for line in self.lines:
            text = line.strip()
            if text:
                return text.split(": ", 1)[1] if ": " in text and " " not in text.split(": ", 1)[0] else text
        return ""


def _library():
    import llama_cpp
    import llama_cpp.llama_cpp as c

    if not _callbacks:

        @llama_cpp.llama_log_callback
        def write(level: int, text: bytes, _: object) -> None:
            line = text.decode("utf-8", "replace").rstrip("\n")
            if level == 4 and getattr(_log, "lines", None) is not None:
                _log.lines.append(line)
            stop = getattr(_log, "stop", None)
            # Somebody wanted it to end: that it did is no news.
            shown = logging.DEBUG if stop is not None and stop.is_set() else _LOG_LEVELS.get(level, logging.DEBUG)
            if line.strip(". "):
                logger.log(shown, "%s", line)

        _callbacks.append(write)
        c.llama_log_set(write, ctypes.c_void_p(0))
        c.llama_backend_init()
    return c
