"""Read JSON and TOML files with a limit on size and depth, and report errors in a single line."""

import json
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ecg_base import EcgError, InputError, read_bounded

JSON_BYTES = 1 << 26
"""Default maximum size of a JSON file in bytes. Most files have less than a hundredth of this size."""
Model = TypeVar("Model", bound=BaseModel)


def read_json(path: Path, remedy: str, error: type[InputError] = InputError, most: int = JSON_BYTES) -> Any:
    """Read a JSON file of at most `most` bytes. If this fails, raise `error` with `remedy` as its advice."""
    return parse_json(read_bounded(path, remedy, error, most), path, remedy, error)


def parse_json(content: bytes, where: object, remedy: str, error: type[InputError] = InputError) -> Any:
    """Parse the bytes of the JSON file `where`. If this fails, raise `error` with `remedy` as its advice."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as cause:
        raise error(f"is damaged ({_reason(cause)})", where=where, remedy=remedy) from cause


def read_model(
    model: type[Model],
    path: Path,
    problem: str,
    remedy: str,
    error: type[InputError] = InputError,
    most: int = JSON_BYTES,
) -> Model:
    """Read a JSON file as a pydantic model.

    Raises an error of the class `error`, with `remedy` as its advice, if the file can't be read, is larger
    than `most` bytes or doesn't fit the model. For a file that doesn't fit, the message is `problem` followed
    by the invalid fields.
    """
    content = read_bounded(path, remedy, error, most)
    try:
        return model.model_validate_json(content)
    except ValidationError as cause:
        fields = [".".join(map(str, entry["loc"])) or entry["msg"] for entry in cause.errors()]
        listed = ", ".join(dict.fromkeys(fields[:3]))
        raise error(f"{problem} ({listed})", where=path, remedy=remedy) from cause


def read_toml(path: Path, remedy: str, syntax: type[EcgError] = InputError) -> dict[str, Any]:
    """Read a TOML file.

    Raises `InputError` if the file can't be read as UTF-8, and an error of the class `syntax` if the text
    isn't valid TOML. The advice of the error is `remedy`.
    """
    content = read_bounded(path, remedy, InputError)
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as cause:
        raise InputError("isn't UTF-8", where=path, remedy=remedy) from cause
    except (tomllib.TOMLDecodeError, RecursionError) as cause:
        raise syntax(f"isn't TOML ({_reason(cause)})", where=path, remedy=remedy) from cause


def _reason(cause: Exception) -> str:
    return "it nests too deeply" if isinstance(cause, RecursionError) else str(cause)
