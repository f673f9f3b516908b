"""Long documents in parts: read, embedded and kept one after the other, seen all at once, gone on with after a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from core.domain import EmbeddingRequest, EmbeddingResponse
from core.embedding_models import HashingEmbeddingModel
from core.errors import DocumentError
from core.parsers import auto_parser
from core.parsers.parts import PART_CHARS, PART_PAGES
from core.parsing_worker import ParsingWorker
from core.pipeline import Pipeline
from tests.core.services.indexing_parts import SlowModel, opened

ROOT = Path(__file__).parents[3]
PAGES = 300
LONG = "\n\n".join(f"Paragraph {number} tells of pump number {number} and of its seal." for number in range(14_000))


@dataclass(frozen=True)
class RecordingModel(HashingEmbeddingModel):
    """Remembers every text that it embedded."""

    texts: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def embed_request(self, request: EmbeddingRequest) -> EmbeddingResponse:
        self.texts.extend(request.inputs)
        time.sleep(self.seconds)
        return super().embed_request(request)


class RecordingReader(ParsingWorker):
    """The real worker. `pages`: the first and last of each part that it read. `fail_at`: a part it can't read."""

    def __init__(self, fail_at: int | None = None) -> None:
        super().__init__(60, 1024)
        self.pages: list[tuple[int, int]] = []
        self.fail_at = fail_at

    def parse_parts(self, path, file_name, password=None, stop=None, progress=None, after=None):
        for part in super().parse_parts(path, file_name, password, stop, progress, after):
            if part.number == self.fail_at:
                raise DocumentError(f"{file_name!r} is damaged", file_name=file_name)
            numbers = [mark.value for mark in part.document.marks if mark.kind == "page"]
            self.pages.append((min(numbers, default=0), max(numbers, default=0)))
            yield part


def pdf(pages: int = PAGES) -> bytes:
    with pymupdf.open() as document:
        for number in range(1, pages + 1):
            page = document.new_page()
            for line in range(12):
                page.insert_text((72, 72 + 14 * line), f"Line {line} of page {number} tells of pump {number * line}.")
        return document.tobytes()


