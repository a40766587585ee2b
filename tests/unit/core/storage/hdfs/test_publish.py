"""A file is renamed to its name, and the answer of that may be lost; no cluster is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest
from hdfs_native import Client

from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.storage.hdfs.publish import NewFile

pytestmark = pytest.mark.unit
FILE = NewFile(data=b"1", name=UUID(int=7), permission=0o644, folders=0o755, synced=True)


@dataclass
class NameNode:
    """Stands for one whose connection breaks within a rename, which a cluster does not do when it is asked to: with or
    without the work done, and with or without an answer afterwards.
    """

    is_done: bool = False
    answers_again: bool = True
    says: Exception = field(default_factory=lambda: RuntimeError("connection reset"))
    files: dict[str, int] = field(default_factory=lambda: {"/t": FILE.block_size})

    def rename(self, old: str, new: str, over: bool) -> None:
        if self.is_done:
            self.files[new] = self.files.pop(old)
        raise self.says

    def get_file_info(self, file: str) -> Any:
        if not self.answers_again:
            raise self.says
        if file not in self.files:
            raise FileNotFoundError(file)
        return SimpleNamespace(length=1, blocksize=self.files[file])

    def delete(self, file: str, recursive: bool) -> bool:
        return self.files.pop(file, None) is not None


def publish(node: NameNode) -> None:
    FILE.publish(cast(Client, node), "/t", "/f", over=False)


def test_a_rename_whose_answer_was_lost_is_one() -> None:
    node = NameNode(is_done=True)
    publish(node)
    assert node.files == {"/f": FILE.block_size}


@pytest.mark.parametrize("answers_again", [True, False])
def test_a_rename_that_failed_leaves_nothing_and_says_why(answers_again: bool) -> None:
    node = NameNode(answers_again=answers_again)
    with pytest.raises(RuntimeError, match="connection reset"):
        publish(node)
    assert node.files == {}


def test_another_file_of_that_name_is_not_taken_for_this_one() -> None:
    node = NameNode(files={"/t": FILE.block_size, "/f": FILE.block_size + 512})
    with pytest.raises(RuntimeError, match="connection reset"):
        publish(node)
    node.says = FileExistsError("/f")
    with pytest.raises(AlreadyExistsError):
        publish(node)
    assert node.files == {"/f": FILE.block_size + 512}
