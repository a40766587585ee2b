"""Secrets: which values are, where they stand, and texts without them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from spark_jobs.options import HiveSyncOptions, IngestOptions, OptionsError
from spark_jobs.options.private_values import DELIVERED, VARIABLE, write_options_file
from spark_jobs.options.secrets import HIDDEN, Hiding, is_secret_name, secret_values, secrets_within

pytestmark = pytest.mark.unit

SECRETS = {
    "url": "jdbc:postgresql://h/db?user=u&password=in-a-url",
    "password": "plain-one",
    "kafka.sasl.jaas.config": 'x required username="u" password="in-a-login";',
    "fs.s3a.access.key": "an-access-key",
    "fs.azure.account.key.x": "an-account-key",
    "sasToken": "a-sas-token",
    "http.auth.bearer": "a-bearer",
    "other": "https://me:in-the-user-part@host/x",
    "my.key": "an-unknown-key",
}
VALUES = ("in-a-url", "plain-one", "in-a-login", "an-access-key", "an-account-key", "a-sas-token", "a-bearer")
OTHERS = ("in-the-user-part", "an-unknown-key")


def _options() -> IngestOptions:
    return IngestOptions(
        base_path="/t",
        source=("ftp://me:at-the-source@host/x",),
        source_options=SECRETS,
        hoodie_conf={"hoodie.datasource.hive_sync.password": "of-the-metastore", "hoodie.keep.max.commits": "40"},
    )


def test_no_command_line_and_no_text_of_options_has_a_secret() -> None:
    options = _options()
    for secret in (*VALUES, *OTHERS, "at-the-source", "of-the-metastore"):
        assert secret not in " ".join(options.to_args("/f"))
        assert secret not in repr(options).replace("ftp://me:at-the-source@host/x", "")
        assert secret in json.dumps(options.private_values())
        assert secret in options.secrets()
    assert "40" not in options.secrets()


@pytest.mark.parametrize(
    "name",
    [
        *("hoodie.datasource.write.recordkey.field", "hoodie.table.keygenerator.class", "hoodie.x.key"),
        *("idempotency_key", "record_key_fields"),
        *("key.deserializer", "kafka.key.serializer", "primary.key", "partitionColumn", "user", "monkey"),
        *("es.net.pass.through.headers", "bypass"),
    ],
)
def test_names_of_columns_and_classes_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("hoodie.aws.access.key", "ssl.keystore.key", "PRIVATE_KEY", "apiKey", "dbPasswd"),
        *("es.net.http.auth.pass", "db_pass", "userPass", "login.passcode"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("postgres://u:p@ssw0rd!@h/db", {"p@ssw0rd!"}),
        ("s3a://AK:ab/cd+ef@bucket/x", {"ab/cd+ef"}),
        ("mongodb://u:first@h1,mongodb://u:other@h2", {"first", "other"}),
        ("jdbc:oracle:thin:scott/tiger99@//h:1521/x", {"tiger99"}),
        ("jdbc:sqlserver://h;user=a;Pass=hunter22;x=1", {"hunter22"}),
        ("jdbc:sqlserver://h;password={a;b c};x=1", {"a;b c"}),
        ('{"a": {"clientSecret": "in-json"}}', {"in-json"}),
        ("Authorization: Basic dXNlcjpodW50ZXI=", {"dXNlcjpodW50ZXI="}),
        ("http://host:8080/path@x", set()),
        ("jdbc:postgresql://h:5432/db?user=a@b", set()),
        ("SELECT src:token::string AS t FROM <SRC>", set()),
    ],
)
def test_what_a_text_holds(text: str, secrets: set[str]) -> None:
    assert set(secrets_within(text)) == secrets


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("one  line\nand another", "failed (one line and another)"),  # an error is one line
        ("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\n", "read MIIEvQIBADANBgkqhkiG"),  # a key line by line
        ("a/b c", "a%2fb%20c a%2Fb+c a/b%20c"),
        ("wör\"d'x", "'wör\"d\\'x' \"wör\\\"d'x\" w\\u00f6r\\\"d'x"),
    ],
)
def test_a_secret_of_many_spellings(secret: str, text: str) -> None:
    shown = Hiding([secret]).text(text)
    assert not {"another", "MIIEv", "b", "rd"} & set(re.split(r"[^\w]+", shown)), shown
    assert HIDDEN in shown


def test_a_text_shows_none_in_any_spelling() -> None:
    hiding = Hiding(['pa"s/s w', "true", "abc"])
    text = 'a pa"s/s w, pa\\"s/s w, pa%22s/s%20w, pa%22s%2Fs%20w: true abc'
    assert hiding.text(text) == "a ***, ***, ***, ***: true abc"
    assert hiding.within({"n": ['pa"s/s w', 1, None]}) == {"n": ["***", 1, None]}


def test_options_come_from_a_private_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(tmp_path / "options.json")
    write_options_file(file, {"password": "from-the-file", "hoodie_conf": {"a": "file", "b": "file"}})
    monkeypatch.setenv(VARIABLE, json.dumps({"password": "x", "user": "me", "hoodie_conf": {"c": "env"}}))
    words = ["--base-path=/t", f"--options-file={file}", "--hoodie-conf=b=word"]
    options = HiveSyncOptions.from_args(words)
    assert (options.password, options.user) == ("from-the-file", "me")
    assert dict(options.hoodie_conf) == {"c": "env", "a": "file", "b": "word"}
    assert HiveSyncOptions.from_args([*words, "--password=word"]).password == "word"


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_file_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "options.json"
    write_options_file(str(file), {"password": "p"})
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(mode)
    with pytest.raises(OptionsError, match="can be read by others: chmod 600 it"):
        HiveSyncOptions.from_args(["--base-path=/t", f"--options-file={file}"])


def test_a_name_without_a_folder_has_to_be_private_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for that of the file which a cluster's manager brings, with a mode of its own choice."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine.json", DELIVERED):
        write_options_file(name, {"password": "p"})
        Path(name).chmod(0o644)
    with pytest.raises(OptionsError, match=r"mine\.json can be read by others: chmod 600 it"):
        HiveSyncOptions.from_args(["--base-path=/t", "--options-file=mine.json"])
    assert HiveSyncOptions.from_args(["--base-path=/t", f"--options-file={DELIVERED}"]).password == "p"


@pytest.mark.parametrize("text", ['["a-secret"]', "a-secret", '{"pasword": "a-secret"}'])
def test_what_is_no_list_of_options_is_refused_without_a_word_of_it(text: str, tmp_path: Path) -> None:
    file = tmp_path / "options.json"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(OptionsError) as caught:
        HiveSyncOptions.from_args(["--base-path=/t", f"--options-file={file}"])
    assert "a-secret" not in str(caught.value)
    assert str(file) in str(caught.value)


def test_who_names_further_keys_has_their_values_hidden() -> None:
    pairs = (
        ("hoodie.sensitive.config.keys", "Vault,shelf"),
        ("my.vault.place", "in-the-vault"),
        ("my.place", "elsewhere"),
    )
    assert secret_values(pairs) == {"in-the-vault"}
