"""A small server of Google Cloud Storage's XML API, for tests: ``python gcs_server.py PORT``.

It stands for GCS in tests of what this project asks of it by obstore: objects with generations, metadata and etags,
puts under ``x-goog-if-generation-match``, ranges, listings in pages, uploads in parts. It follows Google's reference of
the XML API (https://cloud.google.com/storage/docs/xml-api/reference-methods), as no emulator that can be had as a
package serves conditional puts of that API.

It is not GCS: it keeps all in memory, takes any token, has no permissions, versions, encryption or limits of rates, and
answers only the requests that obstore sends. That it does as GCS does is read, not tried.
"""

from __future__ import annotations

import hashlib
import re
import sys
import threading
import xml.etree.ElementTree as ElementTree
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

_PAGE = 1000
_LEAST_PART = 5 * 1024 * 1024
_META = "x-goog-meta-"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_NO_UPLOAD = "NoSuchUpload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    data: bytes
    etag: str
    generation: int
    modified: datetime
    metadata: Mapping[str, str]


@dataclass(slots=True)
class Upload:
    key: str
    metadata: Mapping[str, str]
    parts: dict[int, bytes] = field(default_factory=dict)


class Refused(Exception):
    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.status, self.code = status, code


@dataclass(slots=True)
class Bucket:
    """Objects by key; all changes are made under the lock of the server."""

    objects: dict[str, Object] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)

    def put(self, key: str, data: bytes, metadata: Mapping[str, str], *, etag: str = "", only_over: str = "") -> Object:
        """
        :param only_over: the generation that has to be there, 0 where none may be.
        """
        before = self.objects.get(key)
        if only_over and int(only_over) != (before.generation if before else 0):
            raise Refused(412, "PreconditionFailed")
        made = Object(
            data=data,
            etag=etag or f'"{hashlib.md5(data).hexdigest()}"',
            generation=next(_GENERATIONS),
            modified=datetime.now(UTC),
            metadata=metadata,
        )
        self.objects[key] = made
        return made

    def complete(self, upload_id: str, numbers: list[int]) -> Object:
        upload = self.uploads.get(upload_id)
        if upload is None:
            raise Refused(404, _NO_UPLOAD)
        if not numbers or numbers != sorted(numbers) or any(number not in upload.parts for number in numbers):
            raise Refused(400, "InvalidPart")
        parts = [upload.parts[number] for number in numbers]
        if any(len(part) < _LEAST_PART for part in parts[:-1]):
            raise Refused(400, "EntityTooSmall")
        del self.uploads[upload_id]
        data = b"".join(parts)
        return self.put(upload.key, data, upload.metadata, etag=f'"-{hashlib.sha1(data).hexdigest()[:16]}="')

    def page(self, query: Mapping[str, str]) -> str:
        """One page of a listing, as XML."""
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        keys = sorted(key for key in self.objects if key.startswith(prefix))
        entries: dict[str, str] = {}
        for key in keys:
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folder = f"{prefix}{rest.partition(delimiter)[0]}{delimiter}"
                entries[folder] = f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
            else:
                entries[key] = _contents(key, self.objects[key])
        names = sorted(entries)
        names = names[bisect_right(names, query.get("continuation-token", query.get("start-after", ""))) :]
        most = min(int(query.get("max-keys", _PAGE)), _PAGE)
        more = len(names) > most
        token = f"<NextContinuationToken>{escape(names[most - 1])}</NextContinuationToken>" if more else ""
        listed = "".join(entries[name] for name in names[:most])
        return (
            f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"{listed}{token}</ListBucketResult>"
        )


_GENERATIONS = count(1_700_000_000_000_001)
_BUCKETS: dict[str, Bucket] = {}
_UPLOADS = count(1)
_LOCK = threading.Lock()


