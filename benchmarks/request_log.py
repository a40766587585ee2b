"""A proxy before an S3 server, in a process of its own, that writes a line for each request: ``GET /bucket/key query``.

    python benchmarks/request_log.py http://127.0.0.1:9000 --log requests.log --delay-ms 20

Its URL is the first line on stdout; it ends with its stdin. Heads and bodies are passed on as they are, so that
signatures stay right; each connection of a client has one of its own to the server.
"""

from __future__ import annotations

import argparse
import select
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, unquote, urlsplit

CHUNK = 1 << 16


class Kind(Enum):
    """What a request is paid for as."""

    GET = "GET"
    HEAD = "HEAD"
    PUT = "PUT"
    """All that makes an object: copies, and each request of an upload in parts."""
    LIST = "LIST"
    DELETE = "DELETE"
    """Of many keys at once (``POST ?delete``) too: one request."""


class Place(Enum):
    """The part of a table that a request is about."""

    LOCK = "lock"
    TIMELINE = "timeline"
    """What lies in ``.hoodie/`` itself: instants, ``hoodie.properties``, and the folder's listing."""
    METADATA = "metadata table"
    MARKERS = "markers"
    DATA = "data"
    """Base files, logs, and the files that mark partitions."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    """With the bucket, decoded."""
    query: str

    @staticmethod
    def parse(line: str) -> Request:
        method, path, query = line.rstrip("\n").split(" ")
        return Request(method, unquote(path), query)

    @property
    def kind(self) -> Kind:
        names = parse_qs(self.query, keep_blank_values=True)
        if self.method == "DELETE" or (self.method == "POST" and "delete" in names):
            return Kind.DELETE
        if self.method in ("PUT", "POST"):
            return Kind.PUT
        if self.method == "GET" and names.keys() & {"list-type", "prefix", "uploads", "versions"}:
            return Kind.LIST
        return Kind(self.method)

    @property
    def about(self) -> str:
        """The path, of a listing with the prefix that it asks for, without a slash at the end."""
        prefix = parse_qs(self.query).get("prefix", [""])[0]
        return (f"{self.path.rstrip('/')}/{prefix}" if self.kind is Kind.LIST else self.path).rstrip("/")

    @property
    def place(self) -> Place:
        _, meta_folder, inside = f"{self.about}/".partition("/.hoodie/")
        if not meta_folder:
            return Place.DATA
        folder = inside.split("/")[0]
        if folder in (".locks", ".lock"):
            return Place.LOCK
        if folder in ("metadata", ".temp"):
            return Place.METADATA if folder == "metadata" else Place.MARKERS
        return Place.TIMELINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The requests of one operation."""

    requests: tuple[Request, ...]

    def by_kind(self) -> Counter[Kind]:
        return Counter(one.kind for one in self.requests)

    def by_place(self, kind: Kind | None = None) -> Counter[Place]:
        return Counter(one.place for one in self.requests if kind in (None, one.kind))

    def most_frequent(self, number: int) -> list[tuple[tuple[str, str], int]]:
        """``(kind, path)`` with how often it was asked for, those asked for most in front."""
        return Counter((one.kind.value, one.about) for one in self.requests).most_common(number)


@dataclass(slots=True)
class RequestLog:
    """The asking side of the proxy's process: its ``url``, and what it has seen since it was asked last."""

    url: str
    file: Path
    _read: int = field(default=0, init=False)

    def taken(self) -> Seen:
        """All requests since the last call: what was answered has its line."""
        with open(self.file, encoding="utf-8") as log:
            log.seek(self._read)
            lines = log.read()
            self._read = log.tell()
        return Seen(requests=tuple(map(Request.parse, lines.splitlines())))


@contextmanager
def request_log(server: str, file: Path, *, delay_ms: int = 0) -> Iterator[RequestLog]:
    """A proxy before ``server`` whose log is ``file``; ends with the block."""
    command = [sys.executable, __file__, server, "--log", str(file), "--delay-ms", str(delay_ms)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the proxy before {server} did not start")
        yield RequestLog(url, file)
    finally:
        process.stdin.close()
        process.wait(timeout=30)


class _Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, server: str, log: IO[str], delay_ms: int) -> None:
        super().__init__(("127.0.0.1", 0), _Client)
        found = urlsplit(server)
        self.upstream = (found.hostname or "127.0.0.1", found.port or 80)
        self.delay_s = delay_ms / 1000
        self._log, self._lock = log, threading.Lock()

    def note(self, method: str, target: str) -> None:
        path, _, query = target.partition("?")
        with self._lock:
            self._log.write(f"{method} {path} {query}\n")
            self._log.flush()


