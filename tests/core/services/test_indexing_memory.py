"""Memory while a long file is indexed: it doesn't grow with the file."""

from pathlib import Path

import psutil

from benchmarks.resident_memory import PeakMemory, resident
from core.parsing_worker import ParsingWorker
from tests.core.services.indexing_parts import opened

MB = 1_000_000


def text_of(size: int) -> str:
    paragraph = "tells of pumps and valves, of seals that leak and of water that turns the old mill wheel. " * 12
    count = size // (len(paragraph) + 24)
    return "\n\n".join(f"Paragraph {number} {paragraph}" for number in range(count))


def written(path: Path, size: int) -> Path:
    path.write_text(text_of(size), encoding="utf-8")
    return path


def test_a49_a_long_text_is_read_in_little_memory(tmp_path):
    path = written(tmp_path / "long.txt", 24 * MB)
    with ParsingWorker(60, 1024) as worker:
        worker.warm()
        process = psutil.Process(worker._worker.process.pid)
        base = process.memory_info().rss
        characters, peak = 0, base
        for part in worker.parse_parts(path, "long.txt"):
            characters += len(part.document.text)
            peak = max(peak, process.memory_info().rss)
    assert characters > 23 * MB
    assert peak - base < 30 * MB


def test_a49_memory_does_not_grow_with_the_file(tmp_path):
    """A short one first, so that all libraries and caches are there; then what the whole takes on top."""
    with opened(tmp_path / "data", max_file_mb=50) as parts:
        parts.library.add_path(written(tmp_path / "short.txt", MB))
        parts.run()
        base = resident()
        parts.library.add_path(written(tmp_path / "long.txt", 6 * MB))
        with PeakMemory() as memory:
            assert [job.state for job in parts.run()] == ["done", "done"]
    assert memory.peak - base < 60 * MB
