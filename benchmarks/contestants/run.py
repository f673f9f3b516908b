"""python -m benchmarks.contestants.run JOB.json RESULT.json: one contestant, one folder of files, its questions.

Standard library only, but for the contestant: it runs in the contestant's environment. The result holds seconds, what
was found and when each phase began and ended, so that whoever watches the process knows which phase took the memory.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEPTH = 10  # different files that a ranking holds
SEGMENTS = 30  # asked for at first; doubled where they are of fewer files
EMBEDDED_APART = 50  # questions whose embedding is timed alone

Ask = Callable[[str, int], list[str]]


def main(arguments: list[str]) -> int:
    job = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    try:
        module = importlib.import_module(f"benchmarks.contestants.{job['module']}")
        found = run(module.Contestant, job)
    except ModuleNotFoundError as error:
        found = {"missing": error.name}
    Path(arguments[1]).write_text(json.dumps(found), encoding="utf-8")
    return 0


def run(contestant_class: type, job: dict[str, Any]) -> dict[str, Any]:
    """Load, ingest, ask; times in seconds, of questions in milliseconds."""
    phases = Phases()
    with phases("load"):
        contestant = contestant_class(job["model"], **job.get("options", {}))
        contestant.embed("warm-up")
    try:
        with phases("ingest"):
            segments = contestant.ingest(Path(job["folder"]))
        result = {
            "segments": segments,
            "versions": {name: _version(name) for name in contestant.PACKAGES},
            "precision": contestant.precision,
            "threads": sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None,
            "default": contestant.default,
            "texts": _token_counts(job.get("tokenizer"), contestant.texts()),
        }
        if questions := job.get("questions"):
            with phases("keyword"):  # what only the keyword retriever needs and the default doesn't
                retrievers = contestant.retrievers()
            with phases("search"):
                result["search"] = _ask(retrievers, questions, segments)
                result["embed_ms"] = [_timed(contestant.embed, text)[1] for text in questions[:EMBEDDED_APART]]
    finally:
        contestant.close()
    return {**result, "phases": phases.spans}


class Phases:
    """Remembers when each phase began and ended, in seconds of `time.time()`."""

    def __init__(self) -> None:
        self.spans: dict[str, list[float]] = {}

    def __call__(self, name: str) -> Phases:
        self._name = name
        return self

    def __enter__(self) -> None:
        self.spans[self._name] = [time.time()]

    def __exit__(self, *unused: object) -> None:
        self.spans[self._name].append(time.time())


def _ask(retrievers: dict[str, Ask], questions: list[str], segments: int) -> dict[str, dict[str, list]]:
    """Every question of every retriever, in turns, so that all meet the same moments of the machine."""
    found: dict[str, dict[str, list]] = {name: {"ms": [], "rankings": []} for name in retrievers}
    for ask in retrievers.values():
        ask(questions[0], SEGMENTS)  # what loads, loads now
    for question in questions:
        for name, ask in retrievers.items():
            ranking, spent = ranked(ask, question, segments)
            found[name]["ms"].append(spent)
            found[name]["rankings"].append(ranking)
    return found


def ranked(ask: Ask, question: str, segments: int) -> tuple[list[str], float]:
    """(at most ten different files, best first; milliseconds of the first search).

    A file's place is its best segment's. More segments are asked for until they are of ten files, or all
    have been asked for.
    """
    limit, spent = SEGMENTS, None
    while True:
        names, this = _timed(ask, question, limit)
        spent = this if spent is None else spent
        ranking = list(dict.fromkeys(names))
        if len(ranking) >= DEPTH or limit >= segments:
            return ranking[:DEPTH], spent
        limit *= 2


def _timed(function: Callable, *arguments: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    found = function(*arguments)
    return found, 1000 * (time.perf_counter() - started)


def _token_counts(tokenizer: dict | None, texts: list[str]) -> dict[str, int]:
    """How many tokens were given to the model, and how many of them lay behind what it reads of a text."""
    if not tokenizer:
        return {}
    from tokenizers import Tokenizer

    reader = Tokenizer.from_file(tokenizer["file"])
    reader.no_truncation()
    reader.no_padding()
    counts = [len(found.ids) for found in reader.encode_batch(texts)]
    return {"tokens": sum(counts), "cut": sum(max(0, count - tokenizer["limit"]) for count in counts)}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