class _Client(socketserver.BaseRequestHandler):
    """One connection of a client, and its connection to the server."""

    server: _Proxy

    def handle(self) -> None:
        client = _Peer(self.request)
        upstream: _Peer | None = None
        try:
            while (head := client.head()) is not None:
                method, target, _ = head.first.split(" ", 2)
                if head.value("expect").lower() == "100-continue":  # answered here: no body is refused
                    client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                    head = head.without("expect")
                body = b"".join(client.body(head, empty=not head.has_body))
                self.server.note(method, target)
                if self.server.delay_s:
                    time.sleep(self.server.delay_s)
                if upstream is not None and upstream.is_gone():
                    upstream.close()
                    upstream = None
                upstream = upstream or _Peer(socket.create_connection(self.server.upstream, timeout=120))
                upstream.send(head.raw + body)
                if not self._answered(client, upstream, method):
                    break
                if "close" in head.value("connection").lower():
                    break
        except OSError:
            return  # one of both hung up: the client sees it, and asks again where it wants to
        finally:
            if upstream is not None:
                upstream.close()

    def _answered(self, client: _Peer, upstream: _Peer, method: str) -> bool:
        """Pass the answer on; whether both connections go on."""
        answer = upstream.head()
        while answer is not None and answer.status == 100:
            answer = upstream.head()
        if answer is None:
            return False
        client.send(answer.raw)
        empty = method == "HEAD" or answer.status in (204, 304)
        for part in upstream.body(answer, empty=empty, to_the_end=True):
            client.send(part)
        known = empty or answer.has_body
        return known and "close" not in answer.value("connection").lower() and not answer.first.startswith("HTTP/1.0")


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line and the headers of a request or an answer."""

    raw: bytes

    @property
    def first(self) -> str:
        return self.raw.split(b"\r\n", 1)[0].decode("latin-1")

    @property
    def status(self) -> int:
        return int(self.first.split(" ")[1])

    def value(self, name: str) -> str:
        """Empty where there is none."""
        start = b"\r\n" + name.encode() + b":"
        at = self.raw.lower().find(start)
        return "" if at < 0 else self.raw[at + len(start) :].split(b"\r\n", 1)[0].decode("latin-1").strip()

    def without(self, name: str) -> _Head:
        start = name.encode() + b":"
        lines = [line for line in self.raw.split(b"\r\n") if not line.lower().startswith(start)]
        return _Head(b"\r\n".join(lines))

    @property
    def has_body(self) -> bool:
        """Whether its end can be told."""
        return bool(self.value("content-length")) or self.is_chunked

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.value("transfer-encoding").lower()


class _Peer:
    """A connection with what was read too far."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._ahead = b""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self._connection.close()

    def is_gone(self) -> bool:
        """Whether the server closed a connection on which nothing is under way."""
        return bool(select.select([self._connection], [], [], 0)[0])

    def head(self) -> _Head | None:
        """None where the other end hung up."""
        while (end := self._ahead.find(b"\r\n\r\n")) < 0:
            if not self._more():
                return None
        raw, self._ahead = self._ahead[: end + 4], self._ahead[end + 4 :]
        return _Head(raw)

    def body(self, head: _Head, *, empty: bool, to_the_end: bool = False) -> Iterator[bytes]:
        """The bytes behind a head, as they are; ``to_the_end``: of the connection, where no length is told."""
        if empty:
            return
        if head.is_chunked:
            yield from self._chunks()
        elif length := head.value("content-length"):
            yield from self._bytes(int(length))
        elif to_the_end:
            while self._ahead or self._more():
                yield self._ahead
                self._ahead = b""

    def _chunks(self) -> Iterator[bytes]:
        while True:
            size = self._line()
            yield size
            length = int(size.split(b";")[0], 16)
            if length == 0:
                break
            yield from self._bytes(length + 2)
        while (trailer := self._line()) != b"\r\n":
            yield trailer
        yield trailer

    def _line(self) -> bytes:
        while (end := self._ahead.find(b"\r\n")) < 0:
            if not self._more():
                raise ConnectionError("hung up within a body")
        line, self._ahead = self._ahead[: end + 2], self._ahead[end + 2 :]
        return line

    def _bytes(self, length: int) -> Iterator[bytes]:
        while length:
            if not self._ahead and not self._more():
                raise ConnectionError("hung up within a body")
            part, self._ahead = self._ahead[:length], self._ahead[length:]
            length -= len(part)
            yield part

    def _more(self) -> bool:
        found = self._connection.recv(CHUNK)
        self._ahead += found
        return bool(found)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", help="URL of the S3 server")
    parser.add_argument("--log", type=Path, required=True, help="file that gets a line for each request")
    parser.add_argument("--delay-ms", type=int, default=0, help="what each request takes longer")
    options = parser.parse_args(words)
    with open(options.log, "a", encoding="utf-8") as log, _Proxy(options.server, log, options.delay_ms) as proxy:
        print(f"http://127.0.0.1:{proxy.server_address[1]}", flush=True)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        sys.stdin.read()
        proxy.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
