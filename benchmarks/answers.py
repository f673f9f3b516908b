"""How often is the gold answer in the reply when the app itself searches and answers, with the real model?

    python benchmarks/answers.py --sets DIR --data DIR --out FILE.jsonl [--count 30]

DIR holds question sets (`xquad_en`, `squad2_en`). Each corpus gets a data folder of its own; `count` answerable
questions of each set, evenly spread, are asked in a conversation of their own. Score: a gold answer in the reply after
SQuAD's normalisation. Results are appended; what is there already isn't asked again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
sys.path.insert(0, str(Path(__file__).parent.parent))
sys.path.insert(0, str(Path(__file__).parent))

from prompts import normalised, rows_of

from core.bootstrap import build_services, pipeline_of
from core.evaluation.question_set import load_question_set
from core.evaluation.run import index_entries
from core.settings import Settings

SETS = ("xquad_en", "squad2_en")


def main() -> None:
    arguments = _arguments()
    done = {row["id"] for row in rows_of(arguments.out)}
    with arguments.out.open("a", encoding="utf-8") as out:
        for name in SETS:
            services = build_services(Settings(data=arguments.data / name))
            try:
                for row in _asked(services, arguments.sets / name, arguments.count, done):
                    out.write(json.dumps({"set": name, **row}, ensure_ascii=False) + "\n")
                    out.flush()
            finally:
                services.close()
    summarise(arguments.out)


def _asked(services, folder: Path, count: int, done: set[str]):
    files = (folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels.tsv")
    search = services.search
    entries = load_question_set(*files).entries
    index_entries(entries, search.documents, search.embedding_model, pipeline_of(services.settings))
    answerable = [row for row in rows_of(files[1]) if row.get("answerable", True) and row.get("answers")]
    for question in answerable[:: len(answerable) // count][:count]:
        if question["id"] in done:
            continue
        answer = services.chat.answer_now(question["text"])
        texts = [source.text for source in answer.sources]
        yield {
            "id": question["id"],
            "question": question["text"],
            "gold": question["answers"],
            "answer": answer.text,
            "hit": _holds([answer.text], question["answers"]),
            "gold_in_sources": _holds(texts, question["answers"]),
            "refused": bool(answer.record.get("refused")),
            "sources": len(texts),
            "timings": dict(answer.record.get("timings", {})),
            "usage": dict(answer.record.get("usage", {})),
        }


def _holds(texts: list[str], golds: list[str]) -> bool:
    return any(normalised(gold) in normalised(text) for gold in golds for text in texts)


def summarise(out: Path) -> None:
    rows = rows_of(out)
    for name in SETS:
        of_set = [row for row in rows if row["set"] == name]
        right = sum(row["hit"] for row in of_set)
        found = sum(row["gold_in_sources"] for row in of_set)
        refused = sum(row["refused"] for row in of_set)
        print(f"{name}: right {right} of {len(of_set)}; in the sources {found}; refused {refused}")
    for row in rows:
        if not row["hit"]:
            where = "in the sources" if row["gold_in_sources"] else "not found"
            print(f"  missed ({where}): {row['question']!r} gold {row['gold'][0]!r}: {row['answer'][:120]!r}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=30)
    return parser.parse_args()


if __name__ == "__main__":
    main()
