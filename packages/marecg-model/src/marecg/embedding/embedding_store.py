"""Folder of embeddings, with a manifest that is fixed before the first part.

_embeddings.json     manifest: model, readout, records, records per part
part-00000.parquet   first part (`embedding_files.write`); its metadata lists records that failed
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ecg_base import remove_left_over
from ecg_records.readers.discovery import EMBEDDINGS
from ecg_records.storage.documents import JSON_BYTES, parse_json
from ecg_records.storage.places import Place
from marecg.embedding.recordings import Embedded
from marecg.errors import CorpusError, OutputError, UsageError

METADATA_KEY = b"marecg"
"""Key of a part's metadata."""
_WORDS = {
    "format": "format",
    "weights_sha256": "weights",
    "ontology_sha256": "ontology",
    "readout": "readout",
    "patches": "patches",
    "records": "number of records",
    "records_sha256": "records",
    "part_records": "records per part",
    "arrays": "array layout",
}
"""Words for the keys of a manifest, for error messages."""


@dataclass(frozen=True)
class EmbeddingStore:
    """Store of embeddings: the finished and unfinished parts of a folder or an address.

    `settings` is the content of its manifest. Equal manifests lead to equal bytes.
    """

    where: str
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        return math.ceil(int(self.settings["records"]) / int(self.settings["part_records"]))

    @property
    def key(self) -> str:
        """Return the identity that a part's metadata must have."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    def span(self, number: int) -> tuple[int, int]:
        """Return the range of a part's records."""
        first = number * int(self.settings["part_records"])
        return first, min(first + int(self.settings["part_records"]), int(self.settings["records"]))

    @staticmethod
    def name(number: int) -> str:
        """Return a part's file name."""
        return f"part-{number:05d}.parquet"

    def begin(self) -> None:
        """Prepare the folder for a start or a continuation.

        Raises `UsageError` if it holds other files, or embeddings with other settings. Raises `OutputError`
        if the disk is full.
        """
        place = Place(self.where)
        names = place.names()
        if EMBEDDINGS not in names:
            others = [name for name in names if not name.startswith(".")]
            if others:
                problem = f"is not empty ({', '.join(others[:3])}) and has no embeddings"
                raise UsageError(problem, where=place, remedy="Choose another folder")
            with place.writing(EMBEDDINGS) as temporary:
                temporary.write_text(json.dumps(dict(self.settings), indent=1) + "\n", encoding="utf-8")
        begun_with = manifest(self.where) or {}
        differences = [word for key, word in _WORDS.items() if begun_with.get(key) != self.settings[key]]
        if differences:
            problem = f"already has embeddings with other {' and '.join(differences)}"
            remedy = "Choose another folder for --out, or remove this one"
            raise UsageError(problem, where=place, remedy=remedy)

    def finished(self, number: int) -> Embedded | None:
        """Return the outcome of embedding a part; None if the part is unfinished.

        A part is unfinished if it is missing, damaged or made with other settings, or if records of it were
        unavailable.
        """
        first, last = self.span(number)
        try:
            with (
                Place(self.where).open(self.name(number)) as file,
                pq.ParquetFile(file, page_checksum_verification=True) as part,
            ):
                metadata = json.loads(part.metadata.metadata[METADATA_KEY])
                records = sum(len(batch) for batch in part.iter_batches())
            done = Embedded(records, dict(metadata["failed"]), dict(metadata["doubtful"]))
            complete = metadata["of"] == self.key and not metadata.get("unavailable")
            complete = complete and records + len(done.failed) == last - first
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            return None
        return done if complete else None

    @contextmanager
    def writing(self, number: int) -> Iterator[Path]:
        """Yield a path for a part that appears whole or not at all."""
        try:
            with Place(self.where).writing(self.name(number)) as temporary:
                yield temporary
        except OutputError:  # the same command, started twice, may have finished the part and tidied up
            if self.finished(number) is None:
                raise

    def metadata(self, done: Embedded) -> dict[str, str]:
        """Return the metadata of a part with a given outcome."""
        metadata = {"of": self.key, "failed": done.failed, "doubtful": done.doubtful}
        if done.unavailable:
            metadata["unavailable"] = sorted(done.unavailable)
        return {METADATA_KEY.decode(): json.dumps(metadata, ensure_ascii=False)}

    def tidy(self) -> None:
        """Remove left-overs of killed processes once all parts are finished."""
        place = Place(self.where)
        if place.path and len(place.names("part-*.parquet")) == len(self):
            remove_left_over(place.path)


def manifest(where: str | Path) -> dict[str, Any] | None:
    """Read the manifest of a folder or address of embeddings. Return None if there is no manifest.

    Raises `CorpusError` if the file is damaged.
    """
    place = Place(where)
    if EMBEDDINGS not in place.names():
        return None
    try:
        with place.open(EMBEDDINGS) as file:
            content = file.read(JSON_BYTES)
    except OSError as error:
        where = place.file(EMBEDDINGS)
        raise CorpusError(f"can't be read ({error})", where=where, remedy="Remove the folder") from error
    content = parse_json(content, place.file(EMBEDDINGS), "Remove the folder", CorpusError)
    return content if isinstance(content, dict) else {}
