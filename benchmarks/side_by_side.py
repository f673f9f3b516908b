"""Footnote beside LangChain, LlamaIndex and Haystack: the same files, the same model, the same questions.

Each contestant runs in a process of its own, one at a time. Ingestion is repeated in turns, so that a slow minute of
the machine meets all. What can't run is one line in the tables.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.contestants import ENTRANTS, Entrant
from benchmarks.question_files import BenchSet, scores, write_entries, write_pdfs, write_texts
from benchmarks.watched_process import WatchedProcess
from core import model_catalogue
from core.settings import Settings

ROOT = Path(__file__).parent.parent
TIMEOUT_S = 7200.0
PDF_SHARE = 4  # one in so many entries: reading PDF is to be seen, not the same embedding once more
# Set for Footnote by its Makefile; the others run as they come.
OF_FOOTNOTE = {"GOMP_SPINCOUNT": "1000", "TOKENIZERS_PARALLELISM": "false"}
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}

Row = dict[str, Any]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Contest:
    """Who takes part and with what. `peer_python`: None where the peers' environment can't be had."""

    peer_python: Path | None
    model: str = model_catalogue.DEFAULT_EMBEDDING_MODEL
    entrants: Sequence[Entrant] = ENTRANTS
    say: Say = field(default=lambda sentence: None)

    def run(self, entrant: Entrant, folder: Path, questions: Sequence[str] = ()) -> Row:
        """One contestant's result (`benchmarks.contestants.run`) with `seconds` and `peak_mb` of each phase.

        What can't run comes back as {"failed": one line}.
        """
        python = self.peer_python if entrant.is_peer else Path(sys.executable)
        if python is None:
            return {"failed": "its environment is missing"}
        with tempfile.TemporaryDirectory(prefix="bench-") as kept:
            work = Path(kept)
            job = self._job(entrant, folder, questions)
            (work / "job.json").write_text(json.dumps(job), encoding="utf-8")
            command = [
                str(python),
                "-m",
                "benchmarks.contestants.run",
                str(work / "job.json"),
                str(work / "found.json"),
            ]
            watched = WatchedProcess(command, cwd=ROOT, env=environment(entrant), log=work / "log.txt")
            if wrong := watched.wait(TIMEOUT_S):
                return {"failed": wrong[:120]}
            found = json.loads((work / "found.json").read_text(encoding="utf-8"))
        if "missing" in found:
            return {"failed": f"the package {found['missing']} is missing"}
        spans = found.pop("phases")
        found["seconds"] = {name: end - start for name, (start, end) in spans.items()}
        found["peak_mb"] = {name: watched.peak_mb(span) for name, span in spans.items()}
        return found

    def _job(self, entrant: Entrant, folder: Path, questions: Sequence[str]) -> Row:
        model_folder = self._model_folder()
        return {
            "module": entrant.module,
            "options": dict(entrant.options),
            "model": str(model_folder) if entrant.is_peer else self.model,
            "tokenizer": _tokenizer(model_folder),
            "folder": str(folder),
            "questions": list(questions),
        }

    def _model_folder(self) -> Path | None:
        if self.model == "hashing":  # of the tests; no model files
            return None
        return model_catalogue.locate(self.model, Settings.load().models, kind="embedding")


def environment(entrant: Entrant) -> dict[str, str]:
    """The variables of a contestant's process: no settings of whoever runs this, for peers nothing of Footnote's."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in OF_FOOTNOTE and not (name.startswith("FOOTNOTE_") and name != "FOOTNOTE_MODELS")
    }
    return {**kept, **OFFLINE, **({} if entrant.is_peer else OF_FOOTNOTE)}


