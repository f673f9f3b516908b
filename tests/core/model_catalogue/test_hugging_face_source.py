"""The real huggingface_hub against a small hub on this machine; and no long wait where nothing answers."""

from __future__ import annotations

import hashlib
import http.server
import socket
import threading
import time

import pytest

from core.errors import ModelError
from core.model_catalogue import fetch
from core.model_catalogue.hugging_face_source import HuggingFaceFetcher, answers
from core.model_catalogue.model import CatalogueModel, HuggingFaceSource, ModelFile

REVISION = "c" * 40
FILES = {"model.bin": b"weights", "1_Pooling/config.json": b"{}"}


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers for the files of o/small at one revision, as the hub does."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        data = FILES.get(self.path.removeprefix(f"/o/small/resolve/{REVISION}/"))
        self.send_response(200 if data is not None else 404)
        self.send_header(*(("X-Repo-Commit", REVISION) if data is not None else ("X-Error-Code", "EntryNotFound")))
        self.send_header("ETag", f'"{hashlib.sha256(data or b"").hexdigest()}"')
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        if data and self.command == "GET":
            self.wfile.write(data)

    def log_message(self, *arguments):
        """Quiet."""


@pytest.fixture
def hub(monkeypatch):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", url)
        yield url
        server.shutdown()


def small(*paths: str) -> CatalogueModel:
    files = tuple(
        ModelFile(path, len(FILES.get(path, b"")), hashlib.sha256(FILES.get(path, b"")).hexdigest()) for path in paths
    )
    return CatalogueModel("small", "Small", "embedding", files, "MIT", (HuggingFaceSource("o/small", REVISION),))


def test_files_come_from_the_hub_although_the_app_is_offline(hub, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    folder = fetch(small(*FILES), tmp_path, fetchers={HuggingFaceSource: HuggingFaceFetcher()})

    assert {path: (folder / path).read_bytes() for path in FILES} == FILES


def test_a_file_that_the_hub_does_not_have_is_one_sentence(hub, tmp_path):
    with pytest.raises(ModelError, match=r"'small' could not be fetched \(Hugging Face \(o/small\): 404 Client Error"):
        fetch(small("no.bin"), tmp_path, fetchers={HuggingFaceSource: HuggingFaceFetcher()})


def test_a_hub_that_answers_is_reachable(hub):
    assert answers(hub)


def test_a_closed_port_is_not_reachable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert not answers(f"http://127.0.0.1:{port}")


def test_a_host_that_stays_silent_is_given_up_within_the_time():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        assert not answers(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.3)
        assert time.monotonic() - began < 2
