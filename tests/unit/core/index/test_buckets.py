"""Buckets as Hudi 0.15.0 gave them: ``BucketIdentifier.getBucketId(key, fields, buckets)``."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.index.buckets import bucket_ids, bucket_of, file_id_of, java_hashes

pytestmark = pytest.mark.unit

OF_ONE_FIELD = {
    "key1": 209,
    "a": 128,
    "": 31,
    "é": 8,
    "日本": 6,
    "😀x": 148,
    "a,b": 246,
}
OF_TWO_FIELDS = {
    # key: by id, by name, by both
    "id:1,name:x": (80, 151, 40),
    "id:1,name:__null__": (80, 31, 176),
    "id:__empty__,name:x": (31, 151, 57),
    "id:1,name:a,b": (18, 226, 113),
    "id:1,name:a:b": (80, 168, 57),
    "2024-01-01 10:00:00": (1, 1, 1),
    "name:x,id:1": (80, 151, 122),
    "id:1": (80, 1, 80),
    "x:1": (1, 1, 1),
    "id:,name:y": (31, 152, 58),
    "id:1,other:2,name:z": (80, 153, 42),
    "id:1,name:a,b,c:d": (18, 226, 113),
}


def test_a_key_of_one_field_counts_as_a_whole() -> None:
    found = bucket_ids(pa.array(list(OF_ONE_FIELD)), ("id",), 256)
    assert dict(zip(OF_ONE_FIELD, found.tolist(), strict=True)) == OF_ONE_FIELD


@pytest.mark.parametrize(("place", "fields"), [(0, ("id",)), (1, ("name",)), (2, ("id", "name")), (2, ("name", "id"))])
def test_of_a_key_of_several_the_named_fields_count(place: int, fields: tuple[str, ...]) -> None:
    found = bucket_ids(pa.chunked_array([list(OF_TWO_FIELDS)]), fields, 256)
    wanted = {key: buckets[place] for key, buckets in OF_TWO_FIELDS.items()}
    assert dict(zip(OF_TWO_FIELDS, found.tolist(), strict=True)) == wanted


def test_both_forms_in_one_array_and_slices_of_it() -> None:
    keys = pa.array(["left out", "key1", "id:1,name:x", "日本", "left out"]).slice(1, 3)
    assert bucket_ids(keys, ("id",), 256).tolist() == [209, 80, 6]
    assert bucket_ids(keys.slice(0, 0), ("id",), 256).tolist() == []


@pytest.mark.parametrize("text", ["", "a", "polygenelubricants", "é日😀", "x" * 300, "\x00\x7f"])
def test_java_hashes(text: str) -> None:
    units = memoryview(text.encode("utf-16-le")).cast("H").tolist()
    wanted = 0
    for unit in units:
        wanted = (wanted * 31 + unit) & 0xFFFFFFFF
    assert java_hashes(pa.array(["b", text, "日"]))[1] == wanted


def test_file_ids_of_buckets() -> None:
    file_id = file_id_of(7, "b1e0b1e0-4610-8bcd-f1b2-416c0178aaaa")
    assert file_id == "00000007-4610-8bcd-f1b2-416c0178aaaa-0"
    assert bucket_of(file_id) == 7
    assert bucket_of("b1e0b1e0-4610-8bcd-f1b2-416c0178aaaa-0") is None
