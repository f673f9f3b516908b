"""Question sets as files that every contestant can read, and rankings of file names as figures.

One entry of a corpus is one file, its title in front as a heading. The scoring is that of `cli.py evaluate`
(`core.evaluation.metrics`), the same function for all.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import ConfigError
from core.evaluation.metrics import ndcg_at, recall_at
from core.evaluation.question_set import Entry, Question, load_question_set

FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")
_LINES_OF_A_PAGE, _COLUMNS = 55, 95


@dataclass(frozen=True)
class BenchSet:
    name: str
    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]

    @property
    def characters(self) -> int:
        return sum(len(entry.as_markdown()) for entry in self.entries)


def load_sets(folder: Path, names: Sequence[str] = (), every: int = 1, most: int = 500) -> list[BenchSet]:
    """The sets in a folder, by name: those named, or all.

    every   take each n-th question only
    most    questions of a set; where it has more, each n-th is taken so that they are fewer
    raises  ConfigError: no set there, or one that can't be read
    """
    places = folder.iterdir() if folder.is_dir() else ()
    found = sorted(path.name for path in places if all((path / file).is_file() for file in FILES))
    for name in names:
        if name not in found:
            raise ConfigError(f"there is no question set {name!r} in {folder}; there are {', '.join(found) or 'none'}")
    if not found:
        raise ConfigError(f"{folder} holds no question set: a folder with {', '.join(FILES)}")
    sets = []
    for name in names or found:
        one = load_question_set(*(folder / name / file for file in FILES))
        step = max(every, math.ceil(len(one.questions) / most))
        sets.append(BenchSet(name, one.entries, one.questions[::step]))
    return sets


def write_entries(entries: Sequence[Entry], folder: Path) -> dict[str, str]:
    """One file an entry: Markdown where it has a title, else text. Returns file name -> entry id."""
    names = {}
    for number, entry in enumerate(entries):
        name = f"{number:05}.{'md' if entry.title else 'txt'}"
        (folder / name).write_text(entry.as_markdown(), encoding="utf-8")
        names[name] = entry.id
    return names


def write_texts(entries: Sequence[Entry], folder: Path, count: int) -> int:
    """All entries in `count` text files, in their order; returns the characters written."""
    texts = _grouped(entries, count)
    for number, text in enumerate(texts):
        (folder / f"{number:05}.txt").write_text(text, encoding="utf-8")
    return sum(map(len, texts))


def write_pdfs(entries: Sequence[Entry], folder: Path, count: int) -> int:
    """The same as PDF, in a font of Latin letters only; returns the characters written."""
    import pymupdf

    texts = _grouped(entries, count)
    for number, text in enumerate(texts):
        lines = [line for block in text.split("\n") for line in textwrap.wrap(block, _COLUMNS) or [""]]
        with pymupdf.open() as document:
            for start in range(0, len(lines), _LINES_OF_A_PAGE):
                document.new_page().insert_text((50, 50), lines[start : start + _LINES_OF_A_PAGE], fontsize=10)
            document.save(folder / f"{number:05}.pdf")
    return sum(map(len, texts))


def _grouped(entries: Sequence[Entry], count: int) -> list[str]:
    count = min(count, len(entries))
    bounds = [len(entries) * number // count for number in range(count + 1)]
    return [
        "\n\n".join(entry.as_markdown() for entry in entries[start:end]) for start, end in itertools.pairwise(bounds)
    ]


def scores(
    rankings: Sequence[Sequence[str]], questions: Sequence[Question], entry_ids: dict[str, str]
) -> dict[str, float]:
    """Means over the questions: recall@5 and nDCG@10 of rankings of file names, best first.

    `scores([["b.txt", "a.txt"]], [Question("q", "?", {"1": 1.0})], {"a.txt": "1", "b.txt": "2"})` gives recall 1.0 and
    nDCG 1 / log2(3).
    """
    recall = ndcg = 0.0
    for ranking, question in zip(rankings, questions, strict=True):
        ids = [entry_ids[name] for name in ranking]
        recall += recall_at(5, ids, question.relevant)
        ndcg += ndcg_at(10, ids, question.relevant)
    return {"recall@5": recall / len(questions), "ndcg@10": ndcg / len(questions)}
