"""A GGUF model in this process, through llama.cpp."""

from __future__ import annotations

import bisect
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from core.chat_models.calibration import BATCHES, CALIBRATION_TOKENS, Calibration
from core.chat_models.chat_template import ChatTemplate
from core.chat_models.free_memory import free_bytes as free_memory_bytes
from core.chat_models.free_memory import refuse_too_large
from core.chat_models.gguf_header import file_fingerprint, read_gguf_header
from core.chat_models.llama_runtime import LlamaRuntime
from core.chat_models.llama_sampling import Sampler, grammar_of
from core.chat_models.prompt_tokens import PromptTokens
from core.chat_models.reply_text import TURN_MARKERS, StopText, Utf8Pieces
from core.chat_models.token_writer import TokenWriter, drafting_writer
from core.chat_models.tuning import READ_BATCH, Tuning
from core.domain import ChatDelta, ChatMessage, ChatRequest, TokenUsage
from core.errors import ConfigError, ContextOverflowError, ModelError, StoppedError
from core.protocols import StopSignal

logger = logging.getLogger(__name__)


class LlamaCppChatModel:
    """Runs a GGUF file on this computer.

    Making it reads only the file's header; `load` (or the first use) loads the weights. Not thread-safe: one owner.

    path             a GGUF file with a chat template
    context_tokens   wished context; never more than the model was trained for
    threads          0 takes what `tuning` says, without one all physical cores
    drafting         "off", "on", or "auto": where checking guessed tokens is exact and fast on this machine
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
        batch_tokens: int = READ_BATCH,
        drafting: str = "auto",
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
        self._drafting = drafting
        self._tuning: Tuning | None = None
        self._free_bytes = free_bytes or free_memory_bytes
        self._runtime: LlamaRuntime | None = None

    @property
    def memory_bytes(self) -> int:
        """Estimate of what it takes once it is loaded."""
        return self.header.memory_bytes(self.context_tokens, batch_tokens=self._most_batch_tokens)

    @property
    def _most_batch_tokens(self) -> int:
        """What the context is made for, and its memory counted with."""
        return self._tuning.batch_tokens if self._tuning else self._batch_tokens

    def load(self) -> None:
        """Load the weights, unless they are there. raises ModelError (not enough memory, unknown architecture …)"""
        if self._runtime is not None:
            return
        size = {"context_tokens": self.context_tokens, "batch_tokens": self._most_batch_tokens}
        refuse_too_large(self.header, self.name, free_bytes=self._free_bytes, **size)
        try:
            runtime = LlamaRuntime(
                str(self.path),
                threads=self._threads or _physical_cores(),
                gpu_layers=self._gpu_layers,
                **size,
            )
        except ModelError as error:
            raise ModelError(f"the chat model {self.name!r} can't be loaded: {_plain(str(error))}") from error
        with ExitStack() as undone:
            undone.callback(runtime.close)
            self._prepare(runtime)
            undone.pop_all()
        self._runtime = runtime
        self._apply_tuning()

    def close(self) -> None:
        """Free its memory. It loads again when it is used again."""
        if self._runtime is not None:
            self._runtime.close()
            self._runtime = None

    # ── this machine ─────────────────────────────────────────────────────────

    @cached_property
    def fingerprint(self) -> str:
        """Tells this model's file from every other."""
        return file_fingerprint(self.path)

    def tune(self, tuning: Tuning) -> None:
        """Run as it was found best here. A batch larger than the context was made for waits for the next load."""
        self._tuning = tuning
        self._apply_tuning()

    def calibrate(self, stop: StopSignal | None = None) -> Tuning:
        """Measure, seconds long, and run so from now on. What was read stays read: it has a context of its own.

        raises  StoppedError: nothing was found out, all is as before
        """
        cores = _physical_cores()
        beside = LlamaRuntime(
            str(self.path),
            context_tokens=CALIBRATION_TOKENS,
            threads=self._threads or cores,
            batch_tokens=max(BATCHES),
            model_of=self._loaded(),
        )
        try:
            self.tune(Calibration(beside, cores=cores, threads=self._threads).run(stop))
        finally:
            beside.close()
        return self._tuning

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

    def read_ahead(self, messages: Sequence[ChatMessage], *, at_most: int = 256, stop: StopSignal | None = None) -> int:
        """Read some of what a prompt begins with that has these messages and then a question; returns what is left.

        raises  StoppedError; what was read until then stays read
        """
        runtime = self._loaded()
        tokens = self._prompts.opening(messages)[: self.context_tokens - 1]
        known = runtime.known(tokens)
        if known < len(tokens):
            runtime.read(tokens[: known + at_most], stop)
        return max(0, len(tokens) - known - at_most)

    def prompt_tokens(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The ids that are sent. Turn markers are special tokens only where the template wrote them."""
        self.load()
        return self._prompts.of(messages)

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
            for delta in self._written(runtime, sampler, request, prompt, min(room, request.max_tokens), stop):
                if delta.token_usage is not None:
                    usage = TokenUsage(len(prompt), delta.token_usage.output_tokens)
                    delta = ChatDelta(delta.text, delta.finish_reason, usage, reused)
                yield delta

    def _written(
        self, runtime: LlamaRuntime, sampler: Sampler, request: ChatRequest, prompt: list[int], limit: int, stop
    ) -> Iterator[ChatDelta]:
        pieces, gate = Utf8Pieces(), StopText((*request.stop, *self._markers))
        writer = self._writer(runtime, sampler, request, prompt, limit)
        reason = "length"
        tokens: list[int] = []
        text = ""
        try:
            while len(tokens) < limit:
                token = writer.next()
                if token in self._ending or runtime.ends(token):
                    reason = "stop"
                    break
                tokens.append(token)
                shown = gate.feed(pieces.text(runtime.piece(token)))
                text += shown
                if shown:
                    yield ChatDelta(shown)
                if gate.found:
                    reason = "stop"
                    break
                try:
                    # Also the last one, so that a continued answer finds it in the context.
                    writer.take(token, stop)
                except StoppedError:
                    reason = "stopped"
                    break
        finally:
            writer.close()
        rest = gate.rest()
        if not gate.found:
            self._prompts.keep_written(request.messages, text + rest, tokens)
        yield ChatDelta(rest, reason, TokenUsage(0, len(tokens)))

    def _writer(self, runtime, sampler, request: ChatRequest, prompt: list[int], limit: int):
        """Drafts are checked by what the model would choose anyway: not by chance, and not within a grammar."""
        if request.temperature > 0 or request.json_schema is not None or not self._may_draft(runtime):
            return TokenWriter(runtime, sampler)
        return drafting_writer(runtime, sampler, self._tuning, prompt=prompt, endings=self._ending, limit=limit)

    def _may_draft(self, runtime: LlamaRuntime) -> bool:
        if self._drafting == "off" or not runtime.can_forget:
            return False
        return self._drafting == "on" or (self._tuning is not None and self._tuning.drafting_pays)

    # ── inside ───────────────────────────────────────────────────────────────

    def _loaded(self) -> LlamaRuntime:
        self.load()
        if self._runtime is None:
            raise ModelError(f"the chat model {self.name!r} isn't loaded")
        return self._runtime

    def _prepare(self, runtime: LlamaRuntime) -> None:
        def written(token: int) -> str:
            return runtime.piece(token, special=True).decode("utf-8", "replace") if token >= 0 else ""

        template = ChatTemplate(
            self.header.chat_template, bos=written(runtime.bos), eos=written(runtime.eos), model=self.name
        )
        self._prompts = PromptTokens(runtime, template)
        sample = template.render([ChatMessage("user", "a"), ChatMessage("assistant", "b"), ChatMessage("user", "c")])
        markers = {
            token
            for part in sample
            if part.is_template
            for token in runtime.tokenize(part.text, special=True)
            if runtime.is_control(token)
        }
        self._ending = frozenset(markers)
        self._markers = tuple(dict.fromkeys([*map(written, sorted(markers)), *TURN_MARKERS]))

    def _apply_tuning(self) -> None:
        if self._runtime is None:
            return
        tuning, cores = self._tuning, self._threads or _physical_cores()
        read, write = (tuning.read_threads, tuning.write_threads) if tuning and not self._threads else (cores, cores)
        self._runtime.set_threads(write=write, read=read)
        self._runtime.set_batch_tokens(self._most_batch_tokens)


def _plain(reason: str) -> str:
    if "unknown model architecture" in reason or "unknown architecture" in reason:
        kind = reason.rsplit(":", 1)[-1].strip()
        return f"unsupported architecture {kind}; choose another model, or a newer llama-cpp-python"
    return reason


def _physical_cores() -> int:
    import psutil

    return psutil.cpu_count(logical=False) or 1
