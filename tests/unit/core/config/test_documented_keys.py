"""Of each key that Hudi 0.15 documents something is said: it is read, refused, or without effect for a reason.

documented_keys.txt has their names, older ones too: what Hudi's Spark bundle declares, and what its page of
configurations has beyond, of Hudi Streamer, the cloud's catalogs and locks, and Kafka Connect. Flink's own keys have
other prefixes, and are no keys of this project's jobs; those of Kafka and Hadoop are theirs. The same holds for keys
that Hudi has since 1.0 (later_keys.txt): what its bundles 1.0.2 and 1.2.0 add.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.config.keys.lock import LOCK_WAIT
from spark_jobs.core.config.known import declared, unknown_key_warnings, why_without_effect
from spark_jobs.core.config.later_versions import OF_LATER_VERSIONS
from spark_jobs.core.config.refused import REFUSED
from spark_jobs.core.config.without_effect import WITHOUT_EFFECT, WithoutEffect

pytestmark = pytest.mark.unit
FOLDER = Path(__file__).parent
DOCUMENTED = (FOLDER / "documented_keys.txt").read_text(encoding="utf-8").splitlines()
LATER = (FOLDER / "later_keys.txt").read_text(encoding="utf-8").splitlines()
READ = {name for key in declared() for name in key.names}
REFUSED_NAMES = [name for one in REFUSED for name in one.names]


def test_the_list_is_in_order_and_long() -> None:
    assert sorted(set(DOCUMENTED)) == DOCUMENTED
    assert len(DOCUMENTED) > 800
    assert sorted(set(LATER) - set(DOCUMENTED)) == LATER
    assert len(LATER) > 150


@pytest.mark.parametrize("keys", [DOCUMENTED, LATER], ids=["0.15", "later"])
def test_each_is_accounted_for(keys: list[str]) -> None:
    known = READ | set(REFUSED_NAMES)
    assert [name for name in keys if name not in known and why_without_effect(name) is None] == []


@pytest.mark.parametrize("keys", [DOCUMENTED, LATER], ids=["0.15", "later"])
def test_none_is_taken_for_a_misspelling(keys: list[str]) -> None:
    assert [line for line in unknown_key_warnings(keys) if " has no effect: " not in line] == []


def test_nothing_is_said_of_keys_that_hudi_does_not_have() -> None:
    all_keys = {*DOCUMENTED, *LATER}
    assert [name for name in REFUSED_NAMES if not {name, _present(name)} & all_keys] == []
    documented = [name for one in WITHOUT_EFFECT for name in one.names]
    assert [name for name in documented if not {*_covered(name), *_covered(_present(name))} & set(DOCUMENTED)] == []
    later = [name for one in OF_LATER_VERSIONS for name in one.names]
    assert [name for name in later if not _covered(name) & set(LATER)] == []


def test_each_key_has_one_meaning() -> None:
    plain = [name for one in (*WITHOUT_EFFECT, *OF_LATER_VERSIONS) for name in one.names]
    assert len({*READ, *REFUSED_NAMES, *plain}) == len(READ) + len(REFUSED_NAMES) + len(plain)


def test_what_is_read_is_not_covered_by_the_beginning_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    locks = WithoutEffect(because="nobody waits", names=("hoodie.write.lock.",))
    monkeypatch.setattr("spark_jobs.core.config.known.WITHOUT_EFFECT", (locks,))
    (line,) = unknown_key_warnings([LOCK_WAIT.name, "hoodie.write.lock.patience"])
    assert line == "hoodie.write.lock.patience has no effect: nobody waits"


def test_a_key_without_effect_is_named_with_its_reason() -> None:
    given = {"hoodie.embed.timeline.server.port": "1", "hoodie.metrics.on": "true", "hoodie.aws.role.arn": "arn:x"}
    assert unknown_key_warnings(given) == [
        "hoodie.aws.role.arn has no effect: no service of this cloud is called but for its storage, which has settings "
        "of its own",
        "hoodie.embed.timeline.server.port has no effect: no timeline server is started: every process reads the "
        "timeline itself",
        "hoodie.metrics.on has no effect: a job tells its numbers by its result, and nothing else is called",
    ]


def test_a_key_is_known_by_any_beginning_that_hudi_or_this_project_gives() -> None:
    lines = unknown_key_warnings(["as.of.instant", "pyhudi.lock.lease_mss", "fetch.min.bytes", "spark.app.name"])
    assert [line.split(": ")[0] for line in lines] == [
        "as.of.instant has no effect",
        "pyhudi.lock.lease_mss is not known to this release and has no effect; did you mean pyhudi.lock.lease_ms?",
    ]


def _present(name: str) -> str:
    """The present name of a key of Hudi Streamer; younger ones have no older name."""
    return name.replace("hoodie.deltastreamer.", "hoodie.streamer.")


def _covered(name: str) -> set[str]:
    return {key for key in (*DOCUMENTED, *LATER) if key == name or (name.endswith(".") and key.startswith(name))}
