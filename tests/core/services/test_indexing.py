"""Indexing with the real database, worker process and threads, and the hashing model."""

import threading
import time

import pytest

from core.domain import text_hash
from core.embedding_models import DeferredEmbeddingModel, HashingEmbeddingModel
from core.errors import ModelError
from core.parsing_worker import ParsingWorker
from core.pipeline import Pipeline
from core.services.owners import is_dead, owner_name
from tests.core.services.indexing_parts import SlowModel, opened


@pytest.fixture
def parts(tmp_path):
    with opened(tmp_path / "data") as parts:
        yield parts


def wait_for(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen"
        time.sleep(0.01)


def segment_texts(parts, **which) -> list[str]:
    return [
        record.segment.text
        for document in parts.library.documents(**which)
        for record in parts.library.segments(document.id)
    ]


LONG = "\n\n".join(f"Paragraph {number} tells of pump number {number} and of its seal." for number in range(400))


def test_a_file_becomes_a_document(parts):
    parts.library.add_bytes("pumps.md", b"# Pumps\n\nThe red pump leaks.\n", batch="b")
    (job,) = parts.run("b")
    assert (job.state, job.progress, job.reason) == ("done", 1.0, "")
    (document,) = parts.library.documents()
    seconds = job.result["seconds"]
    assert job.result == {
        "status": "indexed",
        "document_id": document.id,
        "pages": None,
        "segments": 1,
        "tokens": 7,
        "seconds": seconds,
        "warnings": [],
    }
    assert 0 < seconds < 20
    assert (document.name, document.type, document.source) == ("pumps.md", "markdown", "upload:pumps.md")
    (record,) = parts.library.segments(document.id)
    assert (record.segment.text, record.segment.metadata.get("heading_path")) == (
        "# Pumps\n\nThe red pump leaks.",
        "Pumps",
    )
    stored = parts.documents.vectors_for([text_hash(record.segment.text)], "hashing-1-384")
    assert (next(iter(stored.values())) == HashingEmbeddingModel().embed(record.segment.text).vector).all()


def test_one_bad_file_is_one_sentence_and_the_batch_goes_on(parts):
    parts.library.add_bytes("empty.txt", b"", batch="b")
    parts.library.add_bytes("broken.pdf", b"%PDF-1.7\nnothing of a PDF", batch="b")
    parts.library.add_bytes("good.txt", b"One pump.", batch="b")
    jobs = parts.run("b")
    assert [job.state for job in jobs] == ["failed", "failed", "done"]
    for job in jobs[:2]:
        assert job.name in job.reason and "Traceback" not in job.reason
        assert job.result["status"] == "failed"
    assert [document.name for document in parts.library.documents()] == ["good.txt"]


def test_an_encrypted_file_waits_for_its_password(parts):
    import pymupdf

    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((72, 72), "The secret pump.")
        data = pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="sesame", owner_pw="owner")
    job = parts.library.add_bytes("secret.pdf", data)
    parts.run()
    assert parts.jobs.get(job.id).state == "needs_password"
    assert parts.library.documents() == []
    parts.library.retry_job(job.id, password="wrong")
    parts.run()
    assert parts.jobs.get(job.id).state == "needs_password"
    parts.library.retry_job(job.id, password="sesame")
    parts.run()
    done = parts.jobs.get(job.id)
    assert (done.state, done.result["pages"]) == ("done", 1)
    assert "password" not in done.payload
    assert segment_texts(parts) == ["The secret pump."]


def test_a42_same_name_different_content_are_two_documents(parts):
    parts.library.add_bytes("readings.txt", b"total 100", source="north/readings.txt")
    parts.library.add_bytes("readings.txt", b"total 200", source="south/readings.txt")
    parts.library.add_bytes("readings.txt", b"total 300", source="north/readings.txt")
    assert [job.result["status"] for job in parts.run()] == ["indexed", "indexed", "indexed"]
    assert sorted(segment_texts(parts)) == ["total 100", "total 200", "total 300"]
    assert len({document.source for document in parts.library.documents()}) == 3


def test_a43_same_content_under_another_name_is_read_once(tmp_path):
    model = SlowModel()
    with opened(tmp_path / "data", model) as parts:
        parts.library.add_bytes("config.yaml", b"pump: red", source="a/config.yaml")
        parts.run()
        parts.library.add_bytes("config.yaml", b"pump: red", source="b/config.yaml")
        second = parts.run()[-1]
        assert (second.result["status"], second.result["duplicate_of"]) == ("duplicate", "a/config.yaml")
        assert second.reason == "same content as 'a/config.yaml'"
        assert model.batches == [1]
        first, other = parts.library.documents()
        parts.library.delete(first.id)
        assert segment_texts(parts) == ["pump: red"]
        assert parts.library.documents() == [parts.library.document(other.id)]


