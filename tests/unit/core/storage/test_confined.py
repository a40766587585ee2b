"""A storage that touches nothing but a table, and the paths that may be asked of it (invariant 15)."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spark_jobs
from spark_jobs.core.errors import OutsideTableError
from spark_jobs.core.storage import ConfinedStorage, LocalStorage, RelativePath, Storage, join, resolve
from spark_jobs.core.storage.confined import beside, refuse_links
from spark_jobs.core.storage.relative_path import file_name, named_file

pytestmark = pytest.mark.unit

SOUND = ["", "a", "a/b", "p=1/q=%2F", "a b/ü", "..foo/x", "a/.x_1.log.1_0-1-1", "a/...", "a/b..", "~/x", "c:\\d"]
OTHERS = ["..", ".", "/", "/a", "a/", "a//b", "a/../b", "../a", "./a", "a/.", "a/..", "a\0b"]


@pytest.mark.parametrize("text", SOUND)
def test_sound_paths(text: str) -> None:
    path = RelativePath(text)
    assert path == text
    assert pickle.loads(pickle.dumps(path)) == path
    assert isinstance(pickle.loads(pickle.dumps(path)), RelativePath)


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_refused_with_the_file_that_names_them(text: str) -> None:
    with pytest.raises(
        OutsideTableError, match=r"^1\.clean\.requested names .*, which is no path below the table: "
    ) as caught:
        RelativePath(text, "1.clean.requested")
    assert caught.value.exit_code == 5
    assert "\n" not in str(caught.value)
    assert caught.value.details == {"where": "1.clean.requested", "path": text}


PARTS = st.sampled_from(["", ".", "..", "...", "..a", "a", "b c", "%2E%2E", "\n", "ü", "=", "\\", "-"])


@given(st.lists(PARTS, max_size=5).map("/".join) | st.text(max_size=12))
@example("/")
@example("..")
def test_what_can_be_made_stays_below_where_it_begins(text: str) -> None:
    """Judged by what the operating system makes of a path."""
    inside = "\0" not in text and (text == "" or os.path.normpath(f"/base/{text}") == f"/base/{text}")
    try:
        found = resolve("/base", RelativePath(text))
    except OutsideTableError:
        assert not inside
    else:
        assert inside
        assert found == (f"/base/{text}" if text else "/base")


@pytest.mark.parametrize(
    ("partition", "path", "found"),
    [
        ("a", "x", "a/x"),
        ("a", "a/x", "a/x"),
        ("a/b", "/the/old/place/a/b/x", "a/b/x"),
        ("a", "file:/tmp/t/a/x", "a/x"),
        ("a", "hdfs://host:8020/t/a/x", "a/x"),
        ("", "/t/x", "x"),
        ("", "x", "x"),
    ],
)
def test_files_that_plans_name(partition: str, path: str, found: str) -> None:
    assert named_file(partition, path, "f") == found


@pytest.mark.parametrize(
    ("partition", "path"),
    [
        ("../v", "x"),
        ("a", "/t/b/x"),
        ("a", "/t/ba/x"),
        ("a", "/t/a/../x"),
        ("a", ".."),
        ("a", "/t/a/.."),
        ("a", "/t/a/"),
        ("a", ""),
        ("/a", "x"),
        ("a//b", "x"),
    ],
)
def test_files_that_no_plan_may_name(partition: str, path: str) -> None:
    with pytest.raises(OutsideTableError, match=r"^f names "):
        named_file(partition, path, "f")


def test_names_and_joins() -> None:
    assert file_name("..x", "f") == "..x"
    for name in ("a/b", "..", "", "."):
        with pytest.raises(OutsideTableError):
            file_name(name, "f")
    for partition, name in (("..", "x"), ("a", "../x"), ("a", ""), ("/", "x")):
        with pytest.raises(OutsideTableError):
            join(partition, name)


CALLS: dict[str, Callable[[Storage, str], object]] = {
    "create": lambda storage, path: storage.create(path, b"x"),
    "create empty": lambda storage, path: storage.create(path, b""),
    "replace": lambda storage, path: storage.replace(path, b"x"),
    "replace_if": lambda storage, path: storage.replace_if(path, b"x", "1"),
    "read": lambda storage, path: storage.read(path),
    "list": lambda storage, path: storage.list(path),
    "walk": lambda storage, path: list(storage.walk(path)),
    "stat": lambda storage, path: storage.stat(path),
    "has_folder": lambda storage, path: storage.has_folder(path),
    "delete": lambda storage, path: storage.delete(path),
    "delete_if": lambda storage, path: storage.delete_if(path, "1"),
    "delete_tree": lambda storage, path: storage.delete_tree(path),
    "remove_empty_directory": lambda storage, path: storage.remove_empty_directory(path),
    "make_directory": lambda storage, path: storage.make_directory(path),
    "open_input": lambda storage, path: storage.open_input(path),
    "open_output": lambda storage, path: storage.open_output(path),
}


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path, ConfinedStorage]:
    """A table, a folder that is none of its business, and the storage of the table."""
    table, victim = tmp_path / "t", tmp_path / "victim"
    (table / "a").mkdir(parents=True)
    (victim / "empty").mkdir(parents=True)
    (victim / "x").write_bytes(b"precious")
    return table, victim, ConfinedStorage.around(LocalStorage(), str(table))


def is_untouched(victim: Path) -> bool:
    return sorted(one.name for one in victim.iterdir()) == ["empty", "x"] and (victim / "x").read_bytes() == b"precious"


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("path", ["victim/x", "t/../victim/x", "t/a/../../victim/x", "tt/x", "t/a/..", "victim/empty"])
def test_no_call_reaches_outside(places: tuple[Path, Path, ConfinedStorage], call: str, path: str) -> None:
    table, victim, storage = places
    with pytest.raises(OutsideTableError):
        CALLS[call](storage, f"{table.parent}/{path}")
    assert is_untouched(victim)


@pytest.mark.parametrize("call", CALLS)
def test_no_call_goes_through_a_linked_folder(places: tuple[Path, Path, ConfinedStorage], call: str) -> None:
    table, victim, storage = places
    (table / "p").symlink_to(victim)
    for path in ("p/x", "p/empty", "p/new/x"):
        with pytest.raises(OutsideTableError, match=rf"^{table}/p is a link, and links are not followed"):
            CALLS[call](storage, f"{table}/{path}")
    assert is_untouched(victim)


@pytest.mark.parametrize("call", ["list", "walk", "delete_tree", "remove_empty_directory", "make_directory"])
def test_a_linked_folder_is_none_of_the_table(places: tuple[Path, Path, ConfinedStorage], call: str) -> None:
    table, victim, storage = places
    (table / "p").symlink_to(victim)
    with pytest.raises(OutsideTableError, match="is a link"):
        CALLS[call](storage, f"{table}/p")
    assert is_untouched(victim)


def test_a_walk_ends_at_a_link(places: tuple[Path, Path, ConfinedStorage]) -> None:
    table, _, storage = places
    (table / "a" / "self").symlink_to(table)
    with pytest.raises(OutsideTableError, match="a/self is a link"):
        list(storage.walk(str(table)))


def test_of_a_linked_file_the_link_can_go_and_nothing_else(places: tuple[Path, Path, ConfinedStorage]) -> None:
    table, victim, storage = places
    link = table / "a" / "x"
    for act in (CALLS["delete"], CALLS["replace"]):
        link.symlink_to(victim / "x")
        for read in ("read", "open_input"):
            with pytest.raises(OutsideTableError, match="a/x is a link"):
                CALLS[read](storage, str(link))
        with pytest.raises(OutsideTableError, match="a/x is a link"):
            refuse_links(storage, [str(link)])
        act(storage, str(link))
        assert not link.is_symlink()
        link.unlink(missing_ok=True)
    assert is_untouched(victim)


def test_links_above_a_table_are_its_owners(places: tuple[Path, Path, ConfinedStorage]) -> None:
    table, _, _ = places
    link = table.parent / "current"
    link.symlink_to(table)
    storage = ConfinedStorage.around(LocalStorage(), str(link))
    storage.create(f"{link}/a/x", b"x")
    assert [one.name for one in storage.walk(str(link))] == ["x"]
    assert storage.stat(str(link)) is not None


def test_a_folder_that_the_caller_names_is_open_too(places: tuple[Path, Path, ConfinedStorage]) -> None:
    """As one for the lock, which a job may want elsewhere."""
    table, victim, storage = places
    wider = pickle.loads(pickle.dumps(beside(storage, str(victim))))
    assert wider.read(f"{victim}/x") == b"precious"
    assert wider.list(str(table)) == storage.list(str(table))
    with pytest.raises(OutsideTableError):
        wider.read(f"{victim}/../x")


BY_HAND = re.compile(r"(?:base_path|table\.folder)\}/\{[a-z(]")
"""A base path, a slash and something that no constant names, in one text."""


def test_nothing_is_joined_to_a_base_path_but_by_type() -> None:
    """``resolve`` takes a :class:`RelativePath` alone, as the type checker sees; a text in pieces goes past it."""
    assert BY_HAND.search('f"{one.base_path}/{name}"')
    assert not BY_HAND.search('f"{base_path}/{FOLDER}/x"')
    root = Path(spark_jobs.__file__).parent
    texts = {one.relative_to(root).as_posix(): one.read_text() for one in root.rglob("*.py")}
    assert [name for name, text in texts.items() if BY_HAND.search(text)] == ["core/storage/relative_path.py"]