def ingest(contest: Contest, one: BenchSet, *, texts: int, pdfs: int, repeats: int) -> dict[str, list[Row]]:
    """A set's texts as files, from bytes to searchable: "text" and "pdf" -> a row a contestant, Footnote's first.

    The PDF files hold a quarter of the entries.
    """
    found = {}
    for kind, write, count, step in (("text", write_texts, texts, 1), ("pdf", write_pdfs, pdfs, PDF_SHARE)):
        if not count:
            continue
        with tempfile.TemporaryDirectory(prefix="files-") as kept:
            characters = write(one.entries[::step], Path(kept), count)
            results: dict[str, list[Row]] = {entrant.name: [] for entrant in contest.entrants}
            for repeat in range(repeats):
                for entrant in _in_turn(contest.entrants, repeat):
                    contest.say(f"ingest of {count} {kind} files, {repeat + 1} of {repeats}: {entrant.name}")
                    results[entrant.name].append(contest.run(entrant, Path(kept)))
        found[kind] = [_ingest_row(name, runs, characters) for name, runs in results.items()]
    return found


def _in_turn(entrants: Sequence[Entrant], repeat: int) -> Iterable[Entrant]:
    start = repeat % len(entrants)
    return [*entrants[start:], *entrants[:start]]


def _ingest_row(name: str, runs: Sequence[Row], characters: int) -> Row:
    if failed := next((run["failed"] for run in runs if "failed" in run), ""):
        return {"contestant": name, "failed": failed}
    seconds = sorted(run["seconds"]["ingest"] for run in runs)
    median = statistics.median(seconds)
    texts = runs[0]["texts"]
    return {
        "contestant": name,
        "precision": runs[0]["precision"],
        "threads": runs[0]["threads"],
        "seconds": median,
        "lowest": seconds[0],
        "highest": seconds[-1],
        "load_s": statistics.median(run["seconds"]["load"] for run in runs),
        "segments": runs[0]["segments"],
        "characters_per_s": characters / median,
        "tokens_read": texts["tokens"] - texts["cut"] if texts else None,
        "cut_share": texts["cut"] / texts["tokens"] if texts else None,
        "peak_mb": max((run["peak_mb"]["ingest"] or 0.0) for run in runs),
        "versions": runs[0]["versions"],
    }


def search(contest: Contest, one: BenchSet) -> list[Row]:
    """A set's entries as files, all its questions of all retrievers: a row for each contestant and retriever."""
    rows: list[Row] = []
    questions = [question.text for question in one.questions]
    with tempfile.TemporaryDirectory(prefix="files-") as kept:
        entry_ids = write_entries(one.entries, Path(kept))
        for entrant in contest.entrants:
            contest.say(f"{one.name}, {len(entry_ids)} files, {len(questions)} questions: {entrant.name}")
            found = contest.run(entrant, Path(kept), questions)
            if "failed" in found:
                rows.append({"set": one.name, "contestant": entrant.name, "failed": found["failed"]})
                continue
            for retriever, asked in found["search"].items():
                rows.append(_search_row(one, entrant, retriever, asked, found, entry_ids))
    return rows


def _search_row(
    one: BenchSet, entrant: Entrant, retriever: str, asked: Row, found: Row, entry_ids: dict[str, str]
) -> Row:
    times = sorted(asked["ms"])
    return {
        "set": one.name,
        "contestant": entrant.name,
        "retriever": retriever,
        "is_default": retriever == found["default"],
        "precision": found["precision"],
        "threads": found["threads"],
        **scores(asked["rankings"], one.questions, entry_ids),
        "median_ms": statistics.median(times),
        "p95_ms": times[min(len(times) - 1, int(0.95 * len(times)))],
        "embedding_ms": None if retriever == "keyword" else statistics.median(found["embed_ms"]),
        "questions": len(times),
        "ingest_s": found["seconds"]["ingest"],
        "keyword_index_s": found["seconds"]["keyword"],
        "segments": found["segments"],
        "peak_ingest_mb": found["peak_mb"]["ingest"],
        "peak_search_mb": found["peak_mb"]["search"],
        "versions": found["versions"],
    }


def _tokenizer(model_folder: Path | None) -> Row | None:
    """The model's tokenizer file, and how many tokens of a text the model reads."""
    if model_folder is None or not (model_folder / "tokenizer.json").is_file():
        return None
    config = model_folder / "sentence_bert_config.json"
    limit = json.loads(config.read_text(encoding="utf-8")).get("max_seq_length") if config.is_file() else None
    return {"file": str(model_folder / "tokenizer.json"), "limit": limit or 512}
