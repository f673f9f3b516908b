"""A GGUF model in this process, through llama.cpp."""

from __future__ import annotations

import bisect
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from core.chat_models.chat_template import ChatTemplate, PromptPart
from core.chat_models.gguf_header import read_gguf_header
from core.chat_models.llama_runtime import LlamaRuntime, grammar_of
from core.chat_models.reply_text import TURN_MARKERS, StopText, Utf8Pieces
from core.domain import ChatDelta, ChatMessage, ChatRequest, TokenUsage
from core.errors import ConfigError, ContextOverflowError, ModelError, StoppedError
from core.protocols import StopSignal

logger = logging.getLogger(__name__)

_SPARE_BYTES = 256 << 20  # left to everything else on the machine


class LlamaCppChatModel:
    """Runs a GGUF file on this computer.

    Making it reads only the file's header; `load` (or the first use) loads the weights. Not thread-safe: one owner.

    path             a GGUF file with a chat template
    context_tokens   wished context; never more than the model was trained for
    threads          0 takes all physical cores
    free_bytes       how much memory is free, asked before loading
    raises           ModelError in one sentence: missing, a folder, a Git-LFS pointer, old, damaged, no chat template
    """

    def __init__(
        self,
        path: Path | str,
        *,
        name: str = "",
        context_tokens: int = 4096,
        threads: int = 0,
        gpu_layers: int = 0,
        batch_tokens: int = 512,
        free_bytes: Callable[[], int] | None = None,
    ) -> None:
        self.path = Path(path)
        self.name = name or self.path.stem
        self.header = read_gguf_header(self.path)
        if not self.header.chat_template.strip():
            raise ModelError(
                f"{self.name!r} has no chat template, so it can't hold a conversation; choose an instruct or chat model"
            )
        self.context_tokens = min(context_tokens, self.header.trained_context_tokens or context_tokens)
        self._threads, self._gpu_layers, self._batch_tokens = threads, gpu_layers, batch_tokens
        self._free_bytes = free_bytes or _free_bytes
        self._runtime: LlamaRuntime | None = None

    @property
    def memory_bytes(self) -> int:
        """Estimate of what it takes once it is loaded."""
        return self.header.memory_bytes(self.context_tokens, batch_tokens=self._batch_tokens)

    def load(self) -> None:
        """Load the weights, unless they are there. raises ModelError (not enough memory, unknown architecture …)"""
        if self._runtime is not None:
            return
        self._check_memory()
        try:
            runtime = LlamaRuntime(
                str(self.path),
                context_tokens=self.context_tokens,
                threads=self._threads or _physical_cores(),
                gpu_layers=self._gpu_layers,
                batch_tokens=self._batch_tokens,
            )
        except ModelError as error:
            raise ModelError(f"the chat model {self.name!r} can't be loaded: {_plain(str(error))}") from error
        self._prepare(runtime)
        self._runtime = runtime

    def close(self) -> None:
        """Free its memory. It loads again when it is used again."""
        if self._runtime is not None:
            self._runtime.close()
            self._runtime = None

    # ── counting ─────────────────────────────────────────────────────────────

    def count_tokens(self, text: str) -> int:
        return len(self._loaded().tokenize(text))

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """(start, end) in characters of each token; tokens that are parts of one character share its place."""
        runtime = self._loaded()
        # Where in the text's bytes each character begins, and behind them the end.
        begins = [0, *itertools.accumulate(len(character.encode("utf-8", "replace")) for character in text)]
        spans, at = [], 0
        for token in runtime.tokenize(text):
            size = len(runtime.piece(token, special=True))
            # A tokenizer may put a blank in front, which isn't in the text.
            end = min(at + size, begins[-1])
            spans.append((bisect.bisect_right(begins, at) - 1, min(bisect.bisect_left(begins, end), len(text))))
            at = end
        return spans

    def count_prompt_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return len(self.prompt_tokens(messages))

    def reusable_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """How many tokens of this prompt the model has read already."""
        return self._loaded().kept_prefix(self.prompt_tokens(messages))

    def prompt_tokens(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The ids that are sent. Turn markers are special tokens only where the template wrote them."""
        runtime = self._loaded()
        ids = [token for part in self._template.render(messages) for token in self._part_tokens(runtime, part)]
        if runtime.adds_bos and runtime.bos >= 0 and ids[:1] != [runtime.bos]:
            ids.insert(0, runtime.bos)
        return ids

    # ── answering ────────────────────────────────────────────────────────────

    def stream(self, request: ChatRequest, stop: StopSignal | None = None) -> Iterator[ChatDelta]:
        """The first delta comes when the prompt has been read, without text; the last has finish_reason and usage.

        raises  ContextOverflowError when the prompt leaves no room for an answer; ConfigError for max_tokens below 1
        """
        if request.max_tokens < 1:
            raise ConfigError(f"max_tokens={request.max_tokens} must be at least 1")
        runtime = self._loaded()
        prompt = self.prompt_tokens(request.messages)
        room = self.context_tokens - len(prompt)
        if room < 1:
            raise ContextOverflowError(
                f"the prompt has {len(prompt)} tokens and the context of {self.name!r} only {self.context_tokens}; "
                "ask a shorter question, or raise FOOTNOTE_CONTEXT_TOKENS"
            )
        grammar = grammar_of(request.json_schema) if request.json_schema is not None else None
        try:
            reused = runtime.read(prompt, stop)
        except StoppedError:
            yield ChatDelta(finish_reason="stopped", token_usage=TokenUsage(len(prompt), 0))
            return
        yield ChatDelta(reused_tokens=reused)
        with runtime.sampler(
            temperature=request.temperature, top_p=request.top_p, seed=request.seed, grammar=grammar
        ) as sampler:
            for delta in self._written(runtime, sampler, request, min(room, request.max_tokens), stop):
                if delta.token_usage is not None:
                    usage = TokenUsage(len(prompt), delta.token_usage.output_tokens)
                    delta = ChatDelta(delta.text, delta.finish_reason, usage, reused)
                yield delta

    def _written(self, runtime, sampler, request: ChatRequest, limit: int, stop) -> Iterator[ChatDelta]:
        pieces, gate = Utf8Pieces(), StopText((*request.stop, *self._markers))
        reason = "length"
        count = 0
        while count < limit:
            token = sampler.next()
            if token in self._ending or runtime.ends(token):
                reason = "stop"
                break
            count += 1
            text = gate.feed(pieces.text(runtime.piece(token)))
            if text:
                yield ChatDelta(text)
            if gate.found:
                reason = "stop"
                break
            try:
                # Also the last one, so that a continued answer finds it in the context.
                runtime.append([token], stop)
            except StoppedError:
                reason = "stopped"
                break
        yield ChatDelta(gate.rest(), reason, TokenUsage(0, count))

    # ── inside ───────────────────────────────────────────────────────────────

    def _loaded(self) -> LlamaRuntime:
        self.load()
        if self._runtime is None:
            raise ModelError(f"the chat model {self.name!r} isn't loaded")
        return self._runtime

    def _prepare(self, runtime: LlamaRuntime) -> None:
        def written(token: int) -> str:
            return runtime.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

        self._template = ChatTemplate(
            self.header.chat_template, bos=written(runtime.bos), eos=written(runtime.eos), model=self.name
        )
        sample = self._template.render(
            [ChatMessage("user", "a"), ChatMessage("assistant", "b"), ChatMessage("user", "c")]
        )
        markers = {
            token
            for part in sample
            if part.is_template
            for token in runtime.tokenize(part.text, special=True)
            if runtime.is_control(token)
        }
        self._ending = frozenset(markers)
        self._markers = tuple(dict.fromkeys([*map(written, sorted(markers)), *TURN_MARKERS]))

    @staticmethod
    def _part_tokens(runtime: LlamaRuntime, part: PromptPart) -> list[int]:
        return runtime.tokenize(part.text, special=part.is_template)

    def _check_memory(self) -> None:
        need, free = self.memory_bytes, self._free_bytes()
        if need + _SPARE_BYTES <= free:
            return
        per_token = max(self.header.cache_bytes_per_token, 1)
        fits = (free - _SPARE_BYTES - self.header.memory_bytes(0, batch_tokens=self._batch_tokens)) // per_token
        advice = (
            f"set FOOTNOTE_CONTEXT_TOKENS to {fits // 512 * 512} or less" if fits >= 512 else "choose a smaller model"
        )
        raise ModelError(
            f"the chat model {self.name!r} with a context of {self.context_tokens} tokens needs about "
            f"{need / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; {advice}"
        )


def _plain(reason: str) -> str:
    if "unknown model architecture" in reason or "unknown architecture" in reason:
        kind = reason.rsplit(":", 1)[-1].strip()
        return f"unsupported architecture {kind}; choose another model, or a newer llama-cpp-python"
    return reason


def _physical_cores() -> int:
    import psutil

    return psutil.cpu_count(logical=False) or 1


def _free_bytes() -> int:
    import psutil

    free = psutil.virtual_memory().available
    # A container's limit (cgroup v2) may be lower than the machine's memory.
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text().strip()
    except OSError:
        return free
    return free if limit == "max" else min(free, int(limit) - int(used))
