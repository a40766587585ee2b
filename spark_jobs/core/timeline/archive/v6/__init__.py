"""The archive of table version 6: log files of Avro records."""
