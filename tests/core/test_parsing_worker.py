import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pymupdf
import pytest

from core.errors import DocumentError, PasswordError, StoppedError, UnsupportedFileError
from core.parsers import auto_parser
from core.parsing_worker import ParsingWorker
from core.parsing_worker.process import WorkerProcess

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def worker():
    with ParsingWorker(timeout_s=60, memory_mb=512) as shared:
        yield shared


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "core.parsing_worker.child" in " ".join(child.cmdline())]


def pdf(text: str, pages: int = 1) -> bytes:
    document = pymupdf.open()
    for number in range(pages):
        document.new_page().insert_text((72, 72), f"{text} {number}")
    return document.tobytes()


def slow_page() -> bytes:
    """Takes several seconds to read."""
    return b"<html>" + b"<p>a</p>" * 300_000


def test_the_same_document_comes_back_with_marks_and_metadata(worker, tmp_path):
    data = "---\nauthor: Ann\n---\n# Größe 😀\n\n```py\nx\n```\n".encode()
    path = tmp_path / "長.md"
    path.write_bytes(data)
    wanted = auto_parser().parse(data, "長.md")
    assert wanted.marks
    assert worker.parse(data, "長.md") == wanted
    assert worker.parse(path, "長.md") == wanted
    assert worker.parse(str(path), "長.md") == wanted


def test_errors_keep_their_type_and_name(worker, tmp_path):
    with pytest.raises(UnsupportedFileError, match=r"^'a.png' looks like a PNG image") as raised:
        worker.parse(b"\x89PNG\r\n\x1a\n\0\0", "a.png")
    assert raised.value.file_name == "a.png"
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), "Secret")
    locked = document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open-me", owner_pw="o")
    with pytest.raises(PasswordError):
        worker.parse(locked, "a.pdf")
    assert worker.parse(locked, "a.pdf", password="open-me").text == "Secret"
    with pytest.raises(DocumentError, match=r"^'gone.txt' can't be opened: No such file"):
        worker.parse(tmp_path / "gone.txt", "gone.txt")


def test_a_document_of_many_megabytes_passes_the_pipe(worker):
    data = b"a line of plain text\n" * 500_000
    assert worker.parse(data, "a.txt").text == data.decode().rstrip()


