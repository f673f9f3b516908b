"""Twenty files, killed with -9 in the middle of it, started again: each whole or absent, then all there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storage.maintenance import SqliteMaintenance
from tests.core.services.indexing_parts import opened

ROOT = Path(__file__).parents[3]
FILES = 20


def text_of(number: int) -> str:
    return "\n\n".join(f"File {number} tells in paragraph {line} of pump {number * line}." for line in range(60))


@pytest.fixture
def files(tmp_path) -> list[Path]:
    paths = [tmp_path / f"file{number}.txt" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.write_text(text_of(number))
    return paths


def run_and_kill(data: Path, after_s: float, files: list[Path]) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "tests.core.services.indexing_parts", str(data), "0.15", *map(str, files)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.stdout.readline() == "added\n"
    time.sleep(after_s)
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()


@pytest.mark.parametrize("after_s", [[0.0], [0.7], [1.5], [0.6, 0.2, 0.5, 0.4]], ids=str)
def test_twenty_files_killed_in_the_middle_are_whole_or_absent(tmp_path, files, after_s):
    data = tmp_path / "data"
    for number, seconds in enumerate(after_s):
        run_and_kill(data, seconds, [] if number else files)

    with opened(data) as parts:
        maintenance = SqliteMaintenance(parts.database, parts.files, model_id="hashing-1-384")
        assert maintenance.check() == []
        before = parts.library.documents()
        assert len(before) < FILES, "it was killed too late to show anything"
        assert_whole(parts, before, files)
        begin = time.monotonic()
        jobs = parts.run("batch")
        assert time.monotonic() - begin < 20
        assert [job.state for job in jobs] == ["done"] * FILES
        documents = parts.library.documents()
        assert sorted(document.name for document in documents) == sorted(path.name for path in files)
        assert_whole(parts, documents, files)
        assert maintenance.check() == []
        for path in files:
            parts.library.add_path(path, batch="again")
        assert {job.result["status"] for job in parts.run("again")} == {"unchanged"}


def assert_whole(parts, documents, files) -> None:
    for document in documents:
        text = text_of([path.name for path in files].index(document.name))
        assert parts.library.document_text(document.id).text == text
        segments = [record.segment for record in parts.library.segments(document.id)]
        assert [segment.index for segment in segments] == list(range(document.segments))
        assert (segments[0].start, segments[-1].end) == (0, len(text))
        assert all(text[segment.start : segment.end] == segment.text for segment in segments)
