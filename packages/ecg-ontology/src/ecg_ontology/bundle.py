"""A draft as one JSON file with a hash of its content: the wheel carries one, a run folder keeps one."""

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ecg_ontology.concepts import Frozen
from ecg_ontology.drafts import Draft
from ecg_ontology.errors import SourceError
from ecg_ontology.files import replacing

_HASH = "bundle_sha256"
_STATED = re.compile(rb'\s*\{\s*"bundle_sha256"\s*:\s*"([0-9a-f]{64})"\s*,')
_NOT_CONTENT = {"place", "node_label"}
"""Where a file states something is the file's; so is what a row calls its node."""


def read_bundle(path: Path) -> Draft:
    """Read a bundle (`ccg.json`, or a run folder's `ontology.json`).

    Raises:
        SourceError: the file can't be read, is no bundle, or was changed since it was written.
    """
    try:
        return parse_bundle(path.read_bytes(), path)
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", where=path) from error


def parse_bundle(text: bytes, where: object) -> Draft:
    """Read the text of a bundle. One that was written before bundles had a hash is read as it is.

    Raises:
        SourceError: it is no bundle, or was changed since it was written.
    """
    stated = _STATED.match(text)
    content = b"{" + text[stated.end() :] if stated else text
    try:
        draft = msgspec.json.decode(content, type=Draft)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SourceError(
            f"is no ontology bundle: {error}",
            where=where,
            remedy="Write a bundle with `ecgonto build` or `ecgonto export OUT.json`",
        ) from error
    if stated and not _is_of(content, draft, stated[1].decode()):
        raise SourceError(
            f"was changed since it was written: its {_HASH} is not that of its content",
            where=where,
            remedy="Put back the file as it was, or change the sources and build it anew",
        )
    return draft


def _is_of(content: bytes, draft: Draft, sha256: str) -> bool:
    """Whether a hash is that of the content: as it was written, or set out anew by an editor."""
    return hashlib.sha256(content.rstrip()).hexdigest() == sha256 or bundle_sha256(draft) == sha256


def write_bundle(draft: Draft, path: Path) -> None:
    """Write `draft` as a bundle: the same bytes for the same content, wherever it was read from.

    Raises:
        OutputError: the file can't be written.
    """
    with replacing(path) as temporary:
        temporary.write_text(bundle_text(draft), encoding="utf-8")


def bundle_text(draft: Draft) -> str:
    """Return the text of the bundle, its hash first."""
    content = _content(draft)
    return f'{{\n "{_HASH}": "{_sha256(content)}",{content.removeprefix("{")}\n'


def bundle_sha256(draft: Draft) -> str:
    """Return the SHA-256 of everything in a bundle but this hash: labels, texts, flags and routing too."""
    return _sha256(_content(draft))


def _content(draft: Draft) -> str:
    return json.dumps(_stated(draft), indent=1, ensure_ascii=False)


def _stated(value: object) -> object:
    """What a bundle holds of a value: the fields that say more than their defaults."""
    if isinstance(value, tuple):
        return [_stated(each) for each in value]
    if not isinstance(value, Frozen):
        return value
    fields = {name: (getattr(value, name), default) for name, default in _defaults(type(value)).items()}
    return {name: _stated(field) for name, (field, default) in fields.items() if field != default}


@cache
def _defaults(kind: type[Frozen]) -> dict[str, Any]:
    """The default of every field that is content, msgspec's NODEFAULT where there is none."""
    return {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in msgspec.structs.fields(kind)
        if field.name not in _NOT_CONTENT
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