def test_a44_the_same_file_again_changes_nothing(tmp_path):
    model = SlowModel()
    with opened(tmp_path / "data", model) as parts:
        for _ in range(3):
            parts.library.add_bytes("x.txt", b"One pump.")
            parts.run()
        statuses = [job.result["status"] for job in parts.run()]
        assert statuses == ["indexed", "unchanged", "unchanged"]
        assert "already indexed" in parts.run()[-1].reason
        assert segment_texts(parts) == ["One pump."] and model.batches == [1]


def test_a_file_that_is_indexed_already_loads_no_model(tmp_path):
    states = []
    for _ in range(2):
        model = DeferredEmbeddingModel("hashing", HashingEmbeddingModel)
        with opened(tmp_path / "data", model) as parts:
            parts.library.add_bytes("x.txt", b"One pump.")
            parts.indexing.start(load_model=False)
            while parts.library.jobs(active_only=True):
                time.sleep(0.02)
        states.append(model.state)
    assert states == ["ready", "idle"]


def test_a44_a_race_of_several_tabs_ends_with_one_copy(tmp_path):
    with opened(tmp_path / "data", SlowModel(seconds=0.05)) as parts:
        parts.indexing.start()
        tabs = [
            threading.Thread(target=parts.library.add_bytes, args=("x.txt", LONG.encode()), kwargs={"batch": "b"})
            for _ in range(4)
        ]
        for tab in tabs:
            tab.start()
        for tab in tabs:
            tab.join()
        statuses = sorted(job.result["status"] for job in parts.run("b"))
        assert statuses == ["indexed", "unchanged", "unchanged", "unchanged"]
        assert [document.name for document in parts.library.documents()] == ["x.txt"]


def test_a45_an_edited_file_replaces_the_old_one(parts, tmp_path):
    file = tmp_path / "staff.txt"
    for name in ("Mira", "Otto"):
        file.write_text(f"The office cat is {name}.")
        parts.library.add_path(file)
        parts.run()
    assert [job.result["status"] for job in parts.run()] == ["indexed", "updated"]
    assert segment_texts(parts) == ["The office cat is Otto."]


def test_only_what_changed_is_embedded_again(tmp_path):
    model = SlowModel()
    file = tmp_path / "long.txt"
    with opened(tmp_path / "data", model, pipeline=Pipeline(max_segment_tokens=32, overlap_tokens=0)) as parts:
        file.write_text(LONG)
        parts.library.add_path(file)
        parts.run()
        first, model.batches[:] = sum(model.batches), []
        file.write_text(LONG.replace("Paragraph 200 tells", "Paragraph 200 sings"))
        parts.library.add_path(file)
        assert parts.run()[-1].result["status"] == "updated"
        assert first > 100 and model.batches == [1]


def test_reindexing_reads_the_file_again(parts):
    parts.library.add_bytes("a.txt", b"One pump.")
    parts.run()
    (document,) = parts.library.documents()
    parts.library.reindex(document.id)
    job = parts.run()[-1]
    assert (job.kind, job.state, job.result["status"]) == ("reindex", "done", "unchanged")
    parts.library.reindex(document.id)
    parts.library.delete(document.id)
    assert parts.run()[-1].state == "failed"
    assert parts.library.documents() == []


def test_another_pipeline_makes_the_segments_anew(tmp_path):
    for pipeline, status in ((Pipeline(), "indexed"), (Pipeline(max_segment_tokens=16, overlap_tokens=0), "updated")):
        with opened(tmp_path / "data", pipeline=pipeline) as parts:
            parts.library.add_bytes("x.txt", b"The red pump leaks at its seal. " * 3, on_conflict="replace")
            assert parts.run()[-1].result["status"] == status
    with opened(tmp_path / "data") as parts:
        assert len(segment_texts(parts)) == 2


def test_small_files_are_embedded_together(tmp_path):
    model = SlowModel(seconds=0.1)
    with opened(tmp_path / "data", model) as parts:
        for number in range(40):
            parts.library.add_bytes(f"{number}.txt", f"Pump number {number}.".encode())
        assert all(job.state == "done" for job in parts.run())
    assert sum(model.batches) == 40 and len(model.batches) < 30 and max(model.batches) > 2


def test_progress_can_be_watched_and_only_grows(tmp_path):
    with opened(tmp_path / "data", SlowModel(seconds=0.4)) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("long.txt", (LONG * 3).encode())
        seen = []
        while (now := parts.jobs.get(job.id)).state != "done":
            seen.append((now.phase, now.progress))
            time.sleep(0.03)
        assert "embedding" in {phase for phase, _ in seen}
        progress = [share for _, share in seen]
        assert progress == sorted(progress) and len(set(progress)) > 3