def wait_for(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen"
        time.sleep(0.01)


def unfinished(parts, job):
    model_id = "hashing-1-384"
    return parts.documents.unfinished(job.payload["content_hash"], Pipeline().fingerprint(model_id), model_id)


def assert_whole(parts, name: str, data: bytes) -> None:
    """What is stored is what the file gives when it's read at once, and its segments are slices in order."""
    (document,) = parts.library.documents()
    wanted = auto_parser().parse(data, name)
    assert parts.library.document_text(document.id).text == wanted.text
    segments = [record.segment for record in parts.library.segments(document.id)]
    assert [segment.index for segment in segments] == list(range(document.segments))
    assert all(wanted.text[segment.start : segment.end] == segment.text for segment in segments)
    pages = {mark.value: mark for mark in wanted.marks if mark.kind == "page"}
    for segment in segments if pages else ():
        mark = pages[segment.metadata.get_int("page")]
        assert mark.start <= segment.start < mark.end
    gaps = [wanted.text[a.end : b.start] for a, b in pairwise(segments) if b.start > a.end]
    assert not any(gap.strip() for gap in gaps)
    assert document.characters == len(wanted.text)
    assert (document.pages, list(document.warnings)) == (wanted.metadata.get_int("pages"), [])


@pytest.mark.parametrize(("name", "data"), [("long.txt", LONG.encode()), ("long.pdf", pdf(PART_PAGES + 30))])
def test_a_long_file_is_what_it_would_be_at_once(tmp_path, name, data):
    with opened(tmp_path / "data") as parts:
        parts.library.add_bytes(name, data)
        (job,) = parts.run()
        assert (job.state, job.result["status"]) == ("done", "indexed")
        assert_whole(parts, name, data)
        (document,) = parts.library.documents()
        assert job.result["segments"] == document.segments and job.result["tokens"] > document.segments
        parts.library.reindex(document.id)
        assert parts.run()[-1].result["status"] == "unchanged"
        parts.library.add_bytes("copy-" + name, data)
        assert parts.run()[-1].result["status"] == "duplicate"


def test_nobody_sees_a_part_before_the_whole_is_there(tmp_path):
    with opened(tmp_path / "data", SlowModel(seconds=0.02)) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("long.txt", LONG.encode())
        wait_for(lambda: unfinished(parts, job) is not None)
        assert parts.library.documents() == [] and parts.documents.count() == 0
        wait_for(lambda: parts.jobs.get(job.id).state == "done")
        assert unfinished(parts, job) is None
        assert_whole(parts, "long.txt", LONG.encode())


def test_a_short_file_passes_by_a_long_one(tmp_path):
    """Added while a long file is in its middle, it's searchable before that; a long one waits for its turn."""
    with (
        ParsingWorker(60, 1024) as passing,
        opened(tmp_path / "data", SlowModel(seconds=0.03), max_file_mb=20, passing=passing) as parts,
    ):
        parts.indexing.start()
        first = parts.library.add_bytes("long.txt", LONG.encode() * 8)
        wait_for(lambda: unfinished(parts, first) is not None)
        other = parts.library.add_bytes("other.txt", LONG.encode() * 7)
        short = parts.library.add_bytes("short.txt", b"The seal of pump 7 leaks.")
        wrong = parts.library.add_bytes("wrong.pdf", b"")
        wait_for(lambda: parts.jobs.get(short.id).state == "done" and parts.jobs.get(wrong.id).state == "failed")
        assert parts.jobs.get(first.id).state == "running" and parts.jobs.get(other.id).state == "waiting"
        assert [document.name for document in parts.library.documents()] == ["short.txt"]


def test_parts_that_somebody_else_took_away_are_made_again(tmp_path):
    """Another process that reads the same bytes gives up, and forgets what both have kept."""
    with opened(tmp_path / "data", SlowModel(seconds=0.02)) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("long.txt", LONG.encode())
        wait_for(lambda: unfinished(parts, job) is not None)
        parts.documents.discard_unfinished(job.payload["content_hash"], Pipeline().fingerprint("hashing-1-384"))
        wait_for(lambda: parts.jobs.get(job.id).state not in ("waiting", "running"))
        ended = parts.jobs.get(job.id)
        assert (ended.state, ended.reason) == ("done", "")
        assert_whole(parts, "long.txt", LONG.encode())


def test_after_closing_only_what_is_missing_is_read_and_embedded(tmp_path):
    data = pdf()
    first, second = RecordingModel(seconds=0.02), RecordingModel()
    with opened(tmp_path / "data", first) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("long.pdf", data)
        wait_for(lambda: (known := unfinished(parts, job)) and known.parts >= 2)
        parts.indexing.close()
        known = unfinished(parts, job)
        assert parts.jobs.get(job.id).state == "waiting" and 2 <= known.parts < 5
        kept = {text for text in first.texts}
    reader = RecordingReader()
    with opened(tmp_path / "data", second, reader=reader) as parts:
        (job,) = parts.run()
        assert job.result["status"] == "indexed"
        assert_whole(parts, "long.pdf", data)
        (document,) = parts.library.documents()
        assert reader.pages[0][0] == known.parts * PART_PAGES + 1 and reader.pages[-1][1] == PAGES
        assert len(second.texts) == document.segments - known.segments
        texts = [record.segment.text for record in parts.library.segments(document.id)]
        assert set(texts[: known.segments]) <= kept and set(second.texts) == set(texts[known.segments :])


@pytest.mark.skipif(os.name != "posix", reason="kills a process the POSIX way")
def test_after_a_kill_only_what_is_missing_is_read_and_embedded(tmp_path):
    data, path = pdf(), tmp_path / "long.pdf"
    path.write_bytes(data)
    command = [sys.executable, "-m", "tests.core.services.indexing_parts", str(tmp_path / "data"), "0.03", str(path)]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout.readline() == "added\n"
        with opened(tmp_path / "data") as parts:
            (job,) = parts.library.jobs()
            wait_for(lambda: (known := unfinished(parts, job)) and known.parts >= 2)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait()
        run.stdout.close()
    model, reader = RecordingModel(), RecordingReader()
    with opened(tmp_path / "data", model, reader=reader) as parts:
        known = unfinished(parts, job)
        assert known is not None, "it was killed too late to show anything"
        (job,) = parts.run()
        assert job.result["status"] == "indexed"
        assert_whole(parts, "long.pdf", data)
        assert reader.pages[0][0] == known.parts * PART_PAGES + 1
        assert len(model.texts) == parts.library.documents()[0].segments - known.segments
        assert job.result["tokens"] > known.segments


def test_killed_before_the_publishing_nothing_is_read_again(tmp_path):
    """All parts are there: as after a kill between the last part and its publishing."""
    data = LONG.encode()
    with opened(tmp_path / "data") as parts:
        parts.library.add_bytes("long.txt", data)
        parts.run()
    with opened(tmp_path / "other") as parts:
        job = parts.library.add_bytes("long.txt", data)
        _copy_as_unfinished(tmp_path / "data", parts, job)
        model, reader = RecordingModel(), RecordingReader()
    with opened(tmp_path / "other", model, reader=reader) as parts:
        (job,) = parts.run()
        assert (job.state, job.result["status"], reader.pages, model.texts) == ("done", "indexed", [], [])
        assert_whole(parts, "long.txt", data)


def _copy_as_unfinished(source: Path, parts, job) -> None:
    from core.records import NewPart
    from core.text.terms import index_terms

    with opened(source) as other:
        (document,) = other.library.documents()
        whole = other.library.document_text(document.id)
        segments = tuple(record.segment for record in other.library.segments(document.id))
    vectors = HashingEmbeddingModel().embed_request(EmbeddingRequest(tuple(item.text for item in segments))).vectors
    metadata = auto_parser().parse(LONG.encode(), "long.txt").metadata
    parts.documents.add_part(
        NewPart(
            content_hash=job.payload["content_hash"],
            pipeline=Pipeline().fingerprint("hashing-1-384"),
            model_id="hashing-1-384",
            type="text",
            number=0,
            start=0,
            document=whole,
            segments=segments,
            vectors=np.asarray(vectors),
            terms=tuple(" ".join(index_terms(item.text)) for item in segments),
            after={"reader": {}, "is_last": True, "metadata": metadata.to_json()},
        )
    )


def test_a_long_stretch_without_a_word_belongs_to_what_follows(tmp_path):
    data = ("A pump stands here. " * 12_000 + "   \n\t \n" * 60_000 + "\n\nThe second pump. " * 12_000).encode()
    with opened(tmp_path / "data") as parts:
        parts.library.add_bytes("blank.txt", data)
        (job,) = parts.run()
        assert (job.state, job.reason) == ("done", "")
        assert_whole(parts, "blank.txt", data)


def test_a49_a_stop_in_the_middle_of_a_long_file_keeps_no_half_document(tmp_path):
    with opened(tmp_path / "data", SlowModel(seconds=0.05)) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("long.txt", LONG.encode())
        after = parts.library.add_bytes("after.txt", b"One pump.")
        wait_for(lambda: unfinished(parts, job) is not None)
        parts.library.stop_job(job.id)
        begin = time.monotonic()
        wait_for(lambda: parts.jobs.get(job.id).state == "stopped")
        assert time.monotonic() - begin < 5
        assert unfinished(parts, job) is None
        wait_for(lambda: parts.jobs.get(after.id).state == "done")
        assert unfinished(parts, job) is None
        assert [document.name for document in parts.library.documents()] == ["after.txt"]


def test_a_file_that_fails_in_the_middle_forgets_its_parts(tmp_path):
    with opened(tmp_path / "data", reader=RecordingReader(fail_at=2)) as parts:
        job = parts.library.add_bytes("long.txt", LONG.encode())
        (ended,) = parts.run()
        assert (ended.state, ended.reason) == ("failed", "'long.txt' is damaged")
        assert unfinished(parts, job) is None and parts.library.documents() == []


def test_the_same_long_file_twice_is_read_once(tmp_path):
    model, reader = RecordingModel(), RecordingReader()
    with opened(tmp_path / "data", model, reader=reader) as parts:
        for name in ("a.txt", "b.txt"):
            parts.library.add_bytes(name, LONG.encode())
        assert [job.result["status"] for job in parts.run()] == ["indexed", "duplicate"]
        assert len(model.texts) == len(set(model.texts))
        assert len(reader.pages) == -(-len(LONG) // PART_CHARS)


def test_equal_segments_of_different_files_are_embedded_once(tmp_path):
    """Also where the first file isn't saved yet when the second is embedded."""
    model = RecordingModel(seconds=0.02)
    shared = "\n\n".join(f"Clause {number} of the licence holds for pump {number}. " * 20 for number in range(60))
    with opened(tmp_path / "data", model) as parts:
        for number in range(8):
            parts.library.add_bytes(f"{number}.md", f"# Licence\n\n{shared}\n\n# End\n\nOf file {number}.".encode())
        assert [job.state for job in parts.run()] == ["done"] * 8
    assert len(model.texts) == len(set(model.texts))


def test_a49_progress_of_a_long_pdf_is_visible_names_the_page_and_only_grows(tmp_path):
    with opened(tmp_path / "data", SlowModel(seconds=0.3)) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("long.pdf", pdf())
        seen = []
        while (now := parts.jobs.get(job.id)).state not in ("done", "failed"):
            seen.append((now.progress, now.phase))
            time.sleep(0.05)
        assert now.state == "done"
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and len(set(shares)) > 3
    assert any("embedding, page " in phase and phase.endswith(f" of {PAGES}") for _, phase in seen)
