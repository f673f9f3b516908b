"""Memory while a huge file is indexed: it must not grow with the file.

    python -m benchmarks.ingest_memory [--text-mb 200] [--pages 3000]

Text and PDF are made here, and ingested with the hashing model through `build_services` in a fresh data folder. Watched
is the resident memory of the process and all below it; the base is that of started services with a warm worker. Another
text is stopped in the middle: nothing of it may be left.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.resident_memory import PeakMemory, resident
from core.bootstrap import Services, build_services
from core.settings import Settings

_MB = 1_000_000
_LIMIT_MB = 300
_PARAGRAPH_BYTES = 1_000  # more than the longest
_WORDS = "pump valve seal water turn leaks north harbour winter ledger copper salt tower river bridge market".split()


def measure(text_mb: int = 200, pages: int = 3_000, data: Path | None = None) -> dict[str, Any]:
    """Peak above the base in MB, for a text and for a PDF, and what a stop leaves.

    data  where the folder of the run is made; None: the system's
    """
    with tempfile.TemporaryDirectory(prefix="memory-", dir=data) as folder:
        text, pdf = Path(folder) / "long.txt", Path(folder) / "long.pdf"
        write_text(text, text_mb * _MB)
        write_pdf(pdf, pages)
        settings = Settings(data=Path(folder) / "data", embedding_model="hashing", max_file_mb=max(200, text_mb))
        services = build_services(settings)
        try:
            base_mb = _warm(services)
            rows = {name: _ingested(services, path) for name, path in (("text", text), ("pdf", pdf))}
            left = _stopped(services, text)
        finally:
            services.close()
    found: dict[str, Any] = {"base_mb": round(base_mb), "text_mb": text_mb, "pdf_pages": pages}
    for name, row in rows.items():
        found |= {f"{name}_{key}": value for key, value in row.items()}
        found[f"{name}_above_base_mb"] = round(row["peak_mb"] - base_mb)
    found |= {"left_after_stop": left, "must": f"less than {_LIMIT_MB} MB above the base, nothing left after a stop"}
    done = all(row["state"] == "done" for row in rows.values())
    above = max(found[f"{name}_above_base_mb"] for name in rows)
    return found | {"ok": done and above < _LIMIT_MB and not left}


def write_text(path: Path, size: int) -> None:
    """Paragraphs, each different from all others; just below `size` bytes."""
    written = number = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size - _PARAGRAPH_BYTES:
            number += 1
            words = (_WORDS[(number * 7 + place * place * 3 + number // 16) % 16] for place in range(60))
            written += file.write(f"Paragraph {number} tells: {' '.join(words)}.\n\n")


def write_pdf(path: Path, pages: int) -> None:
    import pymupdf

    with pymupdf.open() as document:
        for number in range(1, pages + 1):
            page = document.new_page()
            for line in range(20):
                words = " ".join(_WORDS[(number * 5 + line * place) % 16] for place in range(9))
                page.insert_text((72, 72 + 14 * line), f"Line {line} of page {number}: {words}")
        document.save(path)


def _warm(services: Services) -> float:
    """Services started, libraries of all steps loaded. Returns the base in MB."""
    services.indexing.start()
    for name in ("a.txt", "b.md"):
        services.library.add_bytes(name, f"# A first file\n\nSo that all is loaded for {name}.".encode())
    services.indexing.run_until_idle()
    services.search.search("loaded")
    time.sleep(1.0)
    return resident() / _MB


def _ingested(services: Services, path: Path) -> dict[str, Any]:
    begin, seen = time.perf_counter(), set()
    with PeakMemory() as memory:
        job = services.library.add_path(path)
        ended = _watched(services, job.id, lambda now: seen.add((round(now.progress, 3), now.phase)))
    document = next((one for one in services.library.documents() if one.name == path.name), None)
    return {
        "state": ended.state,
        "peak_mb": round(memory.peak / _MB),
        "seconds": round(time.perf_counter() - begin, 1),
        "segments": document.segments if document else 0,
        "progress_steps": len(seen),
    }


def _stopped(services: Services, path: Path) -> list[str]:
    """Names of what is left of a file that is stopped in the middle. It's given another first line, to be new."""
    other = path.with_name("stopped.txt")
    with path.open("rb") as source, other.open("wb") as target:
        target.write(b"Another beginning.\n\n" + source.read(20 * _MB))
    job = services.library.add_path(other)

    def stop(now: Any) -> None:
        if now.progress > 0.1:
            services.library.stop_job(job.id)

    ended = _watched(services, job.id, stop)
    left = [one.name for one in services.library.documents() if one.name == other.name]
    problems = services.maintenance.check(full=False)
    return left + [problem.message for problem in problems] + ([] if ended.state == "stopped" else [ended.state])


def _watched(services: Services, job_id: int, look: Callable[[Any], None]) -> Any:
    while True:
        now = next(job for job in services.library.jobs() if job.id == job_id)
        if now.state not in ("waiting", "running"):
            return now
        look(now)
        time.sleep(0.1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest_memory", description=__doc__.splitlines()[0])
    parser.add_argument("--text-mb", type=int, default=200)
    parser.add_argument("--pages", type=int, default=3_000)
    parser.add_argument("--data", type=Path, help="where the data folder is made")
    options = parser.parse_args()
    found = measure(options.text_mb, options.pages, options.data)
    for name, value in found.items():
        print(f"{name:24} {value}")
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