def test_a_stop_in_the_middle_leaves_nothing(tmp_path):
    model = SlowModel(seconds=0.2)
    with opened(tmp_path / "data", model, pipeline=Pipeline(max_segment_tokens=16, overlap_tokens=0)) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes(
            "long.txt",
            (
                LONG + LONG.replace("pump", "valve") + LONG.replace("seal", "wheel") + LONG.replace("tells", "knows")
            ).encode(),
        )
        after = parts.library.add_bytes("after.txt", b"One pump.")
        wait_for(lambda: len(model.batches) >= 2)
        begin = time.monotonic()
        parts.library.stop_job(job.id)
        wait_for(lambda: parts.jobs.get(job.id).state == "stopped")
        assert time.monotonic() - begin < 2
        wait_for(lambda: parts.jobs.get(after.id).state == "done")
        assert [document.name for document in parts.library.documents()] == ["after.txt"]
        parts.library.retry_job(job.id)
        parts.run()
        assert parts.jobs.get(job.id).result["status"] == "indexed"


class SlowReader(ParsingWorker):
    """The real worker, but it first waits as a large file would make it, looking at the stop as the real one does."""

    def parse_parts(self, path, file_name, password=None, stop=None, progress=None, after=None):
        while not stop.is_set():
            time.sleep(0.01)
        return super().parse_parts(path, file_name, password, stop, progress, after)


def test_a_stop_while_reading_ends_the_reading(tmp_path):
    from core.services.indexing import IndexingService

    with opened(tmp_path / "data") as parts:
        slow = IndexingService(
            parts.documents, parts.files, parts.jobs, SlowReader(), HashingEmbeddingModel(), poll_s=0.1
        )
        slow.start()
        job = parts.library.add_bytes("a.txt", b"One pump.")
        wait_for(lambda: parts.jobs.get(job.id).state == "running")
        parts.library.stop_job(job.id)
        wait_for(lambda: parts.jobs.get(job.id).state == "stopped")
        slow.close()
        assert "was stopped" in parts.jobs.get(job.id).reason


def test_closing_lets_go_of_jobs_and_the_next_start_goes_on(tmp_path):
    with opened(tmp_path / "data", SlowModel(seconds=0.2)) as parts:
        parts.indexing.start()
        for number in range(3):
            parts.library.add_bytes(f"{number}.txt", (LONG + str(number)).encode())
        wait_for(lambda: any(job.state == "running" for job in parts.library.jobs()))
        begin = time.monotonic()
        parts.indexing.close()
        assert time.monotonic() - begin < 5
        assert {job.state for job in parts.library.jobs()} <= {"waiting", "done"}
        assert "waiting" in {job.state for job in parts.library.jobs()}
    with opened(tmp_path / "data") as parts:
        assert [job.state for job in parts.run()] == ["done"] * 3
        assert len(parts.library.documents()) == 3


def test_indexing_waits_while_an_answer_is_written(tmp_path):
    model = SlowModel()
    with opened(tmp_path / "data", model) as parts:
        parts.indexing.start()
        with parts.gate.answering():
            job = parts.library.add_bytes("a.txt", b"One pump.")
            time.sleep(0.5)
            assert model.batches == [] and parts.jobs.get(job.id).state == "running"
        wait_for(lambda: parts.jobs.get(job.id).state == "done")


def test_closing_while_waiting_for_an_answer_ends(tmp_path):
    with opened(tmp_path / "data") as parts:
        parts.indexing.start()
        with parts.gate.answering():
            job = parts.library.add_bytes("a.txt", b"One pump.")
            wait_for(lambda: parts.jobs.get(job.id).state == "running")
            time.sleep(0.2)
            parts.indexing.close()
        assert parts.jobs.get(job.id).state == "waiting"


def test_two_processes_share_the_work_and_run_each_job_once(tmp_path):
    models = SlowModel(seconds=0.05), SlowModel(seconds=0.05)
    with opened(tmp_path / "data", models[0]) as one, opened(tmp_path / "data", models[1]) as other:
        for number in range(12):
            one.library.add_bytes(f"{number}.txt", f"Pump number {number}.".encode())
        one.indexing.start()
        other.indexing.start()
        assert [job.state for job in one.run()] == ["done"] * 12
    assert sum(sum(model.batches) for model in models) == 12


