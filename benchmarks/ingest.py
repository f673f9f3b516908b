"""Ingestion against plain `SentenceTransformer.encode`: how much of the embedding model's speed is left.

    python -m benchmarks.ingest [--corpus FILE] [--files 200] [--repeats 3]

The corpus' texts are spread over so many text files. They are ingested through `build_services` in a fresh data folder,
from the bytes to the first search, with the models loaded before; then the same segments are encoded by the library
alone, at the same precision and with the same threads, in the same process. Both take turns; medians are compared. The
profile is the processor time of each of Footnote's threads and of its parsing worker.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

# Read by OpenMP and the tokenizers before they are imported.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import psutil

from benchmarks.generated_set import generated_set
from core import model_catalogue
from core.bootstrap import Services, build_services
from core.settings import Settings

_GENERATED_ENTRIES = 1_600
_ENCODE_BATCH = 32  # the library's own


def measure(
    corpus: Sequence[Path] | Path | None = None,
    files: int = 200,
    repeats: int = 3,
    model: str = "all-minilm-l6-v2",
    precision: str = "auto",
) -> dict[str, Any]:
    """Segments a second of both, their ratio, and where the processor's time went.

    corpus  a corpus.jsonl, or the folder of one, or several of these, of which the first is taken; None: made up here
    """
    contents = spread(texts_of(corpus), files)
    with tempfile.TemporaryDirectory(prefix="ingest-") as folder:
        settings = Settings(data=Path(folder) / "first", embedding_model=model, embedding_precision=precision)
        ingested, encoded, profile, encoding_s = [], [], Counter(), 0.0
        with opened(settings) as services:
            segments = ingest(services, contents[:2])[1]
            precision = "bfloat16" if "bfloat16" in services.search.embedding_model.model_id else "float32"
        plain = _plain_model(model, settings.models, precision)
        plain.encode(segments, batch_size=_ENCODE_BATCH, show_progress_bar=False)
        for number in range(repeats):
            with opened(settings.model_copy(update={"data": Path(folder) / str(number)})) as services:
                before = processor_times()
                seconds, segments = ingest(services, contents)
                profile.update({name: used - before[name] for name, used in processor_times().items()})
            ingested.append(len(segments) / seconds)
            begin, used = time.perf_counter(), time.process_time()
            plain.encode(segments, batch_size=_ENCODE_BATCH, show_progress_bar=False)
            encoded.append(len(segments) / (time.perf_counter() - begin))
            encoding_s += time.process_time() - used
    speed, limit = statistics.median(ingested), statistics.median(encoded)
    return {
        "files": len(contents),
        "characters": sum(map(len, contents)),
        "segments": len(segments),
        "precision": precision,
        "ingest_segments_per_s": round(speed, 1),
        "encode_segments_per_s": round(limit, 1),
        "ratio": round(speed / limit, 3),
        "ratios": [round(one / other, 3) for one, other in zip(ingested, encoded, strict=True)],
        "must": "ratio of at least 0.85",
        "ok": speed >= 0.85 * limit,
        "seconds": round(len(segments) / speed, 2),
        # On a busy machine this says more than the times, with OMP_NUM_THREADS=1.
        "processor_ratio": round(encoding_s / profile.total(), 3),
        "encode_processor_seconds": round(encoding_s / repeats, 2),
        "processor_seconds": {name: round(used / repeats, 2) for name, used in profile.most_common() if used > 0.01},
    }


def texts_of(corpus: Sequence[Path] | Path | None) -> list[str]:
    if corpus is None or corpus == []:
        return [entry.text for entry in generated_set(entries=_GENERATED_ENTRIES).entries]
    path = Path(corpus) if isinstance(corpus, str | Path) else Path(corpus[0])
    path = path / "corpus.jsonl" if path.is_dir() else path
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return ["\n\n".join(filter(None, [row.get("title", ""), row["text"]])) for row in rows]


def spread(texts: Sequence[str], files: int) -> list[str]:
    """So many files, each with its share of the texts, in order."""
    count = min(files, len(texts))
    places = [round(number * len(texts) / count) for number in range(count + 1)]
    return ["\n\n".join(texts[start:end]) for start, end in pairwise(places)]


@contextmanager
def opened(settings: Settings) -> Iterator[Services]:
    """Services that are started, with embedding model and parsing worker warm; the chat model is never loaded."""
    services = build_services(settings)
    try:
        services.indexing.start()
        services.search.embedding_model.embed("warm-up")
        ingest(services, ["A first file, so that all is loaded."])
        yield services
    finally:
        services.close()


def ingest(services: Services, contents: Sequence[str]) -> tuple[float, list[str]]:
    """Seconds from the bytes to the first search, and the segments that came out of it."""
    known = {document.id for document in services.library.documents()}
    begin = time.perf_counter()
    for number, content in enumerate(contents):
        services.library.add_bytes(f"{number:04d}.txt", content.encode(), batch=str(begin))
    services.indexing.run_until_idle(str(begin))
    services.search.search("What is it about?")
    seconds = time.perf_counter() - begin
    documents = [document for document in services.library.documents() if document.id not in known]
    return seconds, [record.segment.text for one in documents for record in services.library.segments(one.id)]


def _plain_model(name: str, models: Path, precision: str) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    folder = model_catalogue.locate(name, models, kind="embedding")
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return model.eval().to(torch.bfloat16 if precision == "bfloat16" else torch.float32)


def processor_times() -> Counter[str]:
    """Seconds of user and system time by thread of this process; "parsing worker" and what is below it is one."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    used: Counter[str] = Counter()
    for thread in psutil.Process().threads():
        used[names.get(thread.id, "library threads")] += thread.user_time + thread.system_time
    for child in psutil.Process().children(recursive=True):
        times = child.cpu_times()
        used["parsing worker"] += times.user + times.system
    return used


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, help="a corpus.jsonl; default: one that is made up here")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--precision", default="auto", choices=("auto", "float32", "bfloat16"))
    options = parser.parse_args()
    found = measure(options.corpus, options.files, options.repeats, precision=options.precision)
    for name, value in found.items():
        print(f"{name:24} {value}")
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
