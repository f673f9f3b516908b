"""One llama.cpp model and its context behind a dozen methods: load, tokens, decode, sample, free.

Calls the C functions themselves instead of `llama_cpp.Llama`, which redirects the whole process's output while it
loads, copies every row of logits, and can't be stopped while it reads a prompt. Knows nothing of chats, templates or
stop strings. Not thread-safe: one owner.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Mapping, Sequence

from core.errors import ConfigError, ModelError, StoppedError
from core.protocols import StopSignal

logger = logging.getLogger(__name__)

_ABORTED = 2  # llama_decode's return code after the abort callback said yes
_LOG_LEVELS = {3: logging.INFO, 4: logging.WARNING}
_log = threading.local()
_callbacks: list[object] = []  # ctypes callbacks must outlive the library's use of them


class LlamaRuntime:
    """A loaded model with a context of `context_tokens`.

    path            a GGUF file
    threads         for writing and for reading a prompt
    batch_tokens    tokens read in one go; larger needs more memory and isn't faster on a processor
    vocab_only      only the tokenizer and the metadata: fast, small, can't decode
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
    ) -> None:
        self._c = c = _library()
        self.batch_tokens = min(batch_tokens, context_tokens)
        self._stop: StopSignal | None = None
        self._context = self._model = None
        self._kept: list[int] = []  # what the context has read, in order

        parameters = c.llama_model_default_params()
        parameters.n_gpu_layers = 0x7FFFFFFF if gpu_layers < 0 else gpu_layers
        parameters.vocab_only = vocab_only
        # Reading the file instead of mapping it leaves 590 MB less resident once weights are repacked.
        parameters.load_mode = c.LLAMA_LOAD_MODE_NONE
        with _Captured() as said:
            self._model = c.llama_model_load_from_file(path.encode(), parameters)
        if not self._model:
            raise ModelError(said.reason() or "llama.cpp could not load it")
        self._vocab = c.llama_model_get_vocab(self._model)
        if not vocab_only:
            self._open_context(context_tokens, threads)

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
        if self._model:
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

    def kept_prefix(self, tokens: Sequence[int]) -> int:
        """How many of these tokens the context has read already; the last one is always read again."""
        same = 0
        for ours, theirs in zip(self._kept, tokens, strict=False):
            if ours != theirs:
                break
            same += 1
        return min(same, len(tokens) - 1)

    def read(self, tokens: Sequence[int], stop: StopSignal | None = None) -> int:
        """Make the context hold exactly these tokens; returns how many were kept from before.

        raises StoppedError when stop is set (noticed within milliseconds, also in the middle of a batch)
        """
        kept = self.kept_prefix(tokens)
        if not self._c.llama_memory_seq_rm(self._memory, 0, kept, -1):
            # Recurrent models can't forget a part.
            self._c.llama_memory_clear(self._memory, True)
            kept = 0
        self._kept = list(tokens[:kept])
        for start in range(kept, len(tokens), self.batch_tokens):
            self.append(tokens[start : start + self.batch_tokens], stop)
        return kept

    def append(self, tokens: Sequence[int], stop: StopSignal | None = None) -> None:
        """Read at most batch_tokens more."""
        if stop is not None and stop.is_set():
            raise StoppedError("stopped")
        batch = (ctypes.c_int32 * len(tokens))(*tokens)
        self._stop = stop
        try:
            code = self._c.llama_decode(self._context, self._c.llama_batch_get_one(batch, len(tokens)))
        finally:
            self._stop = None
        if code == 0:
            self._kept.extend(tokens)
            return
        self._c.llama_memory_seq_rm(self._memory, 0, len(self._kept), -1)
        if code == _ABORTED:
            raise StoppedError("stopped")
        raise ModelError(f"the chat model failed while reading (llama.cpp code {code}); the log has the details")

    def sampler(self, *, temperature: float, top_p: float, seed: int, grammar: str | None = None) -> _Sampler:
        return _Sampler(self._c, self._context, self._vocab, temperature, top_p, seed, grammar)


class _Sampler:
    """Picks the next token. A context manager, so that it is freed whatever happens."""

    def __init__(self, c, context, vocab, temperature: float, top_p: float, seed: int, grammar: str | None) -> None:
        self._c, self._context = c, context
        self._chain = c.llama_sampler_chain_init(c.llama_sampler_chain_default_params())
        if grammar is not None:
            made = c.llama_sampler_init_grammar(vocab, grammar.encode(), b"root")
            if not made:
                self.close()
                raise ConfigError("this JSON schema can't be turned into a grammar; use simpler types")
            c.llama_sampler_chain_add(self._chain, made)
        for part in _chain_of(c, temperature, top_p, seed):
            c.llama_sampler_chain_add(self._chain, part)

    def next(self) -> int:
        return self._c.llama_sampler_sample(self._chain, self._context, -1)

    def close(self) -> None:
        if self._chain:
            self._c.llama_sampler_free(self._chain)
        self._chain = None

    def __enter__(self) -> _Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _chain_of(c, temperature: float, top_p: float, seed: int) -> list:
    if temperature <= 0:
        return [c.llama_sampler_init_greedy()]
    return [
        c.llama_sampler_init_top_k(40),
        c.llama_sampler_init_top_p(top_p, 1),
        c.llama_sampler_init_temp(temperature),
        c.llama_sampler_init_dist(seed & 0xFFFFFFFF),
    ]


def grammar_of(schema: Mapping) -> str:
    """The GBNF grammar of a JSON schema. raises ConfigError for one that llama.cpp can't follow"""
    import json

    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        return json_schema_to_gbnf(json.dumps(schema))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"this JSON schema can't be turned into a grammar: {error}") from error


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
            if line.strip(". "):
                logger.log(_LOG_LEVELS.get(level, logging.DEBUG), "%s", line)

        _callbacks.append(write)
        c.llama_log_set(write, ctypes.c_void_p(0))
        c.llama_backend_init()
    return c
