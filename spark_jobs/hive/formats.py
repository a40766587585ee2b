"""Input format, output format and SerDe by base file format (Hudi: HoodieInputFormatUtils)."""

from __future__ import annotations

from spark_jobs.core.errors import ConfigError

Formats = tuple[str, str, str]
"""Class names of input format, output format and SerDe."""

_PARQUET_OUTPUT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
_PARQUET_SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"
_ORC = "org.apache.hadoop.hive.ql.io.orc."
_INPUT = {
    ("PARQUET", False): "org.apache.hudi.hadoop.HoodieParquetInputFormat",
    ("PARQUET", True): "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat",
    ("HFILE", False): "org.apache.hudi.hadoop.HoodieHFileInputFormat",
    ("HFILE", True): "org.apache.hudi.hadoop.realtime.HoodieHFileRealtimeInputFormat",
    ("ORC", False): _ORC + "OrcInputFormat",
    ("ORC", True): _ORC + "OrcInputFormat",
}
_PRE_APACHE_INPUT = {
    False: "com.uber.hoodie.hadoop.HoodieInputFormat",
    True: "com.uber.hoodie.hadoop.realtime.HoodieRealtimeInputFormat",
}
HUDI_INPUT_FORMATS = frozenset(
    name
    for name in (*_INPUT.values(), *_PRE_APACHE_INPUT.values())
    if name.startswith(("org.apache.hudi.", "com.uber."))
)
REALTIME_INPUT_FORMATS = frozenset(name for name in HUDI_INPUT_FORMATS if ".realtime." in name)


def formats_of(base_file_format: str, *, realtime: bool, pre_apache: bool) -> Formats:
    """The three classes of a table that is read with (``realtime``) or without its log files.

    :raises ConfigError: Hive has no format for these base files.
    """
    if (base_file_format, realtime) not in _INPUT:
        raise ConfigError(
            f"hoodie.datasource.hive_sync.base_file_format={base_file_format} is not known",
            todo="give PARQUET, HFILE or ORC",
        )
    if base_file_format == "ORC":
        return _INPUT["ORC", realtime], _ORC + "OrcOutputFormat", _ORC + "OrcSerde"
    reader = (
        _PRE_APACHE_INPUT[realtime]
        if pre_apache and base_file_format == "PARQUET"
        else _INPUT[base_file_format, realtime]
    )
    return reader, _PARQUET_OUTPUT, _PARQUET_SERDE