def _contents(key: str, found: Object) -> str:
    modified = found.modified.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return (
        f"<Contents><Key>{escape(key)}</Key><Generation>{found.generation}</Generation>"
        f"<MetaGeneration>1</MetaGeneration><LastModified>{modified}</LastModified><ETag>{escape(found.etag)}</ETag>"
        f"<Size>{len(found.data)}</Size></Contents>"
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = urlsplit(self.path)
        bucket, _, key = parts.path.lstrip("/").partition("/")
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        try:
            if not self.headers.get("authorization", "").startswith("Bearer "):
                raise Refused(401, "AuthenticationRequired")
            with _LOCK:
                status, headers, content = self._answered(unquote(bucket), unquote(key), query, body)
        except Refused as refused:
            status, headers = refused.status, {}
            content = f"<?xml version='1.0'?><Error><Code>{refused.code}</Code></Error>".encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _answered(
        self, name: str, key: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        if self.command == "PUT" and not key:
            _BUCKETS.setdefault(name, Bucket())
            return 200, {}, b""
        bucket = _BUCKETS.get(name)
        if bucket is None:
            raise Refused(404, "NoSuchBucket")
        if self.command in ("GET", "HEAD"):
            return self._read(bucket, key, query) if key else (200, {}, bucket.page(query).encode())
        metadata = {header.lower(): value for header, value in self.headers.items() if header.lower().startswith(_META)}
        upload_id = query.get("uploadId")
        if self.command == "PUT" and upload_id:
            upload = bucket.uploads.get(upload_id)
            if upload is None:
                raise Refused(404, _NO_UPLOAD)
            upload.parts[int(query["partNumber"])] = body
            return 200, {"etag": f'"{hashlib.md5(body).hexdigest()}"'}, b""
        if self.command == "PUT":
            only_over = self.headers.get("x-goog-if-generation-match", "")
            return 200, _versions(bucket.put(key, body, metadata, only_over=only_over)), b""
        if self.command == "DELETE" and upload_id:
            bucket.uploads.pop(upload_id, None)
            return 204, {}, b""
        if self.command == "DELETE":
            if bucket.objects.pop(key, None) is None:
                raise Refused(404, "NoSuchKey")
            return 204, {}, b""
        if upload_id:
            numbers = [int(one.text or 0) for one in ElementTree.fromstring(body).iter() if one.tag == "PartNumber"]
            made = bucket.complete(upload_id, numbers)
            said = f"<CompleteMultipartUploadResult><ETag>{escape(made.etag)}</ETag></CompleteMultipartUploadResult>"
            return 200, _versions(made), said.encode()
        new = f"upload-{next(_UPLOADS)}"
        bucket.uploads[new] = Upload(key, metadata)
        said = f"<InitiateMultipartUploadResult><UploadId>{new}</UploadId></InitiateMultipartUploadResult>"
        return 200, {}, said.encode()

    def _read(self, bucket: Bucket, key: str, query: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        found = bucket.objects.get(key)
        if found is None or query.get("generation", str(found.generation)) != str(found.generation):
            raise Refused(404, "NoSuchKey")
        if self.headers.get("if-match", found.etag) != found.etag:
            raise Refused(412, "PreconditionFailed")
        headers = {**_versions(found), **found.metadata}
        headers["last-modified"] = format_datetime(found.modified, usegmt=True)
        size = len(found.data)
        asked = _RANGE.fullmatch(self.headers.get("range", ""))
        if self.command == "HEAD" or asked is None:
            return 200, {**headers, "content-length": str(size)}, found.data
        first = int(asked[1]) if asked[1] else max(size - int(asked[2]), 0)
        last = min(int(asked[2]), size - 1) if asked[1] and asked[2] else size - 1
        if first >= size:
            raise Refused(416, "InvalidRange")
        headers["content-range"] = f"bytes {first}-{last}/{size}"
        return 206, headers, found.data[first : last + 1]

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815 (names of http.server)

    def log_message(self, format: str, *words: object) -> None:
        del format, words


def _versions(found: Object) -> dict[str, str]:
    return {"etag": found.etag, "x-goog-generation": str(found.generation), "x-goog-metageneration": "1"}


class Served(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


if __name__ == "__main__":
    Served(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
