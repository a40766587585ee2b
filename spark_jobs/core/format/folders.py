"""Folders of ``.hoodie`` that no version of the format moves; of others the table's format is asked."""

from __future__ import annotations

META_FOLDER = ".hoodie"
METADATA_FOLDER = f"{META_FOLDER}/metadata"
"""The base path of the metadata table."""
MARKER_FOLDER = f"{META_FOLDER}/.temp"
HEARTBEAT_FOLDER = f"{META_FOLDER}/.heartbeat"
SCHEMA_FOLDER = f"{META_FOLDER}/.schema"
AUX_FOLDER = f"{META_FOLDER}/.aux"
BOOTSTRAP_INDEX_FOLDER = f"{AUX_FOLDER}/.bootstrap"
SOURCE_FOLDER = f"{AUX_FOLDER}/pyhudi.source"
"""Below it a folder for each instant whose write is under way, with rows that its tasks hold for each other."""
CONSISTENT_HASHING_FOLDER = f"{META_FOLDER}/.bucket_index/consistent_hashing_metadata"
"""Which ranges of hashes each bucket of a consistent-hashing index has, for each partition."""
ARCHIVE_NAME = "archived"
"""What tables name the folder of their archive, unless they are made with another name."""
TIMELINE_FOLDERS = (META_FOLDER, f"{META_FOLDER}/timeline")
"""Where any release of Hudi has its timeline, also one whose tables are not known here."""
