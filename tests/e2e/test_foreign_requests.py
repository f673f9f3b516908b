"""Who is let in: a real server, asked as pages of other origins and names ask. No browser is needed."""

from __future__ import annotations

import http.client

import pytest
from server import Server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server")).start()
    yield server.port
    server.stop()
    assert "Traceback" not in server.text()


def status(port, method, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in ({"Host": f"127.0.0.1:{port}"} | headers).items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def stream(port, origin, host="127.0.0.1"):
    with connect(f"ws://{host}:{port}/_stcore/stream", origin=origin, proxy=None, subprotocols=["streamlit"]):
        return "open"


def test_its_own_pages_are_let_in(port):
    assert stream(port, f"http://127.0.0.1:{port}") == "open"
    assert stream(port, f"http://localhost:{port}", "localhost") == "open"
    assert stream(port, None) == "open"
    assert status(port, "GET", "/") == 200
    assert status(port, "GET", "/", Origin=f"http://127.0.0.1:{port}") == 200


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:{other}", "http://localhost:{port}", "https://evil.example", "null"]
)
def test_a_websocket_of_another_origin_is_refused(port, origin):
    with pytest.raises(InvalidStatus) as refused:
        stream(port, origin.format(port=port, other=port + 1))
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8501", "[::1", "", "127.0.0.1@evil.example", "127.0.0.1/x"]
)
def test_a_foreign_name_for_this_machine_is_refused(port, host):
    assert status(port, "GET", "/", Host=host) == 403
    assert status(port, "GET", "/download/1", Host=host) == 403


@pytest.mark.parametrize("origin", ["http://[::1", "http://evil.example", "null", ""])
def test_an_upload_of_another_origin_is_refused(port, origin):
    assert status(port, "PUT", "/upload?name=a.txt", Origin=origin, X_Footnote="upload", Content_Length="0") == 403


@pytest.mark.parametrize("number", ["1", str(2**63), "9" * 30, "9" * 5000, "x"])
def test_a_download_of_nothing_is_not_found(port, number):
    assert status(port, "GET", f"/download/{number}") == 404


OPENED = "Footnote is open to your network: there is no log-in"


def test_g08_opening_it_to_a_network_is_said_and_still_keeps_other_origins_out(tmp_path):
    server = Server(tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0").start()
    try:
        assert OPENED in server.text()
        assert status(server.port, "GET", "/", Host=f"laptop.lan:{server.port}") == 200
        foreign = {"Host": f"laptop.lan:{server.port}", "Origin": "http://evil.example"}
        assert status(server.port, "GET", "/", **foreign) == 403
        assert stream(server.port, f"http://127.0.0.1:{server.port}") == "open"
        assert server.text().count("http://") == 1, server.text()
        assert server.attempts() == []
    finally:
        server.stop()


def test_g08_without_being_told_it_says_nothing_of_a_network(tmp_path):
    server = Server(tmp_path).start()
    server.stop()
    assert OPENED not in server.text()
