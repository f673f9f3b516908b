"""Against a real server on this machine, allowed by name; what is not allowed never gets a request."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from core.errors import DocumentError
from core.loaders.url import fetch_url, is_address

ALLOWED = ("127.0.0.1",)


class Pages(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self):
        self.seen.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
        elif self.path == "/gone":
            self.send_response(404)
        else:
            self.send_response(200)
        self.end_headers()
        if self.path == "/slow":
            self.server.released.wait(5)
        self.wfile.write(b"x" * 2000 if self.path == "/big" else b"<p>The valve opens at 7 bar.</p>")

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    handler = type("Handler", (Pages,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.released = threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.seen, server.url = handler.seen, f"http://127.0.0.1:{server.server_port}"
    yield server
    server.released.set()
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(url, **options):
    return fetch_url(url, **{"max_bytes": 1000, "allowed_hosts": ALLOWED, **options})


def test_a_page_is_fetched(server):
    fetched = fetch(server.url + "/a/manual%20one.html?x=1")
    assert (fetched.name, fetched.data) == ("manual one.html", b"<p>The valve opens at 7 bar.</p>")


def test_a_redirect_is_followed_and_the_last_address_kept(server):
    assert fetch(server.url + "/to//b.html").url == server.url + "/b.html"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433"])
def test_local_addresses_are_refused_before_any_request(server, host):
    with pytest.raises(DocumentError, match=r"private or local|resolved|failed"):
        fetch_url(f"http://{host}:{server.server_port}/", max_bytes=1000)
    assert server.seen == []


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.168.1.1", "169.254.169.254", "172.16.0.1", "100.64.0.1", "[64:ff9b::7f00:1]"]
)
def test_private_addresses_are_refused(address):
    with pytest.raises(DocumentError, match="private or local"):
        fetch_url(f"http://{address}/latest/meta-data", max_bytes=1000)


def test_a_redirect_to_a_local_address_is_refused(server):
    with pytest.raises(DocumentError, match="private or local"):
        fetch(server.url + f"/to/http://localhost:{server.server_port}/secret")
    assert server.seen == [f"/to/http://localhost:{server.server_port}/secret"]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.org/a",
        "http://",
        "gopher://x/",
        "http://x:99999/",
        "http://[bad",
        "http://[::1",
    ],
)
def test_other_schemes_are_refused(url):
    with pytest.raises(DocumentError, match="can't be fetched"):
        fetch_url(url, max_bytes=1000)


def test_what_is_too_large_too_slow_or_not_there_says_so(server):
    with pytest.raises(DocumentError, match="larger than"):
        fetch(server.url + "/big")
    with pytest.raises(DocumentError, match="answered 404 Not Found"):
        fetch(server.url + "/gone")
    with pytest.raises(DocumentError, match="took too long"):
        fetch(server.url + "/slow", timeout_s=0.3)
    with pytest.raises(DocumentError, match="redirects more than 5 times"):
        fetch(server.url + "/to/" * 8 + "/x")


@pytest.mark.parametrize("url", ["http://" + "a" * 70 + ".example/", "http://x\udce9.example/"])
def test_names_that_no_resolver_takes_are_one_sentence(url):
    with pytest.raises(DocumentError, match="can't be fetched"):
        fetch_url(url, max_bytes=1000)


def test_an_address_is_told_from_a_path():
    assert all(map(is_address, ("http://x", "HTTP://x", "ftp://x", "file:///x")))
    assert not any(map(is_address, ("C://x", "a/b.txt", "notes: http://x", "://x")))


def test_letters_beyond_ascii_are_fetched(server):
    fetch(server.url + "/\u00fc x")
    assert server.seen[-1] == "/%C3%BC%20x"