@pytest.mark.parametrize(("phase", "attempts"), [("reading", 1), ("embedding", 2)])
def test_the_job_of_a_dead_process_is_taken_over_at_once(tmp_path, phase, attempts):
    with opened(tmp_path / "data", lease_s=5) as parts:
        job = parts.library.add_bytes("a.txt", b"One pump.")
        host, pid, started, number = owner_name().rsplit(":", 3)
        dead = f"{host}:{pid}:{float(started) - 100:.0f}:{number}"
        assert parts.jobs.claim(dead, lease_s=600).id == job.id
        parts.jobs.progress(job.id, dead, 0.2, phase)
        begin = time.monotonic()
        parts.run()
        assert time.monotonic() - begin < 10 and parts.jobs.get(job.id).state == "done"
        assert parts.jobs.get(job.id).attempts == attempts


def test_who_is_dead_and_who_is_not():
    host, _, started, _ = owner_name().rsplit(":", 3)
    assert not is_dead(owner_name())
    assert is_dead(f"{host}:{2**22 - 1}:{started}:1")
    assert not is_dead(f"elsewhere:1:{started}:1") and not is_dead("somebody")


def test_a_lost_lease_saves_nothing_twice(tmp_path):
    model = SlowModel(seconds=0.3)
    with opened(tmp_path / "data", model, lease_s=2.0) as parts:
        parts.indexing.start()
        job = parts.library.add_bytes("a.txt", b"One pump.")
        wait_for(lambda: len(model.batches) == 1)
        # As if this process had slept: the lease has run out and another process took the job.
        parts.jobs.heartbeat(job.id, parts.jobs.get(job.id).owner, lease_s=-1)
        assert parts.jobs.claim("elsewhere:1:1:1", lease_s=600).id == job.id
        time.sleep(0.8)
        assert parts.library.documents() == []
        assert parts.jobs.get(job.id).owner == "elsewhere:1:1:1"


def test_what_nobody_foresaw_fails_one_file_with_one_sentence(tmp_path, caplog):
    class Faulty(HashingEmbeddingModel):
        def embed_request(self, request):
            if "poison" in request.inputs[0]:
                raise ZeroDivisionError("inner secret")
            return super().embed_request(request)

    with opened(tmp_path / "data", Faulty()) as parts:
        parts.library.add_bytes("bad.txt", b"poison")
        parts.run()
        parts.library.add_bytes("good.txt", b"One pump.")
        bad, good = parts.run()
    assert bad.state == "failed" and "'bad.txt' could not be indexed" in bad.reason
    assert "ZeroDivisionError" in bad.reason and "secret" not in bad.reason
    assert good.state == "done"
    assert "inner secret" in caplog.text


def test_one_bad_text_fails_only_its_file(tmp_path):
    class Faulty(SlowModel):
        def embed_request(self, request):
            response = super().embed_request(request)
            if any("poison" in text for text in request.inputs):
                raise ZeroDivisionError
            time.sleep(2 if "Slow" in request.inputs[0] else 0)
            return response

    model = Faulty()
    with opened(tmp_path / "data", model) as parts:
        for text in (b"Slow, so that the others share a pass.", b"One pump.", b"poison", b"Another pump."):
            parts.library.add_bytes("a.txt", text)
        jobs = parts.run()
    assert [job.state for job in jobs] == ["done", "done", "failed", "done"]
    assert max(model.batches) > 1
    assert [job.result["tokens"] > 0 for job in jobs if job.state == "done"] == [True] * 3


def test_a_missing_model_is_said_and_a_retry_works_once_it_is_there(tmp_path):
    there = []

    def opener():
        if not there:
            raise ModelError("embedding model 'm' isn't on this computer yet; fetch it")
        return HashingEmbeddingModel()

    model = DeferredEmbeddingModel("m", opener)
    assert model.state == "idle"
    with opened(tmp_path / "data", model) as parts:
        job = parts.library.add_bytes("a.txt", b"One pump.")
        parts.run()
        assert parts.jobs.get(job.id).state == "failed" and "fetch it" in parts.jobs.get(job.id).reason
        assert (model.state, model.message) == ("missing", parts.jobs.get(job.id).reason)
        there.append(True)
        parts.library.retry_job(job.id)
        parts.run()
        assert parts.jobs.get(job.id).state == "done" and (model.state, model.message) == ("ready", "")


def test_starting_warms_the_model_up(tmp_path):
    model = DeferredEmbeddingModel("hashing", HashingEmbeddingModel)
    with opened(tmp_path / "data", model) as parts:
        parts.indexing.start()
        wait_for(lambda: model.state == "ready")


def test_an_idle_service_does_not_burn_the_processor(tmp_path):
    with opened(tmp_path / "data", poll_s=0.7, heartbeat_s=2.0) as parts:
        parts.indexing.start()
        time.sleep(0.5)
        begin = time.process_time()
        time.sleep(2)
        assert time.process_time() - begin < 0.1
