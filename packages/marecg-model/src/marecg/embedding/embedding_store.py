"""Folder of embeddings: a manifest, and a Parquet file for each part of the records.

The manifest is a JSON file that describes the embeddings. It is written first.

_embeddings.json     manifest: model, readout, records, records per part
part-00000.parquet   first part (`embedding_files.write`); its metadata lists unreadable records
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
"""Key of the metadata in a part's Parquet file."""
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
"""Keys of the manifest, with the words that error messages use for them."""


@dataclass(frozen=True)
class EmbeddingStore:
    """Folder of embeddings, local or remote.

    Attributes:
        where: Path or address of the folder.
        settings: Content of the manifest. Two calls with equal manifests write equal bytes.
    """

    where: str
    settings: Mapping[str, Any]

    def __len__(self) -> int:
        return math.ceil(int(self.settings["records"]) / int(self.settings["part_records"]))

    @property
    def key(self) -> str:
        """Hash of the manifest. Each part has this hash in its metadata."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    def span(self, number: int) -> tuple[int, int]:
        """Return the numbers of a part's records as a range: the first number, and the last number plus 1."""
        first = number * int(self.settings["part_records"])
        return first, min(first + int(self.settings["part_records"]), int(self.settings["records"]))

    @staticmethod
    def name(number: int) -> str:
        """Return the file name of a part."""
        return f"part-{number:05d}.parquet"

    def begin(self) -> None:
        """Write the manifest, or check the manifest of an interrupted call.

        Raises `UsageError` if the folder contains other files, or embeddings with other settings. Raises
        `OutputError` if the manifest can't be written.
        """
        folder = Place(self.where)
        names = folder.names()
        if EMBEDDINGS not in names:
            unknown = [name for name in names if not name.startswith(".")]
            if unknown:
                problem = f"is not empty ({', '.join(unknown[:3])}) and has no embeddings"
                raise UsageError(problem, where=folder, remedy="Choose another folder")
            with folder.writing(EMBEDDINGS) as temporary:
                temporary.write_text(json.dumps(dict(self.settings), indent=1) + "\n", encoding="utf-8")
        begun_with = manifest(self.where) or {}
        differences = [word for key, word in _WORDS.items() if begun_with.get(key) != self.settings[key]]
        if differences:
            problem = f"already has embeddings with other {' and '.join(differences)}"
            remedy = "Choose another folder for --out, or remove this one"
            raise UsageError(problem, where=folder, remedy=remedy)

    def finished(self, number: int) -> Embedded | None:
        """Return the outcome of a finished part, or None if the part is unfinished.

        A part is unfinished if it is missing or damaged, if it was made with other settings, or if some of
        its records were unavailable.
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
        """Yield a temporary path to which a part is written in a `with` block.

        At the end of the block, the file is moved into the folder under the part's name.
        """
        try:
            with Place(self.where).writing(self.name(number)) as temporary:
                yield temporary
        except OutputError:  # the same call in another process may have finished the part and tidied up
            if self.finished(number) is None:
                raise

    def metadata(self, done: Embedded) -> dict[str, str]:
        """Return the metadata of a part from its outcome."""
        metadata = {"of": self.key, "failed": done.failed, "doubtful": done.doubtful}
        if done.unavailable:
            metadata["unavailable"] = sorted(done.unavailable)
        return {METADATA_KEY.decode(): json.dumps(metadata, ensure_ascii=False)}

    def tidy(self) -> None:
        """Remove the temporary files of killed processes if all parts are finished."""
        folder = Place(self.where)
        if folder.path and len(folder.names("part-*.parquet")) == len(self):
            remove_left_over(folder.path)


def manifest(where: str | Path) -> dict[str, Any] | None:
    """Read the manifest of a folder of embeddings, or return None if the folder has no manifest.

    Raises `CorpusError` if the manifest is damaged.
    """
    folder = Place(where)
    if EMBEDDINGS not in folder.names():
        return None
    try:
        with folder.open(EMBEDDINGS) as file:
            content = file.read(JSON_BYTES)
    except OSError as error:
        where = folder.file(EMBEDDINGS)
        raise CorpusError(f"can't be read ({error})", where=where, remedy="Remove the folder") from error
    content = parse_json(content, folder.file(EMBEDDINGS), "Remove the folder", CorpusError)
    return content if isinstance(content, dict) else {}
