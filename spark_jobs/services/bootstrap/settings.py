"""What table a bootstrap makes: name, type, keys and partitions, from the options and the folders of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.config.keys import bootstrap as bootstrap_keys
from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.create import asked_of_new_table
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.keygen.new_tables import asked_class
from spark_jobs.core.keygen.spec import KeySpec, persisted_settings
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options.bootstrap import BootstrapOptions
from spark_jobs.services.bootstrap.source import Source, hive_fields, list_source


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapSettings:
    """``properties`` are the ``hoodie.*`` values of the job."""

    lake: Lake
    url: str
    source: Source
    name: str
    table_type: table_keys.TableType
    key_spec: KeySpec
    precombine_field: str
    properties: Mapping[str, str]

    @staticmethod
    def of(options: BootstrapOptions, lake: Lake) -> BootstrapSettings:
        """
        :param options: effective ones.
        :raises ConfigError: a setting is missing, wrong, or at odds with the source's folders.
        """
        properties = options.hoodie_properties()
        if not options.source:
            raise ConfigError("a bootstrap needs a source", todo="give --source or hoodie.bootstrap.base.path")
        if not options.table_name:
            raise ConfigError("a new table needs a name", todo="give --table-name or hoodie.table.name")
        if not options.record_key_fields:
            raise ConfigError("a new table needs record key fields", todo="give --record-key-fields")
        _refuse_unsupported(properties)
        asked_of_new_table(properties)
        base_path, place = lake.place(options.base_path).path, lake.place(options.source)
        path = place.path
        if f"{base_path}/".startswith(f"{path}/") or f"{path}/".startswith(f"{base_path}/"):
            raise ConfigError(
                f"the table {base_path} and its source {path} lie in each other",
                todo="give --base-path a folder outside of the source",
            )
        source = list_source(place.storage, path)
        return BootstrapSettings(
            lake=lake,
            url=options.base_path,
            source=source,
            name=options.table_name,
            table_type=table_keys.TableType(options.table_type or "COPY_ON_WRITE"),
            key_spec=_key_spec(options, properties, source),
            precombine_field=options.precombine_field or "",
            properties=properties,
        )

    @property
    def base_path(self) -> str:
        return self.lake.place(self.url).path

    @property
    def table_properties(self) -> dict[str, str]:
        """What the table has beside the properties of any new table."""
        return {
            bootstrap_keys.BOOTSTRAP_BASE_PATH.name: self.source.path,
            bootstrap_keys.BOOTSTRAP_INDEX_CLASS.name: bootstrap_keys.BOOTSTRAP_INDEX_CLASS.default,
            **asked_of_new_table(self.properties),
            **persisted_settings(self.properties, self.key_spec),
        }

    def create_table(self) -> HudiTable:
        """
        :raises AlreadyExistsError: a table stands there.
        """
        spec = self.key_spec
        return HudiTable.create(
            self.url,
            lake=self.lake,
            name=self.name,
            table_type=self.table_type.value,
            record_key_fields=spec.record_key_fields,
            partition_fields=spec.partition_fields,
            precombine_field=self.precombine_field,
            payload_class=datasource_keys.PAYLOAD_CLASS.of(self.properties)
            if self.table_type is table_keys.TableType.MERGE_ON_READ
            else "",
            hive_style=spec.hive_style,
            url_encode=spec.url_encode,
            key_generator_class=spec.class_name,
            properties=self.table_properties,
        )

    def refuse_other_table(self, config: TableConfig) -> None:
        """
        :raises ConfigError: a table that was not made by a bootstrap with these settings.
        """
        spec = self.key_spec
        pairs = {
            bootstrap_keys.BOOTSTRAP_BASE_PATH.name: (
                bootstrap_keys.BOOTSTRAP_BASE_PATH.of(config.properties),
                self.source.path,
            ),
            table_keys.NAME.name: (config.name, self.name),
            table_keys.TYPE.name: (config.table_type.value, self.table_type.value),
            table_keys.RECORD_KEY_FIELDS.name: (",".join(config.record_key_fields), ",".join(spec.record_key_fields)),
            table_keys.PARTITION_FIELDS.name: (",".join(config.partition_fields), ",".join(spec.partition_fields)),
            datasource_keys.HIVE_STYLE.name: (str(config.hive_style), str(spec.hive_style)),
            table_keys.KEY_GENERATOR_CLASS.name: (config.key_generator_class, spec.class_name),
        }
        for key, (own, asked) in pairs.items():
            if own != asked:
                raise ConfigError(
                    f"at {self.base_path} is a table with {key}={own or '(none)'}, the bootstrap asks for {asked}",
                    todo="give another --base-path, or remove that table",
                    key=key,
                )

    def to_json(self) -> dict[str, object]:
        """What decides how the table is made."""
        spec = self.key_spec
        return {
            "name": self.name,
            "type": self.table_type.value,
            "record_key_fields": list(spec.record_key_fields),
            "partition_fields": list(spec.partition_fields),
            "precombine_field": self.precombine_field,
            "key_generator": spec.class_name,
            "hive_style": spec.hive_style,
            "url_encode": spec.url_encode,
        }


def _key_spec(options: BootstrapOptions, properties: Mapping[str, str], source: Source) -> KeySpec:
    """The folders tell partition columns and hive style where the options don't."""
    named = hive_fields(source.partitions)
    class_name = asked_class(properties)
    hive_style = datasource_keys.HIVE_STYLE.of(properties)
    if not properties.get(datasource_keys.HIVE_STYLE.name):
        hive_style = bool(named)
    return KeySpec.of(
        options.record_key_fields,
        options.partition_path_fields or (() if class_name else named),
        hive_style=hive_style,
        url_encode=datasource_keys.URL_ENCODE.of(properties),
        class_name=class_name,
        properties=properties,
    )


def _refuse_unsupported(properties: Mapping[str, str]) -> None:
    bootstrap_keys.TRANSLATOR.of(properties)
    if not bootstrap_keys.INDEX_ENABLED.of(properties):
        raise ConfigError(
            f"{bootstrap_keys.INDEX_ENABLED.name}=false makes a table whose rows no reader finds",
            todo="leave it out; with FULL_RECORD there is no index anyway",
            key=bootstrap_keys.INDEX_ENABLED.name,
        )
    if not table_keys.POPULATE_META_FIELDS.of(properties):
        raise ConfigError(
            f"{table_keys.POPULATE_META_FIELDS.name}=false and a bootstrap exclude each other, its files hold them",
            todo="leave it out",
            key=table_keys.POPULATE_META_FIELDS.name,
        )
    if properties.get(bootstrap_keys.BOOTSTRAP_INDEX_CLASS.name, "").rpartition(".")[2] not in (
        "",
        "HFileBootstrapIndex",
    ):
        raise ConfigError(
            f"{bootstrap_keys.BOOTSTRAP_INDEX_CLASS.name} is none that this release writes",
            todo="leave it out",
            key=bootstrap_keys.BOOTSTRAP_INDEX_CLASS.name,
        )
