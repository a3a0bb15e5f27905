"""Read and write bundles. A bundle is a single JSON file with a draft, the content of an ontology's files.

The first field is the SHA-256 of the file without this field and the final newline. The hash covers the bytes
and not the parsed draft, so that program versions with more or fewer fields can verify the bundle.
"""

import hashlib
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ecg_base import read_bounded
from ecg_ontology.base.errors import SourceError
from ecg_ontology.graph.drafts import Draft

_HASH = "bundle_sha256"
BUNDLE_MARK = f'"{_HASH}"'.encode()
_STATED = re.compile(rb'\s*\{\s*"bundle_sha256"\s*:\s*"([0-9a-f]{64})"\s*,')
_NOT_CONTENT = {"place", "node_label"}
"""Fields that describe the source files and not the ontology: locations, and node labels as written in
rows."""
_LISTS = ("concepts", "relations", "mappings", "crosswalks", "misstatements")
_EXCLUDED: dict[str, Any] = {
    **{field: {"__all__": _NOT_CONTENT} for field in _LISTS},
    "lock": {"place", "routing", "routes"},
    "unread": True,
}


def read_bundle(path: Path) -> Draft:
    """Read a bundle, such as `ccg.json` or a run's `ontology.json`. Unknown fields are ignored.

    Raises:
        SourceError: the file isn't a bundle, or was changed after it was written.
    """
    text = read_bounded(path, error=SourceError)
    stated = _STATED.match(text)
    content = b"{" + text[stated.end() :] if stated else text
    try:
        draft = Draft.model_validate_json(content, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        problem = f"isn't an ontology bundle: {field + ': ' if field else ''}{first['msg']}"
        remedy = "Write a bundle with `ecgonto build` or `ecgonto export OUT.json`"
        raise SourceError(problem, where=path, remedy=remedy) from error
    if not stated or stated[1].decode() != _sha256(content.removesuffix(b"\n")):
        problem = f"was changed after it was written: {_HASH} doesn't match the content"
        remedy = "Restore the file, or change the sources and build the bundle again"
        raise SourceError(problem, where=path, remedy=remedy)
    return draft


def bundle_text(draft: Draft) -> str:
    """Return the text of the bundle of a draft. Equal drafts give equal texts."""
    content = _content(draft)
    return f'{{\n "{_HASH}": "{_sha256(content.encode())}",{content.removeprefix("{")}\n'


def bundle_sha256(draft: Draft) -> str:
    """Return the SHA-256 of the content of a draft's bundle, including labels, texts and routing."""
    return _sha256(_content(draft).encode())


def _content(draft: Draft) -> str:
    return draft.model_dump_json(indent=1, exclude=_EXCLUDED, exclude_defaults=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
