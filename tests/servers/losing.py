"""A proxy before a server of objects that loses answers, or gives others: what networks do, to one request a time."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.support.http_server import Quiet, served

Fault = Callable[[str, int], str]
"""Of the method and the number of a request: ``""`` passes it on, ``lose`` passes it on and gives no answer,
``refuse`` gives none and passes nothing on, ``slow down`` answers 503 so, ``forbid`` 403, ``gone`` 404, ``stall``
passes it on after ``STALL_S``, and ``reset`` breaks the connection in the middle, of what is put or else of the answer.
"""
ANSWERS = {
    "slow down": (503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"),
    "gone": (404, b"<Error><Code>NoSuchUpload</Code><Message>The specified upload does not exist.</Message></Error>"),
    "forbid": (403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"),
}
STALL_S = 10.0
_OF_THE_CONNECTION = ("connection", "transfer-encoding", "keep-alive", "content-length")


@dataclass
class Losing:
    url: str
    fault: Fault = lambda method, number: ""
    seen: list[str] = field(default_factory=list)
    """The methods of all requests, in their order."""
    tokens: list[str] = field(default_factory=list)
    """The session token of each that AWS's signature came with."""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def losing(server: str) -> Iterator[Losing]:
    upstream, base = urlsplit(server).netloc, urlsplit(server).path

    class Handler(Quiet, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            with state.lock:
                state.seen.append(self.command)
                state.tokens.append(self.headers.get("x-amz-security-token", ""))
                what = state.fault(self.command, len(state.seen))
            if what == "reset" and length:
                self.rfile.read(length // 2)
                self.break_off()
                return
            body = self.rfile.read(length)
            if what in ANSWERS:
                status, text = ANSWERS[what]
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)
                return
            if what == "stall":
                time.sleep(STALL_S)
            if what != "refuse":
                connection = http.client.HTTPConnection(upstream, timeout=30)
                connection.request(self.command, self.path, body, dict(self.headers))
                found = connection.getresponse()
                content = found.read()
                connection.close()
            if what in ("lose", "refuse"):
                self.close_connection = True
                return
            self.send_response(found.status)
            for name, value in found.getheaders():
                if name.lower() not in _OF_THE_CONNECTION:
                    self.send_header(name, value)
            told = found.getheader("content-length") if self.command == "HEAD" else str(len(content))
            self.send_header("content-length", told or "0")
            self.end_headers()
            if what == "reset":
                self.wfile.write(content[: len(content) // 2])
                self.break_off()
                return
            self.wfile.write(content)

        def break_off(self) -> None:
            """What the other end sees as a reset, not as an end."""
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815 (names of http.server)

    state = Losing(url="")
    with served(Handler) as url:
        state.url = f"{url}{base}"
        yield state
