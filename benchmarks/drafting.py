"""Does drafting from the prompt change the text, and does it make answers faster?

    python -m benchmarks.drafting [--questions FILE.jsonl] [--count 40] [--chat-model NAME]

40 questions whose answer quotes a passage and 40 ordinary ones, greedy, each answered in three ways in turn:

    alone     one token at a time, as with drafting off
    few       two or three at once, nothing guessed: what drafting costs where it never guesses right
    drafted   two or three at once, guessed from prompt and answer

`drafted` must say what `few` says, word for word. Whether it says what `alone` says depends on llama.cpp: where one
token is computed in another way than several (`is_exact` false), the roundings differ, and now and then a word. Own
questions: one JSON object a line with "kind" (quoting or ordinary), "passages" (a list of texts) and "question".
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.generated_set import generated_set
from core.chat_models.drafting import DraftGain, PromptLookup
from core.chat_models.llama_cpp import LlamaCppChatModel
from core.chat_models.opening import open_chat_model
from core.chat_models.token_writer import DraftingTokenWriter, TokenWriter
from core.chat_models.tuning import Tuning
from core.domain import ChatMessage, ChatRequest, Content, TextSegment
from core.rag.injectors import NumberedContentInjector
from core.services.tables import table
from core.services.turn_writing import RULES
from core.settings import Settings

KINDS = ("quoting", "ordinary")
_PASSAGES = 4
_TOKENS = 64
_QUOTING = (
    'Quote word for word the sentence of the passages that answers this: "{question}"',
    "Repeat the whole passage about {place}, word for word.",
)


def measure(
    *, count: int = 40, questions: Path | None = None, chat_model: str | None = None, max_tokens: int = _TOKENS
) -> dict[str, Any]:
    """`kinds`: for each kind of question the speeds, the ratios to `alone`, and how many texts are the same."""
    settings = Settings()
    model = open_chat_model(chat_model or settings.chat_model, settings.models)
    asked = _own(questions) if questions else made_up(count)
    try:
        tuning = model.calibrate()
        rows = [_row(model, tuning, one, max_tokens) for kind in KINDS for one in _of(asked, kind, count)]
    finally:
        model.close()
    return {
        "tuning": tuning.to_json(),
        "auto": "on" if tuning.drafting_pays else "off",
        "kinds": [_summary(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS],
    }


def made_up(count: int) -> list[dict[str, Any]]:
    """As many of each kind, about made-up places; the passage with the answer stands among three others."""
    made = generated_set(entries=60, questions=count)
    texts = {entry.id: f"{entry.title}\n{entry.text}" for entry in made.entries}
    titles, every = {entry.id: entry.title for entry in made.entries}, list(texts)
    asked = []
    for number, question in enumerate(made.questions):
        right = next(iter(question.relevant))
        others = [one for one in (every[(number * 7 + step) % len(every)] for step in range(_PASSAGES)) if one != right]
        passages = [texts[one] for one in [*others[: number % _PASSAGES], right, *others[number % _PASSAGES :]]]
        quoting = _QUOTING[number % 2].format(question=question.text, place=titles[right])
        shared = {"passages": passages[:_PASSAGES]}
        asked += [{"kind": "quoting", "question": quoting, **shared}]
        asked += [{"kind": "ordinary", "question": question.text, **shared}]
    return asked


def _own(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _of(asked: list[dict[str, Any]], kind: str, count: int) -> list[dict[str, Any]]:
    return [one for one in asked if one["kind"] == kind][:count]


def _row(model: LlamaCppChatModel, tuning: Tuning, asked: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    contents = [Content(TextSegment(text), id=str(number)) for number, text in enumerate(asked["passages"])]
    messages = (
        ChatMessage("system", RULES),
        ChatMessage("user", NumberedContentInjector().inject(contents, asked["question"])),
    )
    request = ChatRequest(messages, max_tokens=max_tokens)
    list(model.stream(ChatRequest(messages, max_tokens=1)))  # read once, so that all three find the same context
    said = {name: _said(model, request, way(tuning)) for name, way in WAYS.items()}
    return {"kind": asked["kind"], **{name: {"text": text, "tokens": n, "s": s} for name, (text, n, s) in said.items()}}


def _said(model: LlamaCppChatModel, request: ChatRequest, writer: Callable) -> tuple[str, int, float]:
    """(text, tokens, seconds of writing)"""
    with _writing(model, writer):
        stream = model.stream(request)
        next(stream)
        begun = time.perf_counter()
        deltas = list(stream)
        seconds = time.perf_counter() - begun
    return "".join(delta.text for delta in deltas), deltas[-1].token_usage.output_tokens, seconds


@contextmanager
def _writing(model: LlamaCppChatModel, writer: Callable) -> Iterator[None]:
    """This model writes so meanwhile."""
    model._writer = writer
    try:
        yield
    finally:
        del model._writer


def _alone(tuning: Tuning) -> Callable:
    return lambda runtime, sampler, request, prompt, limit: TokenWriter(runtime, sampler)


def _few(tuning: Tuning) -> Callable:
    return lambda runtime, sampler, request, prompt, limit: DraftingTokenWriter(
        runtime, sampler, PromptLookup([]), DraftGain(9.0, 9.0), limit=limit, is_exact=tuning.is_exact
    )


def _drafted(tuning: Tuning) -> Callable:
    return lambda runtime, sampler, request, prompt, limit: DraftingTokenWriter(
        runtime,
        sampler,
        PromptLookup(prompt),
        DraftGain(*tuning.draft_costs),
        limit=limit,
        is_exact=tuning.is_exact,
    )


WAYS = {"alone": _alone, "few": _few, "drafted": _drafted}


def _summary(kind: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    speed = {name: sum(row[name]["tokens"] for row in rows) / sum(row[name]["s"] for row in rows) for name in WAYS}
    return {
        "kind": kind,
        "questions": len(rows),
        "same_as_few": sum(row["drafted"]["text"] == row["few"]["text"] for row in rows),
        "same_as_alone": sum(row["drafted"]["text"] == row["alone"]["text"] for row in rows),
        **{f"{name}_per_s": round(value, 1) for name, value in speed.items()},
        "few_ratio": round(speed["few"] / speed["alone"], 2),
        "drafted_ratio": round(speed["drafted"] / speed["alone"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--max-tokens", type=int, default=_TOKENS)
    parser.add_argument("--chat-model")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(
        count=options.count, questions=options.questions, chat_model=options.chat_model, max_tokens=options.max_tokens
    )
    print(table(found["kinds"], *found["kinds"][0]))
    print(f"{found['tuning']}\nso drafting 'auto' is {found['auto']} here")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
