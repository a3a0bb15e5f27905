"""Errors, files and text escaping shared by several packages. Nothing here concerns ECGs or an ontology."""

from ecg_base.errors import (
    ConfigError,
    EcgError,
    InputError,
    OutputError,
    StoppedError,
    UnknownSettingError,
    UsageError,
    optional,
    refuse_unknown,
    suggest,
)
from ecg_base.escaping import UNPRINTABLE, guarded, plain_markdown, printable, unguarded
from ecg_base.files import (
    refuse_address,
    refuse_others,
    refuse_unmarked,
    remove_left_over,
    replacing,
    write_text,
)
from ecg_base.reading import (
    file_sha256,
    parquet_batches,
    read_bounded,
    refuse_pipe,
    refuse_zip_bomb,
)

__all__ = [
    "UNPRINTABLE",
    "ConfigError",
    "EcgError",
    "InputError",
    "OutputError",
    "StoppedError",
    "UnknownSettingError",
    "UsageError",
    "file_sha256",
    "guarded",
    "optional",
    "parquet_batches",
    "plain_markdown",
    "printable",
    "read_bounded",
    "refuse_address",
    "refuse_others",
    "refuse_pipe",
    "refuse_unknown",
    "refuse_unmarked",
    "refuse_zip_bomb",
    "remove_left_over",
    "replacing",
    "suggest",
    "unguarded",
    "write_text",
]
