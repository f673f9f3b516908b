"""How many tokens of a follow-up needn't be read again, with questions kept as typed and with their passages?

    python -m benchmarks.memory [--turns 5] [--chat-model NAME]

One conversation of each kind, asked at leisure (the model reads ahead in between) and, as typed, also without a pause.
`needed`: with passages the whole previous prompt and answer; as typed what the prompt begins with, rules and turns; and
asked without a pause the turns before the last one. A turn that a trim of memory removed makes `needed` smaller.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.answers_speed import opened, ready_model
from benchmarks.generated_set import generated_set
from core.bootstrap import Services
from core.domain import ChatMessage
from core.records import MESSAGE_ENDED, MessageRecord
from core.services.tables import table

KINDS = (("passages", True, True), ("as typed", False, True), ("as typed, at once", False, False))


def measure(*, turns: int = 5, chat_model: str | None = None) -> dict[str, Any]:
    """`rows`: one for each turn of each kind; `ok`: every follow-up knew what it needed."""
    made = generated_set(entries=60, questions=60)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="footnote-memory-") as folder:
        services = opened(Path(folder), made.entries, chat_model)
        try:
            model = ready_model(services)
            for number, (kind, augmented, rests) in enumerate(KINDS):
                asked = [one.text for one in made.questions[number * 20 :: 3][:turns]]
                answers = _conversation(services, asked, augmented, rests)
                rows += _rows(kind, model, answers, augmented, rests)
        finally:
            services.close()
    return {"ok": all(row["ok"] for row in rows), "rows": rows}


def _conversation(services: Services, asked: list[str], augmented: bool, rests: bool) -> list[MessageRecord]:
    conversation = services.chat.create({"store_retrieved_content": augmented}).id
    if rests:
        answers = []
        for text in asked:
            answers.append(services.chat.answer_now(text, conversation_id=conversation))
            _wait(services.chat.is_resting)
        return answers
    waiting = [services.chat.ask(conversation, text, request_key=text)[1] for text in asked]
    _wait(lambda: all(services.chat.message(answer.id).state in MESSAGE_ENDED for answer in waiting))
    return [services.chat.message(answer.id) for answer in waiting]


def _rows(kind: str, model, answers: list[MessageRecord], augmented: bool, rests: bool) -> list[dict[str, Any]]:
    rows = []
    written = [answer for answer in answers if "usage" in answer.record]
    for turn, answer in enumerate(written):
        usage = answer.record["usage"]
        sent = [ChatMessage(one["role"], one["text"]) for one in answer.record["prompt"]["messages"]]
        before = sent[:-1] if rests else sent[:-3]
        needed = len(model._prompts.opening(before)) if before else 0
        if augmented and turn and written[turn - 1].memory_text and not answer.record["cut"]:
            last = written[turn - 1].record["usage"]
            needed = last["input_tokens"] + last["output_tokens"]
        rows.append(
            {
                "memory": kind,
                "turn": turn + 1,
                "prompt": usage["input_tokens"],
                "known": usage["reused_tokens"],
                "needed": needed if turn else 0,
                "read": usage["input_tokens"] - usage["reused_tokens"],
                "first_word_s": answer.record["timings"]["first_token"],
                "ok": not turn or usage["reused_tokens"] >= needed,
            }
        )
    return rows


def _wait(is_true) -> None:
    while not is_true():
        time.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--chat-model")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measure(turns=options.turns, chat_model=options.chat_model)
    print(table(found["rows"], *found["rows"][0]))
    print("every follow-up knew what it needed" if found["ok"] else "a follow-up read more than it needed")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
