"""Open a prepared corpus for reading.

Shapes: B batch, C leads, L samples, M records, N concepts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from mmap import MADV_DONTNEED
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError

import ecg_ontology
from ecg_base import refuse_pipe
from ecg_ontology import Ontology, Profile
from ecg_records.signal.leads import LEADS
from ecg_records.storage.copies import ensure_local
from marecg.corpus import index
from marecg.corpus.columns import BeatColumn, Texts
from marecg.corpus.config import CorpusConfig
from marecg.corpus.index import ONTOLOGY
from marecg.errors import CorpusError, UsageError
from marecg.model.stored_signal import MILLIVOLTS_PER_UNIT

if TYPE_CHECKING:
    from marecg.corpus.datasets import RecordDataset

SHOWN = 10
"""Maximum number of rows in a table that a notebook shows."""
CONTENTS = ("corpus.json", "index.parquet", "report.json", ONTOLOGY, "shards", "building")
"""Files and folders in a corpus folder."""
ROWS = ["id", "source", "patient", "shard", "row", "n_valid", "leaves", "primary", "rpeaks"]


@dataclass(frozen=True)
class Corpus:
    """Corpus written by `marecg prepare`. Signals stay on disk until they are requested.

    `ids`, `sources` and `patients` are columns that behave like lists (`columns.Texts`).

    Attributes:
        folder: Folder of the corpus.
        config: Settings with which the records were prepared.
        profile: Which of the ontology's mappings from codes to concepts produced the labels.
        ontology_sha256: Hash of the concepts and their order, the columns of `y`.
        ids: Name of each record.
        sources: Collection of each record.
        patients: Patient of each record within its collection, or None if unknown.
        y: uint8 [M, N], 1 for the leaves (concepts without narrower concepts) of each record's codes.
        primary: int64 [M], the primary leaf of each record, on which its training target is centred (c* in
            the paper). −1 if the record has no leaf.
        n_valid: int64 [M], samples of each window (stored signal) before the zero-padding.
        rpeaks: R-peaks of each record, as sample indices in the window.

    Example:
        >>> corpus = Corpus.open("/data/corpus")  # doctest: +SKIP
        >>> corpus.signals(np.array([0, 7])).shape  # doctest: +SKIP
        (2, 12, 4700)
    """

    folder: Path
    config: CorpusConfig
    profile: Profile
    ontology_sha256: str
    ids: Texts[str]
    sources: Texts[str]
    patients: Texts[str | None]
    y: NDArray[np.uint8]
    primary: NDArray[np.int64]
    n_valid: NDArray[np.int64]
    rpeaks: BeatColumn
    _ontology: Ontology = field(repr=False)
    _shard: NDArray[np.int32] = field(repr=False)
    _row: NDArray[np.int32] = field(repr=False)
    _shards: list[NDArray[np.int16]] = field(repr=False)

    def __new__(cls, *values: Any, **named: Any) -> "Corpus":
        """Raise `UsageError` if the only argument is a folder, which `open` expects."""
        if len(values) == 1 and not named:
            problem = "Corpus must be opened with Corpus.open, got a folder"
            raise UsageError(problem, remedy=f"Call Corpus.open({str(values[0])!r})")
        return super().__new__(cls)

    @classmethod
    def open(cls, folder: str | Path) -> "Corpus":
        """Open a prepared corpus.

        Args:
            folder: Folder written by `prepare`, or its address in a remote store. A remote corpus is copied
                first (`copies.ensure_local`).

        Raises:
            CorpusError: If the folder isn't a corpus, is unfinished or damaged, has another format, or has
                labels of another ontology than its own.
        """
        folder = ensure_local(folder)
        settings = read_about(folder)
        ontology = labelling_ontology(folder, settings)
        try:
            config = CorpusConfig.model_validate(settings["config"])
            window, sizes = config.window, settings["shards"]
            if odd := {*sizes} - {Path(name).name for name in sizes}:
                raise _damaged(folder, f"{min(odd)!r} isn't the name of a shard")
            most = {"shard": len(sizes) - 1, "row": max(sizes.values(), default=0) - 1}
            most |= dict.fromkeys(("leaves", "primary"), len(ontology) - 1)
            most |= {"n_valid": window, "rpeaks": window - 1}
            rows = index.read(folder / index.FILE, ROWS, settings.get(index.HASH), **most)
            shards = [open_shard(folder / "shards" / name, n, window) for name, n in sizes.items()]
            leaves = rows["leaves"].combine_chunks()
            y = np.zeros((len(leaves), len(ontology)), np.uint8)
            counts = np.diff(leaves.offsets.to_numpy())
            y[np.repeat(np.arange(len(leaves)), counts), leaves.flatten().to_numpy()] = 1
            numbers = ("shard", "row", "primary", "n_valid")
            column = {name: np.asarray(rows[name].to_numpy(), np.int64) for name in numbers}
        except ValidationError as error:
            names = ", ".join(".".join(map(str, wrong["loc"])) for wrong in error.errors())
            problem = f"was prepared with settings that this version doesn't have ({names})"
            raise CorpusError(problem, where=folder, remedy="Prepare it again") from error
        except CorpusError:
            raise
        except (OSError, LookupError, TypeError, AttributeError, ValueError, EOFError) as error:
            raise _damaged(folder, str(error)) from error
        starts = np.cumsum([0, *map(len, shards)])
        position_M = starts[column["shard"]] + column["row"]
        in_shard = (position_M < starts[column["shard"] + 1]).all()
        if not in_shard or (np.bincount(position_M, minlength=starts[-1]) != 1).any():
            raise _damaged(folder, "the index and the shards don't agree")
        return cls(
            folder=folder,
            config=config,
            profile=ontology.profile,
            ontology_sha256=ontology.sha256,
            ids=Texts(rows["id"]),
            sources=Texts(rows["source"].dictionary_encode()),
            patients=Texts(rows["patient"]),
            y=y,
            primary=column["primary"],
            n_valid=column["n_valid"],
            rpeaks=BeatColumn(rows["rpeaks"].combine_chunks()),
            _ontology=ontology,
            _shard=rows["shard"].to_numpy(),
            _row=rows["row"].to_numpy(),
            _shards=shards,
        )

    def __len__(self) -> int:
        return len(self.ids)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: records by collection, and the most frequent leaves."""
        collections = sorted(self.sources.counts().items(), key=lambda pair: -pair[1])
        counts = zip((node.abbr for node in self.ontology().nodes), self.y.sum(0).tolist(), strict=True)
        leaves = sorted(((name, n) for name, n in counts if n), key=lambda pair: -pair[1])
        from pandas import DataFrame  # noqa: PLC0415 (only a notebook shows tables)

        return f"<p>{len(self):,} records</p>" + "".join(
            DataFrame(pairs[:SHOWN], columns=[what, "records"]).to_html(index=False)
            for what, pairs in (("collection", collections), ("leaf", leaves))
        )

    def ontology(self) -> Ontology:
        """Return the ontology stored in the corpus, which produced the labels."""
        return self._ontology

    def torch(self, labels: "ArrayLike | str | None" = "leaves") -> "RecordDataset":
        """Return a map-style PyTorch dataset with items of type `datasets.Sample`.

        A `DataLoader` collates the items to batches for `MarEcg.forward`. Signals are in mV at `config.fs`.

        Args:
            labels: Labels of the items. `leaves` uses a row of `y` as float32 [N]. `primary` uses the number
                of the primary leaf as int64. An array must have a number or a row for each record, with NaN
                for unknown labels. None uses no labels.

        Raises:
            UsageError: If the labels are invalid.

        Example:
            >>> from torch.utils.data import DataLoader
            >>> data = Corpus.open("/data/corpus").torch()  # doctest: +SKIP
            >>> batch = next(iter(DataLoader(data.of_folds(0, 1), batch_size=8)))  # doctest: +SKIP
            >>> model(batch.x, batch.n_valid).rhythm, batch.y  # doctest: +SKIP
        """
        from marecg.corpus.datasets import RecordDataset  # noqa: PLC0415 (a corpus needs no torch)

        return RecordDataset(self, labels)

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        """Pickle only the path of the folder, so that another process opens the corpus anew."""
        return Corpus.open, (self.folder,)

    def signals(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Return the signals of selected records in mV, float32 [B, 12, L].

        Args:
            rows: Row numbers of B records.
        """
        return self.stored(rows) * MILLIVOLTS_PER_UNIT

    def stored(self, rows: ArrayLike) -> NDArray[np.int16]:
        """Return the signals of selected records as stored, in µV, int16 [B, 12, L].

        Args:
            rows: Row numbers of B records.

        Raises:
            CorpusError: If a file was truncated after the corpus was opened.
        """
        rows = np.asarray(rows, np.int64)
        d_BCL = np.empty((len(rows), len(LEADS), self.config.window), np.int16)
        shards = self._shard[rows].tolist()
        for shard in set(shards):
            refuse_cut(self._shards[shard])
        for d_CL, shard, row in zip(d_BCL, shards, self._row[rows].tolist(), strict=True):
            d_CL[:] = self._shards[shard][row]
        return d_BCL

    def release(self) -> None:
        """Release the system memory that holds the signals read so far. They can be read again."""
        for shard in self._shards:
            if (file := _file_of(shard)) is not None:
                file.base.madvise(MADV_DONTNEED)


def labelling_ontology(folder: Path, settings: Mapping[str, Any]) -> Ontology:
    """Return the ontology with which a corpus was labelled.

    Args:
        folder: Folder of the corpus.
        settings: Content of `corpus.json`.

    Raises:
        CorpusError: If the corpus has no ontology, or another ontology than `settings` describe.
        SourceError: If the ontology is damaged.
    """
    carried = folder / ONTOLOGY
    refuse_pipe(carried, index.AGAIN, CorpusError)
    try:
        profile, sha256 = settings["profile"], str(settings["ontology_sha256"])
    except KeyError as error:
        raise _damaged(folder, f"corpus.json has no {error}") from error
    if not carried.is_file():
        raise _damaged(folder, f"it has no {ONTOLOGY}")
    ontology = ecg_ontology.load(carried, profile)
    if ontology.sha256 != sha256:
        problem = f"its {ONTOLOGY} must have the enumeration {sha256[:12]}, got {ontology.sha256[:12]}"
        raise _damaged(folder, problem)
    return ontology


def read_about(folder: Path) -> dict[str, Any]:
    """Read `corpus.json`. Raises `CorpusError` if it is missing or has another format."""
    path = folder / "corpus.json"
    refuse_pipe(path, index.AGAIN, CorpusError)
    if not path.is_file():
        if not folder.exists():
            raise CorpusError(f"no corpus at {folder}", remedy=f"Run marecg prepare RECORDS --out {folder}")
        state, remedy = "prepared", f"To prepare its records, run marecg prepare {folder} --out CORPUS"
        if (folder / "building").is_dir():
            state, remedy = "finished", "Run the same marecg prepare again to finish it"
        raise CorpusError(f"isn't a {state} corpus", where=folder, remedy=remedy)
    settings: dict[str, Any] = index.read_json(path)
    try:
        version = settings["format"]
    except (KeyError, TypeError) as error:
        raise _damaged(folder, f"corpus.json: {error}") from error
    if version != index.FORMAT:
        problem = f"must have format {index.FORMAT}, got format {version} of another version"
        raise CorpusError(problem, where=folder, remedy="Prepare it again")
    return settings


def refuse_own(corpus: Path, out: Path) -> None:
    """Raise `UsageError` if an output would overwrite a file of a corpus."""
    path, folder = out.resolve(), corpus.resolve()
    if path.is_relative_to(folder) and path.relative_to(folder).parts[:1] in {(name,) for name in CONTENTS}:
        raise UsageError("is a file of the corpus and would be lost", where=out, remedy="Choose another file")


def open_shard(path: Path, rows: int, window: int) -> NDArray[np.int16]:
    """Map the signals of a shard into memory. Raises `CorpusError` if the file is missing or damaged."""
    refuse_pipe(path, index.AGAIN, CorpusError)
    numpy: Any = np.lib.format  # has no types; for a damaged file, `np.load` would advise to unpickle it
    try:
        shard: NDArray[np.int16] = np.asarray(numpy.open_memmap(path, mode="r"))
    except (OSError, EOFError, ValueError) as error:
        raise _damaged(path, getattr(error, "strerror", None) or str(error)) from error
    if shard.dtype != np.int16 or shard.shape != (rows, len(LEADS), window):
        raise _damaged(path, f"it has type {shard.dtype} and shape {shard.shape}")
    return shard


def refuse_cut(array: NDArray[Any]) -> None:
    """Raise `CorpusError` if a mapped file was truncated.

    Reading past the end of a mapped file kills the process (SIGBUS). The process still dies if the file is
    truncated after this check.
    """
    file = _file_of(array)
    if file is not None and file.base.size() < len(file.base):
        problem, remedy = (
            "was truncated after it was opened",
            "Make sure that nothing writes there, and start again",
        )
        raise CorpusError(problem, where=file.filename, remedy=remedy)


def _damaged(where: Path, problem: str) -> CorpusError:
    return CorpusError(f"is damaged ({problem})", where=where, remedy=index.AGAIN)


def _file_of(array: NDArray[Any]) -> Any:
    """Return the `memmap` that holds the data of an array, or None if the array is in memory."""
    mapped = array if isinstance(array, np.memmap) else array.base
    return mapped if isinstance(mapped, np.memmap) else None
