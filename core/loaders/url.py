"""Fetch one web address: HTML or a file. Private and local addresses are refused, at first and on every redirect.

The address is checked after the name was resolved, and the connection goes to exactly that address, so a name that
changes its answer in between can't lead inside (server-side request forgery, OWASP SSRF cheat sheet). No cookies, no
scripts, no sub-requests; pages that need a browser are another loader's work.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urljoin, urlsplit

from core.errors import DocumentError

REDIRECTS = (301, 302, 303, 307, 308)
MAX_REDIRECTS = 5
BLOCK_BYTES = 64 * 1024
# One letter is a drive.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# What a request line may hold; the rest, blanks too, is written as %xx.
_IN_TARGET = "%/:?#[]@!$&'()*+,;=~"
NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class FetchedFile:
    """`url` is the last one after redirects; `name` is taken from its path and only a label."""

    url: str
    name: str
    data: bytes


def is_address(place: str) -> bool:
    """Whether a text is meant as a web address and not as a path: "HTTP://x" and "ftp://x" are, "C:/x" isn't."""
    return _ADDRESS.match(place) is not None


def fetch_url(url: str, *, max_bytes: int, timeout_s: float = 30.0, allowed_hosts: Collection[str] = ()) -> FetchedFile:
    """The bytes behind an http or https address.

    max_bytes, timeout_s  of the whole transfer, redirects included
    allowed_hosts         names that may lead to a private or local address
    raises                DocumentError: one sentence with the address and the reason
    """
    deadline = time.monotonic() + timeout_s
    current = url
    for _ in range(MAX_REDIRECTS + 1):
        try:
            status, location, data = _get(current, max_bytes, deadline, frozenset(allowed_hosts))
            if status in REDIRECTS and location:
                current = urljoin(current, location)
                continue
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _refused(url, _reason(error)) from error
        if status != 200:
            raise _refused(url, f"the server answered {status} {http.client.responses.get(status, '')}".rstrip())
        return FetchedFile(current, _name(current), data)
    raise _refused(url, f"it redirects more than {MAX_REDIRECTS} times")


def _get(url: str, max_bytes: int, deadline: float, allowed_hosts: frozenset[str]) -> tuple[int, str | None, bytes]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _refused(url, "only http:// and https:// addresses can be fetched")
    try:
        port = parts.port
    except ValueError:
        raise _refused(url, "its port is not a number below 65536") from None
    address = _checked_address(url, parts.hostname, port or (443 if parts.scheme == "https" else 80), allowed_hosts)
    kind = _PinnedHTTPS if parts.scheme == "https" else _PinnedHTTP
    connection = kind(parts.hostname, port, timeout=_left(deadline))
    connection.address = address
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", quote(target, safe=_IN_TARGET), headers={"User-Agent": "Footnote", "Accept": "*/*"})
        response = connection.getresponse()
        if response.status != 200:
            return response.status, response.getheader("Location"), b""
        return 200, None, _body(url, response, connection, max_bytes, deadline)
    finally:
        connection.close()


def _body(url: str, response, connection, max_bytes: int, deadline: float) -> bytes:
    blocks, size = [], 0
    while block := response.read1(BLOCK_BYTES):
        size += len(block)
        if size > max_bytes:
            raise _refused(url, f"it is larger than {max_bytes / 1e6:,.0f} MB")
        blocks.append(block)
        if connection.sock is not None:
            connection.sock.settimeout(_left(deadline))
    return b"".join(blocks)


def _checked_address(url: str, host: str, port: int, allowed_hosts: frozenset[str]) -> tuple:
    """The socket address to connect to. All answers of the resolver must be public: one private one spoils the name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    if host not in allowed_hosts and not all(_is_public(address[0]) for *_, address in found):
        raise _refused(url, "it leads to a private or local address; if you mean it, allow its name in the settings")
    return found[0][0], found[0][4]


def _is_public(address: str) -> bool:
    """Also for the IPv4 address inside a mapped, 6to4, Teredo or NAT64 one."""
    ip = ipaddress.ip_address(address.split("%")[0])
    inner: list = [ip]
    if ip.version == 6:
        inner += [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
        if ip in NAT64:
            inner.append(ipaddress.ip_address(int(ip) & 0xFFFFFFFF))
        if ip.ipv4_mapped:
            inner.remove(ip)
    return all(one.is_global and not one.is_multicast for one in inner if one is not None)


class _PinnedHTTP(http.client.HTTPConnection):
    """Connects to `address` (family, socket address), whatever the name resolves to by then."""

    address: tuple

    def connect(self) -> None:
        family, address = self.address
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(address)


class _PinnedHTTPS(_PinnedHTTP):
    default_port = http.client.HTTPS_PORT  # `http.client` asks for it where the address has no port

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _name(url: str) -> str:
    parts = urlsplit(url)
    return unquote(PurePosixPath(parts.path).name) or f"{parts.hostname}.html"


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, socket.gaierror):
        return "its name can't be resolved; check the spelling and the network"
    if isinstance(error, ssl.SSLError):
        return "its certificate can't be trusted"
    if isinstance(error, ValueError):
        return "it is no valid address; check the spelling"
    return f"the connection failed ({type(error).__name__})"


def _refused(url: str, reason: str) -> DocumentError:
    return DocumentError(f"{url!r} can't be fetched: {reason}", file_name=url)
