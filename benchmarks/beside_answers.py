"""An answer that is written while 200 files are indexed: how much of its speed is left, and does indexing go on after?

    python -m benchmarks.beside_answers [--corpus FILE] [--files 200] [--chat-model NAME] [--repeats 3]

Each turn asks once while nothing else is done, and once in the middle of indexing; the answers' own tokens a second are
compared, from the first token to the last. Question and files are in different collections, so that the answer doesn't
wait for them. What the indexing threads and the parsing worker used of the processor while the answer was written is
told too.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Read by OpenMP and the tokenizers before they are imported.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.ingest import processor_times, spread, texts_of
from core.bootstrap import Services, build_services
from core.settings import Settings

_FACTS = "\n\n".join(
    f"The {name} of the old harbour was built in {1700 + 13 * number} by {name.title()} & Sons and still stands today."
    for number, name in enumerate("granary lighthouse windmill aqueduct observatory foundry cannery customs".split())
)
_QUESTION = "Repeat all sentences about the buildings of the old harbour, each with its year, word for word."
_INDEXING = ("indexing-read", "indexing-embed", "indexing-save", "indexing-heartbeat", "parsing worker")


def measure(
    corpus: Sequence[Path] | Path | None = None,
    files: int = 200,
    repeats: int = 3,
    chat_model: str = "qwen2.5-coder-1.5b",
    answer_tokens: int = 96,
) -> dict[str, Any]:
    """Tokens a second idle and beside indexing, their ratio, and how many files were indexed before and after.

    corpus  as in `benchmarks.ingest`
    """
    contents = spread(texts_of(corpus), files)
    idle, beside, turns = [], [], []
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        settings = Settings(
            data=Path(folder), chat_model=chat_model, max_answer_tokens=answer_tokens, refusal=False, memory_messages=0
        )
        services = build_services(settings)
        try:
            services.start()
            services.library.add_bytes("harbour.md", _FACTS.encode(), collection="asked")
            services.indexing.run_until_idle()
            _asked(services)  # loads the model
            for number in range(repeats):
                idle.append(_asked(services)["tokens_per_s"])
                turn = _asked_beside_indexing(services, contents, f"{number} ")
                turns.append(turn)
                beside.append(turn["tokens_per_s"])
        finally:
            services.close()
    ratio = statistics.median(beside) / statistics.median(idle)
    went_on = all(turn["state"] == "indexed to the end" for turn in turns)
    return {
        "chat_model": chat_model,
        "files": len(contents),
        "idle_tokens_per_s": idle,
        "beside_tokens_per_s": beside,
        "ratio": round(ratio, 3),
        "turns": turns,
        "must": "ratio of at least 0.5, and all files are indexed in the end",
        "ok": ratio >= 0.5 and went_on,
    }


def _asked(services: Services) -> dict[str, Any]:
    message = services.chat.answer_now(_QUESTION, collection="asked")
    if message.state not in ("complete", "cut") or not message.record.get("usage"):
        raise SystemExit(f"the question was not answered: {message.reason or message.text!r}")
    written, seconds = message.record["usage"]["output_tokens"], message.record["timings"]["writing"]
    return {"tokens": written, "tokens_per_s": round(written / max(seconds, 1e-3), 1)}


def _asked_beside_indexing(services: Services, contents: Sequence[str], begin: str) -> dict[str, Any]:
    batch = f"beside-{begin}"
    for number, content in enumerate(contents):
        services.library.add_bytes(f"{begin}{number:04d}.txt", (begin + content).encode(), batch=batch)
    while not _ended(services, batch):
        time.sleep(0.05)
    before, used = _ended(services, batch), processor_times()
    answer = _asked(services)
    after, now = _ended(services, batch), processor_times()
    deadline = time.monotonic() + 1800
    while _ended(services, batch) < len(contents) and time.monotonic() < deadline:
        time.sleep(0.2)
    return {
        **answer,
        "indexed_before": before,
        "indexed_with_the_answer": after,
        "indexing_processor_s": {name: round(now[name] - used[name], 2) for name in _INDEXING},
        "state": "indexed to the end" if _ended(services, batch) == len(contents) else "it didn't go on",
    }


def _ended(services: Services, batch: str) -> int:
    return sum(job.state == "done" for job in services.library.jobs(batch=batch))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside_answers", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="a corpus.jsonl; default: one that is made up here")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--chat-model", default="qwen2.5-coder-1.5b")
    options = parser.parse_args()
    found = measure(options.corpus, options.files, options.repeats, options.chat_model)
    for name, value in found.items():
        print(f"{name:24} {value}")
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
