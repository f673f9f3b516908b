"""How long until the first word, against llama.cpp reading the same tokens?

    python -m benchmarks.answers_speed [--questions 8] [--chat-model NAME]

Questions go the app's whole way: search, prompt, reading, sampling, saving. Of each, the time to the first word less
the search is compared with bare `llama_decode` calls in a context of their own, over the same tokens, with the same
weights, threads and batches, right before or after it. What the app knew from before the bare context knows too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.generated_set import generated_set
from core.bootstrap import Services, build_services
from core.chat_models.llama_cpp import LlamaCppChatModel
from core.domain import ChatMessage
from core.records import MessageRecord
from core.services.tables import table
from core.settings import Settings

MOST_RATIO = 1.1
_READY_S = 300.0


def measure(*, questions: int = 8, chat_model: str | None = None) -> dict[str, Any]:
    """`ratio`: of all times to the first word less search, to all bare readings; `rows`: one for each question."""
    made = generated_set(entries=60, questions=60)
    with tempfile.TemporaryDirectory(prefix="footnote-speed-") as folder:
        services = opened(Path(folder), made.entries, chat_model)
        try:
            model, tuning = ready_model(services), services.chat.model_speed()
            with BareReading(model) as bare:
                rows = [_row(services, model, bare, one.text) for one in made.questions[:: _step(made, questions)]]
        finally:
            services.close()
    rows = [row for row in rows if row][:questions]
    ratio = sum(row["first_word_s"] for row in rows) / sum(row["llama_cpp_s"] for row in rows)
    return {
        "ratio": round(ratio, 3),
        "median_ratio": round(statistics.median(row["ratio"] for row in rows), 3),
        "at_most": MOST_RATIO,
        "ok": ratio <= MOST_RATIO,
        "tuning": tuning.to_json(),
        "rows": rows,
    }


def opened(folder: Path, entries, chat_model: str | None) -> Services:
    """The services with these entries as files, indexed, and the chat model loaded and measured."""
    settings = Settings(data=folder, **({"chat_model": chat_model} if chat_model else {}))
    services = build_services(settings)
    for entry in entries:
        services.library.add_bytes(f"{entry.id}.md", f"# {entry.title}\n\n{entry.text}".encode())
    services.start()
    services.indexing.run_until_idle()
    return services


def ready_model(services: Services) -> LlamaCppChatModel:
    """Once it was calibrated: what is measured then is how people have it from their second start on."""
    deadline = time.monotonic() + _READY_S
    while services.chat.model_speed() is None or not services.chat.is_resting():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the chat model wasn't ready within {_READY_S:.0f} s: {services.chat.model_state()}")
        time.sleep(0.2)
    return services.chat._model.get()  # the engine rests: nobody else uses it


class BareReading:
    """A context of llama.cpp's own on the same weights, and nothing around it."""

    def __init__(self, model: LlamaCppChatModel) -> None:
        import llama_cpp.llama_cpp as c

        self._c, self._runtime, self._tuning = c, model._loaded(), model._tuning
        parameters = c.llama_context_default_params()
        parameters.n_ctx = model.context_tokens
        parameters.n_batch = parameters.n_ubatch = self._runtime.batch_tokens
        parameters.n_threads = parameters.n_threads_batch = self._tuning.read_threads
        self._context = c.llama_init_from_model(self._runtime._model, parameters)

    def __enter__(self) -> BareReading:
        return self

    def __exit__(self, *_: object) -> None:
        self._c.llama_free(self._context)

    def seconds(self, tokens: list[int], known: int) -> float:
        """For reading all but the first `known` tokens, and computing what follows."""
        c = self._c
        c.llama_memory_clear(c.llama_get_memory(self._context), True)
        self._read(tokens[:known])
        begun = time.perf_counter()
        self._read(tokens[known:])
        c.llama_get_logits_ith(self._context, -1)
        return time.perf_counter() - begun

    def _read(self, tokens: list[int]) -> None:
        size = self._runtime.batch_tokens
        for start in range(0, len(tokens), size):
            part = tokens[start : start + size]
            array = (self._c.llama_token * len(part))(*part)
            self._c.llama_decode(self._context, self._c.llama_batch_get_one(array, len(part)))


def _row(services: Services, model: LlamaCppChatModel, bare: BareReading, question: str) -> dict[str, Any] | None:
    """None for a question that was answered without the model."""
    answer = services.chat.answer_now(question)
    while not services.chat.is_resting():
        time.sleep(0.02)
    if "usage" not in answer.record:
        return None
    tokens, known = _prompt(model, answer), answer.record["usage"]["reused_tokens"]
    alone = bare.seconds(tokens, known)
    timings = answer.record["timings"]
    ours = timings["first_token"] - timings["retrieval"]
    return {
        "tokens": len(tokens),
        "known": known,
        "first_word_s": round(ours, 3),
        "reading_s": timings["reading"],
        "llama_cpp_s": round(alone, 3),
        "ratio": round(ours / alone, 3),
    }


def _prompt(model: LlamaCppChatModel, answer: MessageRecord) -> list[int]:
    sent = answer.record["prompt"]["messages"]
    return model.prompt_tokens([ChatMessage(message["role"], message["text"]) for message in sent])


def _step(made, questions: int) -> int:
    """Some more than are wanted: a few may be answered without the model."""
    return max(1, len(made.questions) // (questions + 4))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=8)
    parser.add_argument("--chat-model")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(questions=options.questions, chat_model=options.chat_model)
    print(table(found["rows"], *found["rows"][0]))
    print(f"first word / llama.cpp: {found['ratio']} (at most {found['at_most']}); {found['tuning']}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