def test_progress_is_told_page_by_page(worker):
    seen = []
    worker.parse(pdf("Page", 3), "a.pdf", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_parts_come_when_they_are_asked_for(worker, tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("Page", 130))
    wanted = list(auto_parser().parts(path, "a.pdf"))
    seen = []
    parts = worker.parse_parts(path, "a.pdf", progress=lambda done, total: seen.append(done))
    assert next(parts) == wanted[0]
    time.sleep(0.3)
    assert seen[-1] == 64
    assert [*parts] == wanted[1:] and seen[-1] == 130
    assert [*worker.parse_parts(path, "a.pdf", after=wanted[1].after)] == wanted[2:]


def test_parts_that_nobody_wants_leave_the_worker_fit_for_the_next_file(worker, tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("Page", 130))
    parts = worker.parse_parts(path, "a.pdf")
    next(parts)
    pid = worker._worker.process.pid
    parts.close()
    assert worker.parse(b"next", "a.txt").text == "next" and worker._worker.process.pid == pid


def test_closing_parts_whose_worker_died_meanwhile_is_no_error(tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("Page", 130))
    with ParsingWorker(timeout_s=60, memory_mb=512) as worker:
        parts = worker.parse_parts(path, "a.pdf")
        next(parts)
        os.kill(worker._worker.process.pid, signal.SIGKILL)
        worker._worker.process.wait()
        parts.close()
        assert worker.parse(b"next", "a.txt").text == "next"


@pytest.mark.parametrize("frame", [b"5", b"[]", b"null", b"{", b"[" * 50_000, b"\xff"])
def test_an_answer_that_is_none_is_the_end_of_the_answers(frame):
    code = "import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1])); sys.stdout.flush(); sys.stdin.read()"
    process = WorkerProcess([sys.executable, "-c", code, (len(frame).to_bytes(8, "big") + frame).hex()])
    try:
        assert process.answers.get(timeout=20) is None
        assert process.is_alive
    finally:
        process.kill()


def test_errors_of_parts_keep_their_type(worker, tmp_path):
    with pytest.raises(DocumentError, match=r"^'gone.txt' can't be opened: No such file"):
        next(worker.parse_parts(tmp_path / "gone.txt", "gone.txt"))
    locked = tmp_path / "a.pdf"
    with pymupdf.open(stream=pdf("Secret")) as document:
        document.save(locked, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open-me", owner_pw="o")
    with pytest.raises(PasswordError):
        next(worker.parse_parts(locked, "a.pdf"))
    (part,) = worker.parse_parts(locked, "a.pdf", "open-me")
    assert part.document.text == "Secret 0"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere reading pauses only between parts")
def test_reading_pauses_while_others_go_first_and_that_time_does_not_count(tmp_path):
    path = tmp_path / "slow.html"
    path.write_bytes(b"<html>" + b"<p>a</p>" * 100_000)
    busy = threading.Event()
    with ParsingWorker(timeout_s=60, memory_mb=2048, is_busy=busy.is_set) as worker:
        worker.warm()
        process = psutil.Process(worker._worker.process.pid)
        done = []
        reader = threading.Thread(target=lambda: done.append(worker.parse(path, "slow.html")))
        reader.start()
        time.sleep(0.3)
        busy.set()
        time.sleep(1.0)  # a call of the parser's library may be under way
        before = process.cpu_times().user
        time.sleep(1.0)
        assert process.cpu_times().user - before < 0.05 and not done
        busy.clear()
        reader.join()
        assert done[0].text.startswith("a")


@pytest.fixture
def reading(tmp_path):
    """A worker process that has begun with a file of some seconds."""
    path = tmp_path / "slow.html"
    path.write_bytes(b"<html>" + b"<p>a</p>" * 20_000)
    process = WorkerProcess()
    try:
        assert process.answers.get(timeout=60) == ({"ready": True}, None)
        process.send({"file_name": path.name, "path": str(path), "password": None, "memory_mb": 2048})
        yield process
    finally:
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere reading pauses only between parts")
def test_pauses_that_follow_each_other_at_once_do_not_hang_it(reading):
    for _ in range(3_000):
        reading.pause(True)
    reading.pause(False)
    header, _ = reading.answers.get(timeout=60)
    assert "document" in header


@pytest.mark.skipif(os.name != "posix", reason="elsewhere reading pauses only between parts")
def test_a_paused_worker_ends_when_its_input_closes(reading):
    reading.pause(True)
    time.sleep(1.0)  # a call of the parser's library may be under way
    assert reading.is_alive and reading.answers.empty()
    reading.process.stdin.close()
    assert reading.process.wait(timeout=20) == 0


def test_a_stop_is_heard_while_others_go_first(worker, tmp_path):
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("Page", 130))
    stop, busy = threading.Event(), threading.Event()
    with ParsingWorker(timeout_s=60, memory_mb=2048, is_busy=busy.is_set) as worker:
        parts = worker.parse_parts(path, "a.pdf", stop=stop)
        next(parts)
        busy.set()
        threading.Timer(0.2, stop.set).start()
        with pytest.raises(StoppedError):
            next(parts)


def test_a50_threads_get_what_one_thread_gets(worker):
    files = {name: pdf(name, 2) for name in ("north", "south")}
    wanted = {name: worker.parse(data, f"{name}.pdf").text for name, data in files.items()}
    wrong = []

    def parse_often(name: str) -> None:
        for _ in range(50):
            if worker.parse(files[name], f"{name}.pdf").text != wanted[name]:
                wrong.append(name)

    threads = [threading.Thread(target=parse_often, args=(name,)) for name in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_stop_ends_it_at_once_and_the_next_file_is_read():
    with ParsingWorker(timeout_s=60, memory_mb=2048) as worker:
        worker.warm()
        stop, pressed = threading.Event(), []
        threading.Timer(0.4, lambda: (pressed.append(time.monotonic()), stop.set())).start()
        with pytest.raises(StoppedError, match=r"^reading 'slow.html' was stopped$"):
            worker.parse(slow_page(), "slow.html", stop=stop)
        assert time.monotonic() - pressed[0] < 1.0
        assert worker.parse(b"next", "a.txt").text == "next"


def test_a_stop_is_heard_while_waiting_for_the_turn(worker):
    with worker._lock, pytest.raises(StoppedError):
        worker.parse(b"text", "a.txt", stop=lambda: True)


def test_too_long_gets_one_sentence_and_the_next_file_is_read():
    with ParsingWorker(timeout_s=0.5, memory_mb=2048) as worker:
        worker.warm()
        with pytest.raises(DocumentError, match=r"^'slow.html' took longer than 0.5 s to read and was given up"):
            worker.parse(slow_page(), "slow.html")
        assert worker.parse(b"next", "a.txt").text == "next"


def test_too_much_memory_gets_one_sentence_and_the_next_file_is_read():
    with ParsingWorker(timeout_s=60, memory_mb=64) as worker:
        with pytest.raises(DocumentError, match=r"^'big.txt' needs more than 64 MB of memory to read and was given up"):
            worker.parse("größer ".encode() * 20_000_000, "big.txt")
        assert worker.parse(b"next", "a.txt").text == "next"


def test_a_worker_that_dies_gets_one_sentence_and_the_next_file_is_read():
    with ParsingWorker(timeout_s=60, memory_mb=512) as worker:
        worker.warm()
        (child,) = [process for process in children() if process.pid == worker._worker.process.pid]
        threading.Timer(0.3, child.kill).start()
        with pytest.raises(DocumentError, match=r"^'slow.html' made its reader fail; it is probably damaged"):
            worker.parse(slow_page(), "slow.html")
        assert worker.parse(b"next", "a.txt").text == "next"
        os.kill(worker._worker.process.pid, signal.SIGKILL)
        worker._worker.process.wait()
        assert worker.parse(b"third", "a.txt").text == "third"


def test_the_process_is_replaced_after_so_many_files():
    with ParsingWorker(timeout_s=60, memory_mb=512, recycle_after=2) as worker:
        pids = []
        for _ in range(4):
            worker.parse(b"text", "a.txt")
            pids.append(worker._worker.process.pid)
        assert pids[0] == pids[1] != pids[2] == pids[3]


def test_nothing_is_left_after_closing():
    worker = ParsingWorker(timeout_s=60, memory_mb=512)
    worker.close()
    before, threads = {child.pid for child in children()}, threading.active_count()
    worker.warm()
    worker.parse(b"text", "a.txt")
    worker.close()
    assert {child.pid for child in children()} == before
    assert threading.active_count() == threads
    assert worker.parse(b"again", "a.txt").text == "again"
    worker.close()


def test_the_process_ends_when_no_file_comes_for_a_while_and_starts_again_with_the_next():
    with ParsingWorker(timeout_s=60, memory_mb=512, rest_after_s=0.3) as worker:
        assert worker.parse(b"hello", "a.txt").text == "hello"
        process = worker._worker.process
        assert process.wait(timeout=20) is not None
        assert worker.parse(b"again", "a.txt").text == "again"


@pytest.mark.skipif(os.name != "posix", reason="kills a process the POSIX way")
def test_the_worker_ends_when_the_app_is_killed(tmp_path):
    slow = tmp_path / "slow.html"
    slow.write_bytes(slow_page())
    code = (
        "import sys, threading, time\n"
        "from core.parsing_worker import ParsingWorker\n"
        "worker = ParsingWorker(60, 512)\n"
        "worker.warm()\n"
        "print(worker._worker.process.pid, flush=True)\n"
        f"worker.parse({str(slow)!r}, 'slow.html')\n"
    )
    app = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        child = psutil.Process(int(app.stdout.readline()))
        time.sleep(0.5)
        assert child.is_running()
    finally:
        app.kill()
        app.wait()
        app.stdout.close()
    child.wait(timeout=20)
    assert not child.is_running()
